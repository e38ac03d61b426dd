"""Shared context in a LangGraph graph: three nodes, and one function that puts them in their
places.
"""
