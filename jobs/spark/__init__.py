"""How Spark is used: session, kept frames, Delta tables, small files."""
