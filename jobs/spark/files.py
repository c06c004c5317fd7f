"""Small files in the folder of the tables, through Hadoop's file systems as Spark uses them."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def write_file(spark: SparkSession, folder: str, name: str, content: bytes) -> None:
    """Writes `content` to folder/name, replacing what was there."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"{folder.rstrip('/')}/{name}")
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    stream = system.create(path, True)
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


def remove_folder(spark: SparkSession, folder: str) -> None:
    """Removes a folder with all that is in it; it need not exist."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True)


def local_folder(spark: SparkSession, folder: str) -> str | None:
    """The path of a folder on a disk of the driver's machine; None where it lies elsewhere.

    What an address without a scheme means is the choice of Hadoop's configuration.
    """
    jvm: Any = spark.sparkContext._jvm
    fs = jvm.org.apache.hadoop.fs
    address = fs.Path(folder).toUri()
    default = fs.FileSystem.getDefaultUri(spark.sparkContext._jsc.hadoopConfiguration())
    if (address.getScheme() or default.getScheme()) != "file":
        return None
    return str(Path(address.getPath()).absolute())
