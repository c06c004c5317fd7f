"""The nouns: one table a file, every column with a comment (unit, sentinel, source)."""
