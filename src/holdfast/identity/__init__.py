"""Who calls a server: workspaces, tokens of developers, and logins that wait for a yes."""
