"""Loop devices and mounts, found and made by the path of the image file only.

What this module detaches or unmounts is always a device whose backing file is the image named by
the caller; nobody else's device is touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from basaltcli import process
from basaltcli.errors import BasaltError

SYS = Path("/sys")
PROC = Path("/proc")
# The kernel marks the backing file of a device whose image was removed.
_DELETED = " (deleted)"


def run(words: Sequence[str | Path], failure: str, remedy: str = "",
        accepted: Sequence[int] = (0,)) -> str:
    """Output of a program of the system; BasaltError with its words when it fails."""
    command = [str(word) for word in words]
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, env=process.environment({"PATH": path}))
    except OSError as error:
        raise BasaltError(f"{failure}: {error}", remedy) from error
    if done.returncode not in accepted:
        said = (done.stderr or done.stdout).strip()
        raise BasaltError(f"{failure}: {command[0]} said: {said}", remedy)
    return done.stdout


def devices_of(image: Path, sys: Path = SYS) -> list[str]:
    """Names of the loop devices on this image, as loop0."""
    wanted = str(image.resolve())
    found = []
    for entry in sorted((sys / "block").glob("loop*")):
        with contextlib.suppress(OSError):
            backing = (entry / "loop" / "backing_file").read_text().rstrip("\n")
            if backing.removesuffix(_DELETED) == wanted:
                found.append(entry.name)
    return found


def device_number(device: str, sys: Path = SYS) -> str:
    """MAJOR:MINOR of a block device."""
    return (sys / "block" / device / "dev").read_text().strip()


def mounts_of(number: str, proc: Path = PROC) -> list[Path]:
    """Where a device is mounted; the latest mount first, as they must be undone."""
    found = []
    for line in (proc / "self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == number:
            found.append(Path(_unescape(fields[4])))
    return found[::-1]


def users_of(mount_point: Path, proc: Path = PROC) -> list[int]:
    """Processes with a file, a root or a working directory below a mount point."""
    prefix = str(mount_point)
    found = []
    for folder in proc.glob("[0-9]*"):
        places = [folder / "cwd", folder / "root"]
        with contextlib.suppress(OSError):
            places += list((folder / "fd").iterdir())
        for place in places:
            with contextlib.suppress(OSError):
                target = os.readlink(place)
                if target == prefix or target.startswith(prefix + "/"):
                    found.append(int(folder.name))
                    break
    return sorted(found)


def attach(image: Path, sys: Path = SYS) -> str:
    """A loop device with direct I/O on the image; fails when the kernel refuses direct I/O.

    Without it the image's pages would be cached twice, once outside of every memory limit.
    """
    run(["losetup", "--find", "--direct-io=on", image.resolve()],
        f"no loop device can be made of {image}",
        "run as root on a machine with free loop devices (losetup -a shows them)")
    device = devices_of(image, sys)[-1]
    if (sys / "block" / device / "loop/dio").read_text().strip() != "1":
        detach(device)
        raise BasaltError(f"the loop device of {image} does not use direct I/O",
                          "put the image on a file system that has it: ext4, XFS")
    return device


def detach(device: str) -> None:
    run(["losetup", "--detach", f"/dev/{device}"], f"/dev/{device} cannot be detached")


def queue_setting(device: str, name: str, sys: Path = SYS) -> str:
    """One setting of the device's queue; of the scheduler's list the chosen one."""
    text = (sys / "block" / device / "queue" / name).read_text().strip()
    chosen = re.search(r"\[([^\]]*)\]", text)
    return chosen[1] if chosen else text


def tune_queue(device: str, settings: Mapping[str, str], sys: Path = SYS) -> None:
    """Writes the queue's settings and looks that the kernel took them."""
    for name, value in settings.items():
        (sys / "block" / device / "queue" / name).write_text(value)
    for name, value in settings.items():
        got = queue_setting(device, name, sys)
        if got != value:
            raise BasaltError(f"{name} of /dev/{device} is {got}: the kernel does not take {value}")


def unmount(mount_point: Path, timeout: float = 30) -> None:
    """Waits for processes that are just ending; names those that stay."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            run(["umount", mount_point], f"{mount_point} cannot be unmounted")
            return
        except BasaltError as error:
            if time.monotonic() > deadline:
                users = users_of(mount_point)
                raise BasaltError(f"{error.message}; used by processes {users}",
                                  "stop these processes, then start again") from error
            time.sleep(0.2)


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
