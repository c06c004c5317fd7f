"""Checks of the family coordinator."""
