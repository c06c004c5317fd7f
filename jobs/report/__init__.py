"""What people and pipelines read after an audit, made from plain data (jobs/report/facts.py)."""
