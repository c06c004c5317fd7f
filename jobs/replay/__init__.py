"""Rebuilds what the broker knew: partitions, producers, transactions, coordinator."""
