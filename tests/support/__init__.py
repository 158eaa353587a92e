"""What the crash, replication and model tests share: workspaces, servers, checks."""
