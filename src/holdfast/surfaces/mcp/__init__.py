"""The door for agents: MCP over stdio and over HTTP, with one small file per room."""
