"""Conversations: folders that hold what was said about one topic, for people and for git."""
