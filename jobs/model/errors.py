"""Errors that end a command with a sentence instead of a traceback."""


class UsageError(Exception):
    """Wrong arguments, configuration, or a folder that is no dump: exit code 2."""
