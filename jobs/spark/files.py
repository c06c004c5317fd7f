"""Small files in the folder of the tables: Python's on a disk of this machine, else Hadoop's."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from udfs.storage.places import nearest_there

# Elsewhere, in stores of objects, a file is there once it is whole, and no rename is one step.
WITH_RENAME = ("file", "hdfs")


def write_files(
    spark: SparkSession, folder: str, files: Mapping[str, bytes], stale: Iterable[str] = ()
) -> None:
    """Writes files to a folder in their order, replacing what was there, and removes stale ones.

    Each is there whole or not at all. The last one vanishes first: where it is, all of them are,
    and none of the `stale` ones.
    """
    local = local_folder(spark, folder)
    if local:
        write_local(Path(local), files, stale)
    else:
        write_by_hadoop(spark, folder, files, stale)


def write_local(folder: Path, files: Mapping[str, bytes], stale: Iterable[str] = ()) -> None:
    """The same on a disk of this machine."""
    parts = {name: folder / f".{name}.{uuid4().hex}.part" for name in files}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, content in files.items():
            parts[name].write_bytes(content)
        for name in ([*files][-1], *stale):
            (folder / name).unlink(missing_ok=True)
        for name, part in parts.items():
            part.replace(folder / name)
            # Where Hadoop wrote the file before, its checksum is not that of this one.
            (folder / f".{name}.crc").unlink(missing_ok=True)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def write_by_hadoop(
    spark: SparkSession, folder: str, files: Mapping[str, bytes], stale: Iterable[str] = ()
) -> None:
    """The same wherever Hadoop can write."""
    system = _path(spark, folder).getFileSystem(_settings(spark))
    in_steps = system.getScheme() in WITH_RENAME
    parts = {name: f".{name}.{uuid4().hex}.part" if in_steps else name for name in files}
    try:
        if in_steps:
            for name, content in files.items():
                _create(system, _path(spark, folder, parts[name]), content)
        for name in ([*files][-1], *stale):
            system.delete(_path(spark, folder, name), False)
        for name, content in files.items():
            if in_steps:
                _rename(
                    spark, system, _path(spark, folder, parts[name]), _path(spark, folder, name)
                )
            else:
                _create(system, _path(spark, folder, name), content)
    finally:
        for part in parts.values() if in_steps else ():
            system.delete(_path(spark, folder, part), False)


def are_there(spark: SparkSession, folder: str, files: Mapping[str, bytes]) -> bool:
    """Whether the files of a folder are these, not another process's of the same names."""
    local = local_folder(spark, folder)
    if local:
        places = [(Path(local, name), content) for name, content in files.items()]
        return all(path.is_file() and path.read_bytes() == content for path, content in places)
    return are_there_by_hadoop(spark, folder, files)


def are_there_by_hadoop(spark: SparkSession, folder: str, files: Mapping[str, bytes]) -> bool:
    """The same wherever Hadoop can read."""
    system = _path(spark, folder).getFileSystem(_settings(spark))
    return all(_content(system, _path(spark, folder, name)) == files[name] for name in files)


def content_of(spark: SparkSession, folder: str, name: str) -> bytes | None:
    """The content of a small file of a folder; None where there is no such file."""
    path = _path(spark, folder, name)
    return _content(path.getFileSystem(_settings(spark)), path)


def is_same_folder(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two addresses are of one folder; links on a disk of this machine are followed."""
    here = [local_folder(spark, each) for each in (one, other)]
    if None not in here:
        real = {os.path.realpath(str(each)) for each in here}
        return len(real) == 1
    paths = [_path(spark, each) for each in (one, other)]
    whole = {str(each.getFileSystem(_settings(spark)).makeQualified(each)) for each in paths}
    return len(whole) == 1


def remove_folder(spark: SparkSession, folder: str) -> None:
    """Removes a folder with all that is in it; it need not exist."""
    path = _path(spark, folder)
    path.getFileSystem(_settings(spark)).delete(path, True)


def _class(spark: SparkSession, name: str) -> Any:
    """One of Hadoop, by one name: the JVM would look for a class of each package's name."""
    return getattr(spark.sparkContext._jvm, f"org.apache.hadoop.fs.{name}")


def _path(spark: SparkSession, folder: str, name: str = "") -> Any:
    return _class(spark, "Path")(f"{folder.rstrip('/')}/{name}" if name else folder)


def _settings(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()


def _create(system: Any, path: Any, content: bytes) -> None:
    stream = system.create(path, True)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def _content(system: Any, path: Any) -> bytes | None:
    """None where there is no such file."""
    if not system.exists(path):
        return None
    stream = system.open(path)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def _rename(spark: SparkSession, system: Any, old: Any, new: Any) -> None:
    """In one step, also where there is a file of the new name."""
    context = _class(spark, "FileContext").getFileContext(system.getUri(), _settings(spark))
    kind = _class(spark, "Options$Rename")
    gateway: Any = spark.sparkContext._gateway
    options = gateway.new_array(kind, 1)
    options[0] = kind.OVERWRITE
    context.rename(old, new, options)


def why_unwritable(folder: Path) -> str | None:
    """Why a folder of this machine, which need not exist, cannot be written; None if it can.

    Nothing is left behind.
    """
    nearest = nearest_there(folder)
    try:
        with TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        return f"{nearest}: {error.strerror}"


def local_folder(spark: SparkSession, folder: str) -> str | None:
    """The path of a folder on a disk of the driver's machine; None where it lies elsewhere.

    What an address without a scheme means is the choice of Hadoop's configuration.
    """
    address = _path(spark, folder).toUri()
    default = _class(spark, "FileSystem").getDefaultUri(_settings(spark))
    if (address.getScheme() or default.getScheme()) != "file":
        return None
    return str(Path(address.getPath()).absolute())
