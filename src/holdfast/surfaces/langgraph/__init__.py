"""Shared context in a LangGraph graph: three nodes, and a function that inserts them."""
