"""Incidents: which cause explains which findings, what it did to readers, and what to do."""
