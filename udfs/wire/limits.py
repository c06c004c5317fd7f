"""The bounds of `udfs.wire.bounds` as plain numbers, for take_dump.py, which needs no package."""

LOWEST = -(1 << 53)
HIGHEST = (1 << 63) - (1 << 55)
# Of timestamps, ms since 1970; as far into the past.
LATEST = 1 << 53
