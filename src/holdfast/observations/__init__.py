"""What code sees in the log by itself: turns, files, commands and how they ended."""
