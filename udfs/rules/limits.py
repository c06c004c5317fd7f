"""How large a number from a file may be (`udfs.wire.bounds`), as numbers without a package."""

LOWEST = -(1 << 53)
HIGHEST = (1 << 63) - (1 << 55)
# Of timestamps, ms since 1970; as far into the past.
LATEST = 1 << 53
