"""Thin Arrow shells around the wire formats: files in, Arrow record batches out."""

import gc
import sys
from importlib import import_module

# A Python worker of Spark collects garbage after every task and goes through all modules that it
# has loaded, which stay: a twentieth of a second each time.
if "pyspark.worker" in sys.modules:
    import_module("udfs.arrow.read_pack")
    gc.freeze()
