"""Hours of load on the same data, with kills, definitions and a replica."""
