"""Memories: statements that were kept, where they came from, and how they are found again."""
