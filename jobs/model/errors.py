"""Errors that end a command with a sentence instead of a traceback."""


class UsageError(Exception):
    """Wrong arguments, configuration, or a folder that is no dump: exit code 2."""


class NotFinishedError(Exception):
    """Something that the same command may finish later: exit code 3."""
