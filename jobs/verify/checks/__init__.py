"""The checks: one check, one file, in a folder a family."""
