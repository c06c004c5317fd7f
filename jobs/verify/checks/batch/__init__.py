"""Checks of the family batch."""
