"""Files beside the segments: indexes, snapshots, checkpoints."""
