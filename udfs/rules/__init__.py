"""What may be concluded from a dump: each question answered in one module, without Spark.

A rule is a function over anything with operators: NumPy arrays in the fold, Spark columns in the
contexts (`udfs.rules.logic` has the few words whose spelling differs).
"""
