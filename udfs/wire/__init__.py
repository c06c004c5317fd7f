"""Kafka byte formats: decoders, codecs and a writer. Imports no Spark."""
