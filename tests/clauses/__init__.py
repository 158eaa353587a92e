"""Every clause of CREATE and ALTER TABLE, and what the user guide says of settings."""
