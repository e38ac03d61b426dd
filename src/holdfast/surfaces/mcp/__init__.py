"""The door for agents: MCP over stdio and over HTTP. One small file per room; what models read is
prose beside it.
"""
