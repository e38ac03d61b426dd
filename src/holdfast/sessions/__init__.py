"""Sessions: one agent's run of work, with its events, its scratchpad and its context sets."""
