"""Transactions of several sessions beside a model in memory."""
