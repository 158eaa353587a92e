"""Servers that are killed, and machines that stop."""
