"""Bundles: bounded text for an agent, checked against the repository, with a receipt for every line
of it.
"""
