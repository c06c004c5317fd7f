"""Judges what was replayed: checks over contexts, one pass a context."""
