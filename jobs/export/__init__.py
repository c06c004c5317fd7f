"""The records that a consumer would get, as a table."""
