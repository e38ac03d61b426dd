"""The four real client programs, run offline against a model that follows a script."""
