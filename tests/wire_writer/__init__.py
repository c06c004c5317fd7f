"""Writes what brokers write, for tests, cases and benchmarks; `udfs.wire` reads it."""
