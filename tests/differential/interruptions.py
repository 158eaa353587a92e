"""Statements that are interrupted, on InnoDB and on ROCKSDB: they were done wholly or not at all.

Usage: ./basalt python tests/differential/interruptions.py [--seconds N | --cases N] [--seed S]
                                                           [--statements N]

As programs.py, but a statement is first attempted on ROCKSDB alone, while another session holds
rows that it may come to; there its client goes away, it is killed, or its time is over: where it
waits, at once, or when it goes on. If the tables and the binary log are as before nothing was done,
and both engines may run it again; else InnoDB runs it, and must come to the same. In transactions
what came before stays, or all is gone with the session. Also CREATE TABLE ... SELECT and ALTER
TABLE. All indexes are compared; in the end the binary log is replayed into empty tables.

Any moment may be met, each is judged: nothing depends on how fast the machine is.

Case k of seed S is what `--seed S+k --cases 1` draws.
"""

from __future__ import annotations

import sys

from tests.differential import _driver
from tests.differential._interrupted_programs import InterruptedPrograms
from tests.differential._interruptions import SERVER_OPTIONS, InterruptiblePair

SECONDS = 40
STATEMENTS = 60

if __name__ == "__main__":
    sys.exit(_driver.main(__doc__, InterruptedPrograms, seconds=SECONDS, statements=STATEMENTS,
                          make_pair=InterruptiblePair, options=SERVER_OPTIONS))
