"""Transactions whose changes go to files although they are small."""

from __future__ import annotations

import random

# Bytes of changes in memory: as users have it, each row, and a few rows.
_BYTES = (0, 0, 1, 300, 2000)


def setting(chance: random.Random) -> str:
    """What has a session's transactions go to files soon, or not, for SET."""
    return f"rocksdb_write_batch_spill_bytes = {chance.choice(_BYTES)}"
