"""Thin Arrow shells around the wire formats: files in, Arrow record batches out."""
