"""Lists a dump: which file is what, whose, and copied when."""
