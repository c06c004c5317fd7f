"""The steps of the context `decided_partition`, which lists them in their order."""
