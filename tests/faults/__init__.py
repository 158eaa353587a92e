"""Disks that fail or are full."""
