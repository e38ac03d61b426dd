"""Sessions: one agent's run of work, its append-only events, its scratchpad and its context sets."""
