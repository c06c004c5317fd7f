"""What one audit is: its parts put together, its identity, what it covered, and its tables."""
