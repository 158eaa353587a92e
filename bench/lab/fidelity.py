"""How much is spent on numbers that mean something: all of it, or what a test can afford."""

from __future__ import annotations

import dataclasses

from basaltcli import machine

from lab.drain import QUIET_SECONDS


@dataclasses.dataclass(frozen=True)
class Fidelity:
    """What makes numbers right and takes time or space.

    An engine counts as resting when it has written nothing for `quiet_seconds`. `free_bytes` must
    be free on the file system before a template is made: the largest one, and what making it adds.
    With `keeps_holes` copies of templates share the holes of the originals, for which an engine
    that writes in place pays later. `options` of mariadbd come after those of a setup.
    """

    quiet_seconds: float
    free_bytes: int
    keeps_holes: bool
    options: tuple[str, ...] = ()


MEASURING = Fidelity(QUIET_SECONDS, 4 * machine.GIB, keeps_holes=False)

# The redo log of a gigabyte that suits InnoDB is there from the start: in each template of a test
# it would be all but a few megabytes.
TESTING = Fidelity(0.5, machine.GIB, keeps_holes=True, options=("--innodb-log-file-size=32M",))
