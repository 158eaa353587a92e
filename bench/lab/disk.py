"""The disk that servers are measured on: a loop device that can be made slow for all alike.

    disk = Disk(Path("bench/disk.img"), Path("bench/mnt"), size=8 << 30)
    with disk:                                   # attached, mounted, vm.dirty_* set
        restore(template, disk.mount_point / "data")
        drop_page_cache()
        disk.limit(IoLimits(read_iops=400, write_iops=400))
        measure(disk.name)                       # counters: /sys/block/loop0/stat
        disk.unlimit()
    # unmounted, detached, settings as before; the image and its files stay for the next time

The image is written in full, the loop device uses direct I/O (one page cache, the server's), the
queue is that of a cloud disk: requests up to 256 KiB count as one, little read-ahead, no scheduler.

Everything is undone at the end of the block. What a killed run left behind (a mount, a loop device,
limits, vm.dirty_*) the next `with` of the same image undoes first; clean_up(image) does so without
a run. A lock keeps two runs off one image.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from basaltcli.errors import BasaltError

from lab import image as images
from lab import loop
from lab.throttle import IoLimits, Throttle, open_throttle
from lab.write_back import WriteBack, boot

# The read-ahead stands last: the kernel computes it anew when another limit changes.
QUEUE = {"scheduler": "none", "max_sectors_kb": "256", "read_ahead_kb": "128"}
MOUNT_OPTIONS = "noatime,nodiscard"
DIRTY_BYTES = 128 << 20
DIRTY_BACKGROUND_BYTES = 32 << 20


class Disk:
    """One image, its loop device and its mount, for the time of a `with` block.

    `throttle` is None where the machine has none or the limits stand on a server's group (version 2
    of control groups): give it to limit() then. `end_left_over` ends what a killed run may have
    left running on the disk; it is called when it is certain that no other run is alive.
    """

    def __init__(self, image: Path, mount_point: Path, size: int, *,
                 throttle: Throttle | None = None, write_back: WriteBack | None = None,
                 dirty_bytes: int = DIRTY_BYTES, background_bytes: int = DIRTY_BACKGROUND_BYTES,
                 progress: images.Progress | None = None,
                 end_left_over: Callable[[], None] | None = None) -> None:
        self.image = image.resolve()
        self.mount_point = mount_point.absolute()
        self.size = size
        self.throttle = throttle or _throttle_or_none()
        self.write_back = write_back or WriteBack()
        self.is_new = False
        self._dirty = (dirty_bytes, background_bytes)
        self._progress = progress
        self._end_left_over = end_left_over
        self._device: str | None = None
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise BasaltError("the laboratory's disk is a loop device, which needs root",
                              "run as root, or without limits of operations per second")
        self._lock = _locked(self.image)
        try:
            if self._end_left_over is not None:
                self._end_left_over()
            _undo(self.image, self.throttle, self.write_back)
            self.is_new = images.ensure_image(self.image, self.size, self._progress)
            self._attach_and_mount()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._close()

    @property
    def name(self) -> str:
        """The device's name in /sys/block and /proc/diskstats."""
        if self._device is None:
            raise BasaltError(f"the disk {self.image} is not attached")
        return self._device

    @property
    def number(self) -> str:
        """MAJOR:MINOR of the device."""
        return loop.device_number(self.name)

    def limit(self, limits: IoLimits, throttle: Throttle | None = None) -> None:
        """Limits this device from now on; fails when the kernel does not have what was set."""
        chosen = throttle or self.throttle or open_throttle()
        chosen.set(self.number, limits)
        got = chosen.current(self.number)
        for field in ("read_iops", "write_iops", "read_bytes", "write_bytes"):
            if (getattr(limits, field) or None) != getattr(got, field):
                raise BasaltError(f"{field} of {self.name} was set to {getattr(limits, field)}, "
                                  f"but is {getattr(got, field)}")

    def unlimit(self) -> None:
        """No limits, for restoring data and for draining."""
        if self.throttle is not None:
            self.throttle.clear(self.number)

    def _attach_and_mount(self) -> None:
        self._device = loop.attach(self.image)
        queue = {name: loop.queue_setting(self._device, name) for name in QUEUE}
        _state_file(self.image).write_text(json.dumps(
            {"boot": boot(), "device": self.number, "queue": queue}))
        # The device may have had another owner whose limits nobody cleared.
        self.unlimit()
        loop.tune_queue(self._device, QUEUE)
        self.mount_point.mkdir(parents=True, exist_ok=True)
        loop.run(["mount", "-t", "ext4", "-o", MOUNT_OPTIONS, f"/dev/{self._device}",
                  self.mount_point], f"{self.image} cannot be mounted",
                 f"remove {self.image}; it is made anew")
        self.write_back.hold(*self._dirty)

    def _close(self) -> None:
        self._device = None
        try:
            _undo(self.image, self.throttle, self.write_back)
        finally:
            if self._lock is not None:
                self._lock.close()
                self._lock = None


def clean_up(image: Path, write_back: WriteBack | None = None) -> None:
    """Undoes what a killed run left of the image's disk; the image stays."""
    with _locked(image.resolve()):
        _undo(image.resolve(), _throttle_or_none(), write_back or WriteBack())


def remove(image: Path) -> None:
    """Cleans up and removes the image and what lies beside it."""
    clean_up(image)
    for path in (image, image.with_name(image.name + ".partial"), _lock_file(image)):
        path.unlink(missing_ok=True)


def _undo(image: Path, throttle: Throttle | None, write_back: WriteBack) -> None:
    """Everything as before, in the order in which nothing waits for a throttled device."""
    state = _read_state(image)
    devices = loop.devices_of(image)
    numbers = {loop.device_number(device) for device in devices}
    if "device" in state:
        numbers.add(state["device"])
    if throttle is not None:
        for number in sorted(numbers):
            _clear(throttle, number)
    write_back.release()
    for device in devices:
        for mount_point in loop.mounts_of(loop.device_number(device)):
            loop.unmount(mount_point)
        if loop.device_number(device) == state.get("device"):
            loop.tune_queue(device, state["queue"])
        loop.detach(device)
    _state_file(image).unlink(missing_ok=True)


def _clear(throttle: Throttle, number: str) -> None:
    # A device that has been removed since then has no limits, and the kernel refuses its number.
    if throttle.current(number) != IoLimits():
        throttle.clear(number)


def _read_state(image: Path) -> dict[str, Any]:
    """What the last run changed; nothing of it outlives the machine's restart."""
    try:
        state = json.loads(_state_file(image).read_text())
    except (OSError, ValueError):
        return {}
    return state if state.get("boot") == boot() else {}


def _state_file(image: Path) -> Path:
    return image.with_name(image.name + ".state")


def _lock_file(image: Path) -> Path:
    return image.with_name(image.name + ".lock")


def _locked(image: Path) -> IO[str]:
    """The image's lock, held until the file is closed or this process ends."""
    image.parent.mkdir(parents=True, exist_ok=True)
    file = _lock_file(image).open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise BasaltError(f"another run uses the disk {image}",
                          "wait for it to end, or choose another image") from error
    return file


def _throttle_or_none() -> Throttle | None:
    try:
        return open_throttle()
    except BasaltError:
        return None
