"""Records of `__cluster_metadata`."""
