"""Whether this process reaches a remote dump, with the credentials that it finds here."""

from udfs.storage.connections import connect
from udfs.storage.errors import as_os_errors
from udfs.storage.places import redacted


def problem_with(uri: str) -> str | None:
    """A sentence about why the dump cannot be listed here; None where it can.

    Of a dump with many files only the outermost folders are asked for.
    """
    from pyarrow.fs import FileSelector  # noqa: PLC0415 # see connect()

    try:
        connection = connect(uri)
        with as_os_errors(uri):
            connection.filesystem.get_file_info(FileSelector(connection.base))
    except OSError as error:
        return f"{redacted(uri)}: {error.strerror}"
    return None
