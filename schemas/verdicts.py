"""What a finding may be: the values of `verdict` in the table `violation`."""

# No legal explanation remains; one cannot be excluded; the dump cannot decide.
VIOLATION, SUSPECT, INCONCLUSIVE = "violation", "suspect", "inconclusive"
# The strongest first.
VERDICTS = (VIOLATION, SUSPECT, INCONCLUSIVE)
