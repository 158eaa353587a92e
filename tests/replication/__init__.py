"""Sources and replicas, and how they die."""
