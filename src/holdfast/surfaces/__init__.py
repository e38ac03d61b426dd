"""The doors. Each parses, calls one verb and formats; nothing is decided here."""
