"""The text of kafka-dump-log."""
