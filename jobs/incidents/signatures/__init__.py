"""Signatures, one a file: a cause, how it is recognised, and what to do about it."""
