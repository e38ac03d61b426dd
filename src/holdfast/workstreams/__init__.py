"""Workstreams: context that lives in the repository and is checked against its state now."""
