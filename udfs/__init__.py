"""Bytes to columns: wire formats without Spark, and thin Arrow functions over them."""
