"""The HTTP door: an API for programs, with live events. Everything third-party of it stays in this
folder.
"""
