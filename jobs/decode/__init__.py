"""Cuts files into splits and turns their bytes into rows."""
