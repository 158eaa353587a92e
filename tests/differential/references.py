"""Foreign keys, on InnoDB and on ROCKSDB: every answer must agree.

Usage: ./basalt python tests/differential/references.py [--seconds N | --cases N] [--seed S]
                                                        [--statements N]

As run.py, with few tables that reference each other and themselves: by one and several columns, to
unique and other keys, and to the primary key behind these, with all actions, in circles; over
numbers, times, and texts that are equal in other letters. Rows come and go by INSERT, REPLACE, ON
DUPLICATE KEY UPDATE, LOAD DATA, UPDATE and DELETE of one table and of two, with IGNORE, in
transactions with savepoints, and by triggers, with checks and without. In between keys are added
and dropped, and tables renamed, emptied, dropped, made anew and altered. Errors are compared with
the text of the constraint, then with their warnings; definitions by SHOW CREATE TABLE and the
information schema.

Case k of seed S is what `--seed S+k --cases 1` runs.
"""

from __future__ import annotations

import sys

from tests.differential import _driver
from tests.differential._references import References

SECONDS = 12
STATEMENTS = 160

if __name__ == "__main__":
    sys.exit(_driver.main(__doc__, References, seconds=SECONDS, statements=STATEMENTS))
