"""Checks of the family segment."""
