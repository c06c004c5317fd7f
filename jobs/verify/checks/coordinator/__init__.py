"""Checks of the family index."""
