"""Table `expectation_result`: one row is one expectation of the acceptance policy in one audit."""

from pyspark.sql.types import StringType

from schemas.columns import AUDIT_ID, array, integer, long, string, table

EXPECTATION_RESULT = table(
    AUDIT_ID,
    string("suite", "name of the policy's file, without .json"),
    integer("number", "place of the expectation in the file, from 1"),
    string("subject", "table or view that it is about"),
    string("expectation", "type of the expectation, as Great Expectations names it"),
    string("arguments", "its keyword arguments, JSON with sorted keys"),
    string("severity", "error, warning or info; critical in the file is error here"),
    string("status", "met, failed or not_evaluated"),
    long("rows_examined", "rows it was evaluated on; null where it is not about single rows"),
    long("rows_failed", "rows that do not meet it; null where it is not about single rows"),
    string("observed", "observed value; null where it is about single rows"),
    array("examples", StringType(), "at most five rows that do not meet it, column=value"),
    string(
        "message", "one sentence: what was expected, what is there, or why it was not evaluated"
    ),
)
