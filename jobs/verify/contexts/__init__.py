"""The contexts: what checks look at, each built once, with all that a verdict needs joined on."""
