"""The image file of the laboratory's disk: every block really written, with an ext4 in it.

    ensure_image(Path("disk.img"), 8 << 30)    # makes, grows, or makes anew; else leaves it

Blocks that were never written would cost their first write extra, and differently for each engine;
so all of them are written, with bytes that no layer below can fold away. The file appears under its
name only when it is complete: what a killed run leaves is a .partial file.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from basaltcli.errors import BasaltError

from lab import loop

LABEL = "basalt-bench"
_BLOCK = 1 << 20
# Room that stays free on the file system of the image.
_SPARE = 1 << 30
Progress = Callable[[int, int], None]


def ensure_image(image: Path, size: int, progress: Progress | None = None) -> bool:
    """An image of `size` bytes, not in use by any loop device. True when it was made anew.

    A smaller one grows and keeps its files; a larger one is made anew, empty. Fails when the file
    is none of ours.
    """
    if size % _BLOCK:
        raise ValueError("the size of a disk is in whole MiB")
    if not image.exists():
        _make(image, size, progress)
        return True
    if not is_ours(image):
        raise BasaltError(f"{image} is not a disk of the laboratory",
                          "choose another file, or remove this one if it is not needed")
    present = image.stat().st_size
    if present > size:
        image.unlink()
        _make(image, size, progress)
        return True
    if present < size:
        _check_room(image, size - present)
        fill(image, size, progress)
    if _file_system_size(image) < size // 4096 * 4096:
        _grow_file_system(image)
    return False


def is_ours(image: Path) -> bool:
    """Whether the file holds an ext4 with the laboratory's label."""
    superblock = _superblock(image)
    return (superblock[0x38:0x3a] == b"\x53\xef"
            and superblock[0x78:0x88].rstrip(b"\0") == LABEL.encode())


def written_bytes(image: Path) -> int:
    """Bytes of the file that have blocks on the disk."""
    return image.stat().st_blocks * 512


def _make(image: Path, size: int, progress: Progress | None) -> None:
    image.parent.mkdir(parents=True, exist_ok=True)
    partial = image.with_name(image.name + ".partial")
    partial.unlink(missing_ok=True)
    _check_room(image, size)
    try:
        fill(partial, size, progress)
        # Nothing is left to be done lazily while we measure, and no block is discarded again.
        loop.run(["mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-L", LABEL,
                  "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", partial],
                 f"no file system can be made in {image}", "install the package e2fsprogs")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.rename(image)
    finally:
        partial.unlink(missing_ok=True)


def fill(path: Path, size: int, progress: Progress | None = None) -> None:
    """Appends written blocks until the file has its size, then forgets their pages."""
    block = os.urandom(_BLOCK)
    with path.open("ab") as file:
        done = file.tell()
        while done < size:
            done += file.write(block[:size - done])
            if done % (64 * _BLOCK) == 0:
                # The page cache is not the place for gigabytes that nobody will read.
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                if progress:
                    progress(done, size)
        file.flush()
        os.fsync(file.fileno())
    if written_bytes(path) < size:
        raise BasaltError(f"{path} has holes although all of it was written",
                          "put it on a file system without compression")


def _check_room(image: Path, needed: int) -> None:
    free = shutil.disk_usage(image.parent).free
    if free < needed + _SPARE:
        raise BasaltError(
            f"the disk {image} needs {(needed + _SPARE) / (1 << 30):.1f} GiB more; its file "
            f"system has {free / (1 << 30):.1f} GiB", "free some space, or choose another place")


def _grow_file_system(image: Path) -> None:
    # 1 is "errors were corrected": a disk that was cut off replays its journal here.
    loop.run(["e2fsck", "-f", "-p", image], f"the file system in {image} is damaged",
             f"remove {image}; it is made anew", accepted=(0, 1))
    loop.run(["resize2fs", image], f"the file system in {image} cannot be grown",
             f"remove {image}; it is made anew")


def _superblock(image: Path) -> bytes:
    with image.open("rb") as file:
        file.seek(1024)
        return file.read(1024)


def _file_system_size(image: Path) -> int:
    superblock = _superblock(image)
    blocks, = struct.unpack_from("<I", superblock, 0x04)
    blocks_high, = struct.unpack_from("<I", superblock, 0x150)
    block_shift, = struct.unpack_from("<I", superblock, 0x18)
    return (blocks + (blocks_high << 32)) * (1024 << block_shift)
