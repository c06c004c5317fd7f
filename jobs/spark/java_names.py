"""Names of Java classes and methods that PySpark looks up at every call: looked up once.

For each function of a column PySpark asks the JVM what the name of the class is and whether it has
that method, before it calls it. The plans of one audit ask 17,000 times for some hundred names.
Columns by name and literals are made some 6,000 times, of a few hundred different ones; they never
change, so that one object serves all plans.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from pyspark.sql import SparkSession

# Those that PySpark asks for while it builds plans.
CLASSES = (
    "PythonRDD",
    "PythonSQLUtils",
    "PythonUtils",
    "SerDeUtil",
    "SimplePythonFunction",
    "functions",
    "java.util.ArrayList",
    "org.apache.hadoop.fs.FileContext",
    "org.apache.hadoop.fs.FileSystem",
    "org.apache.hadoop.fs.Options$Rename",
    "org.apache.hadoop.fs.Path",
    "org.apache.spark.api.python.PythonUtils",
    "org.apache.spark.sql.Observation",
    "org.apache.spark.sql.api.python.PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.types.Metadata",
)


# Functions of one plain value whose results are as immutable as it.
OF_PLAIN_VALUES = ("col", "lit")
PLAIN = (str, int, bool, type(None))
MOST_REMEMBERED = 5_000


class KnownClass(JavaClass):  # type: ignore[misc]
    """A class whose static methods are looked up once each."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = _remembering(found) if name in OF_PLAIN_VALUES else found
        return self.__dict__.get(name, found)


def _remembering(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, called once for each plain value; True and 1 are two of them."""

    @lru_cache(MOST_REMEMBERED, typed=True)
    def remembered(value: Any) -> Any:
        return function(value)

    def of(value: Any) -> Any:
        return remembered(value) if type(value) in PLAIN else function(value)

    return of


def remember(spark: SparkSession) -> None:
    """Lets the session's gateway know the classes of its plans; asks for each once."""
    jvm: Any = spark.sparkContext._jvm
    for name in CLASSES:
        if name not in jvm.__dict__:
            found = getattr(jvm, name)
            if isinstance(found, JavaClass):
                jvm.__dict__[name] = KnownClass(found._fqn, found._gateway_client)
