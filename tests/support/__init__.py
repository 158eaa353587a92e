"""What the folders of tests share: workspaces, servers, checks."""
