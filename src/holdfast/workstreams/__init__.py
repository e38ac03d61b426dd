"""Workstreams: context that lives in the repository, checked against the repository as it is now."""
