"""Checks of the family replica."""
