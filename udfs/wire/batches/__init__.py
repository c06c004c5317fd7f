"""Record batches of magic 2, and what many of them add up to."""
