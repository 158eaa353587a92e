"""What the crash tests and the model tests share: workspaces, servers, checks."""
