"""One Parquet file that a task wrote for a Delta table, as it tells the driver; not a table."""

from schemas.columns import long, string, table

DATA_FILE = table(
    string("path", "name of the file in the folder of the table"),
    long("size", "bytes"),
    string("stats", "statistics of the file as the Delta protocol has them, JSON"),
)
