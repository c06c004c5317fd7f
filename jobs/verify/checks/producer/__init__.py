"""Checks of the family producer."""
