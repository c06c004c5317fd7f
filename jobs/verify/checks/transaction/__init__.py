"""Checks of the family transaction."""
