"""Notices: what was decided about exactly this, told at the moment of a prompt or an edit."""
