"""Knows nothing of the product: clock, ids, canonical JSON, safe files, text, settings, log."""
