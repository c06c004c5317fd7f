"""Checks of the family snapshot."""
