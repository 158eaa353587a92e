"""Transactions that meet their own changes, on InnoDB and on ROCKSDB: every answer must agree.

Usage: ./basalt python tests/differential/programs.py [--seconds N | --cases N] [--seed S]
                                                      [--statements N]

As run.py, with few simple tables and rich statements: rows move along the primary key and along
indexes after own changes of the transaction, behind savepoints, by all access paths, with ORDER BY
and LIMIT, in UPDATE and DELETE of several tables, INSERT ... SELECT from the same table, REPLACE,
ON DUPLICATE KEY UPDATE and UPDATE IGNORE; triggers and functions read and write tables and set
savepoints in the middle; temporary tables come and go inside transactions; steps of AUTO_INCREMENT
change; XA. Tables may be partitioned, system-versioned, or have generated columns. Programs that
showed defects once are in cases/ and run first. Now and then all is dropped, and nothing may be
left in the files.

Case k of seed S is what `--seed S+k --cases 1` runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.differential import _driver
from tests.differential._programs import Programs

# Programs that showed defects once: they are run always.
CASES = Path(__file__).resolve().parent / "cases"
SECONDS = 40
STATEMENTS = 150

if __name__ == "__main__":
    sys.exit(_driver.main(__doc__, Programs, seconds=SECONDS, statements=STATEMENTS,
                          scripts=sorted(CASES.glob("*.sql"))))
