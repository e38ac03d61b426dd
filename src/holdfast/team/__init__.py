"""The team exchange: published contexts, reservations, handoffs, and who may see them."""
