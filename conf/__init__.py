"""Configuration files, importable so that they travel in the zip."""
