"""A quiz about continuity: what the next agent is handed after three sessions of recorded work."""
