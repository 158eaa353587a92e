"""Random tables and statements on InnoDB and on ROCKSDB: every answer must agree.

Usage: ./basalt python tests/differential/run.py [--seconds N | --cases N] [--seed S]
                                                 [--statements N]

One server has both engines. A case draws tables (types, character sets, keys, partitions, ...) and
statements, which run first in InnoDB's database and then in ours, on two connections with the same
settings. Rows, their order where it is determined, affected rows, warnings, errors and their
messages are compared. Every few statements all tables are read along each index and checked.

Case k of seed S is what `--seed S+k --cases 1` runs. A case that differs is made smaller, and
written to a file with both answers. What our engine does not support is left out and counted;
with --strict it is a failure. The last line counts cases.
"""

from __future__ import annotations

import sys

from tests.differential import _driver
from tests.differential._generator import Generator

SECONDS = 60
STATEMENTS = 120

if __name__ == "__main__":
    sys.exit(_driver.main(__doc__, Generator, seconds=SECONDS, statements=STATEMENTS))
