"""When the kernel begins to write dirty pages back, set while somebody measures.

    settings = WriteBack()
    settings.hold(dirty_bytes=128 << 20, background_bytes=32 << 20)
    ...
    settings.release()

A memory limit does not hold back dirty pages in version 1 of control groups: a server with buffered
writes would fill its limit with them and stall.

The settings are the whole machine's. What they were before is recorded in /run by the first who
holds them and put back by the last who releases them; if all holders were killed, by the next
release(). Of several at once, the latest decides.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from basaltcli.errors import BasaltError

# Bytes and ratio exclude each other: writing one makes the kernel show 0 for the other.
_PAIRS = (("dirty_bytes", "dirty_ratio"), ("dirty_background_bytes", "dirty_background_ratio"))


class WriteBack:
    """vm.dirty_* of the machine; the folders are others in tests only."""

    def __init__(self, folder: Path = Path("/proc/sys/vm"),
                 shared: Path = Path("/run/basalt-bench")) -> None:
        self.folder = folder
        self.shared = shared
        self._holding: IO[str] | None = None

    def current(self) -> dict[str, int]:
        """All four settings, by name."""
        return {name: int((self.folder / name).read_text()) for pair in _PAIRS for name in pair}

    def hold(self, dirty_bytes: int, background_bytes: int) -> None:
        """Writers wait above `dirty_bytes`; above `background_bytes` the kernel writes back."""
        with self._alone_with_record():
            if not self._is_held():
                self._put_back()
                self._record.write_text(json.dumps({"boot": boot(), "before": self.current()}))
            self._holding = self._holders.open("a")
            fcntl.flock(self._holding, fcntl.LOCK_SH)
            self._write("dirty_bytes", dirty_bytes)
            self._write("dirty_background_bytes", background_bytes)

    def release(self) -> None:
        """Puts the settings back unless others hold them; right also when nobody did."""
        if self._holding is None and not self._record.exists():
            return
        with self._alone_with_record():
            if self._holding is not None:
                self._holding.close()
                self._holding = None
            if not self._is_held():
                self._put_back()

    @property
    def _record(self) -> Path:
        return self.shared / "write-back.json"

    @property
    def _holders(self) -> Path:
        """A file that each holder has locked, as long as it lives."""
        return self.shared / "write-back.holders"

    @contextlib.contextmanager
    def _alone_with_record(self) -> Iterator[None]:
        self.shared.mkdir(parents=True, exist_ok=True)
        with (self.shared / "write-back.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _is_held(self) -> bool:
        with self._holders.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def _put_back(self) -> None:
        """What the record says, of each pair the one that was not 0; then forgets it."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            record = json.loads(self._record.read_text())
            # A machine that was started since then has its own settings again.
            if record["boot"] == boot():
                for in_bytes, as_ratio in _PAIRS:
                    name = in_bytes if record["before"][in_bytes] else as_ratio
                    self._write(name, record["before"][name])
        self._record.unlink(missing_ok=True)

    def _write(self, name: str, value: int) -> None:
        path = self.folder / name
        try:
            path.write_text(str(value))
        except OSError as error:
            raise BasaltError(f"vm.{name} cannot be set to {value}: {error}",
                              "run as root outside of a container") from error


def boot() -> str:
    """What is different after each start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
