"""Tests of whole servers; a folder each, and what they share in `support`."""
