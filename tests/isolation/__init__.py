"""What concurrent transactions may see of each other."""
