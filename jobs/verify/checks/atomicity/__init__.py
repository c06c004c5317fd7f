"""Checks of the family atomicity."""
