"""The laboratory's disk: finding what is ours, limits, settings; real devices where root is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import imitated_kernel
import pytest
from basaltcli.errors import BasaltError
from lab import disk as disks
from lab import image as images
from lab import loop
from lab.control_groups import open_group
from lab.disk import Disk, clean_up, remove
from lab.throttle import GroupThrottle, IoLimits, RootThrottle, open_throttle
from lab.write_back import WriteBack

_MIB = 1 << 20
_RATIOS = {"dirty_bytes": 0, "dirty_ratio": 20, "dirty_background_bytes": 0,
           "dirty_background_ratio": 10}


class _KernelFolder(WriteBack):
    """vm.dirty_*: writing the one of a pair sets the other to 0, as the kernel does."""

    def _write(self, name: str, value: int) -> None:
        other = (name.replace("bytes", "ratio") if name.endswith("bytes")
                 else name.replace("ratio", "bytes"))
        super()._write(name, value)
        super()._write(other, 0)


@pytest.fixture
def settings(tmp_path: Path) -> WriteBack:
    imitated_kernel.fill(tmp_path / "vm", {name: str(value) for name, value in _RATIOS.items()})
    return _KernelFolder(tmp_path / "vm", tmp_path / "run")


@pytest.fixture
def disk(tmp_path: Path, settings: WriteBack):
    """A real disk of 64 MiB, but with imitated vm.dirty_*; skipped without root."""
    if os.geteuid() != 0:
        pytest.skip("loop devices can be made by root only")
    if not Path("/dev/loop-control").exists():
        pytest.skip("this kernel has no loop devices")
    image = tmp_path / "disk.img"
    yield Disk(image, tmp_path / "mnt", 64 * _MIB, write_back=settings)
    clean_up(image, settings)


def test_only_devices_of_the_image_are_ours(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    backings = {"loop0": image, "loop1": tmp_path / "other.img",
                "loop2": Path(f"{image} (deleted)"), "loop3": Path(f"{image}.partial"),
                "loop4": None, "loop5": Path("/elsewhere/disk.img")}
    for name, backing in backings.items():
        imitated_kernel.device(tmp_path / "sys", name, number="7:9", backing=backing)
    assert loop.devices_of(image, tmp_path / "sys") == ["loop0", "loop2"]


def test_mounts_are_found_by_the_number_and_undone_last_first(tmp_path: Path) -> None:
    imitated_kernel.fill(tmp_path / "self", {"mountinfo": textwrap.dedent("""\
        21 1 254:0 / / rw - ext4 /dev/vda rw
        30 21 7:0 / /a\\040place rw,noatime shared:5 - ext4 /dev/loop0 rw
        31 21 7:1 / /other rw - ext4 /dev/loop1 rw
        32 21 7:0 / /second rw - ext4 /dev/loop0 rw
        """)})
    assert loop.mounts_of("7:0", tmp_path) == [Path("/second"), Path("/a place")]


def test_users_of_a_mount_are_those_with_files_in_it(tmp_path: Path) -> None:
    for pid, target in {"10": "/mnt/x/data/file", "11": "/mnt/xy/file", "12": "/mnt/x"}.items():
        (tmp_path / pid / "fd").mkdir(parents=True)
        (tmp_path / pid / "fd/3").symlink_to(target)
    assert loop.users_of(Path("/mnt/x"), tmp_path) == [10, 12]


def test_a_queue_that_does_not_take_a_setting_is_noticed(tmp_path: Path) -> None:
    imitated_kernel.device(tmp_path, "loop0", number="7:0")
    assert loop.queue_setting("loop0", "scheduler", tmp_path) == "none"
    loop.tune_queue("loop0", {"read_ahead_kb": "128"}, tmp_path)
    assert loop.queue_setting("loop0", "read_ahead_kb", tmp_path) == "128"
    stubborn = tmp_path / "block/loop0/queue/read_ahead_kb"
    stubborn.unlink()
    stubborn.symlink_to("/dev/null")
    with pytest.raises(BasaltError, match="does not take 64"):
        loop.tune_queue("loop0", {"read_ahead_kb": "64"}, tmp_path)


def test_a_program_that_fails_is_quoted() -> None:
    with pytest.raises(BasaltError, match="it did not work: sh said: no such luck"):
        loop.run(["sh", "-c", "echo no such luck >&2; exit 3"], "it did not work")
    assert loop.run(["sh", "-c", "echo yes; exit 1"], "no", accepted=(0, 1)) == "yes\n"


def test_version_1_limits_stand_on_the_root_group(tmp_path: Path) -> None:
    root = imitated_kernel.version_1(tmp_path)
    throttle = open_throttle(root=root)
    assert isinstance(throttle, RootThrottle)
    throttle.set("7:0", IoLimits(read_iops=400, write_bytes=1000))
    texts = {path.name.removeprefix("blkio.throttle."): path.read_text()
             for path in (root / "blkio").glob("blkio.throttle.*")}
    assert texts == {"read_iops_device": "7:0 400", "write_iops_device": "7:0 0",
                     "read_bps_device": "7:0 0", "write_bps_device": "7:0 1000"}
    assert throttle.current("7:0") == IoLimits(read_iops=400, write_bytes=1000)
    assert throttle.current("7:1") == IoLimits()
    throttle.clear("7:0")
    assert throttle.current("7:0") == IoLimits()


def test_version_2_limits_stand_on_the_server_s_group(tmp_path: Path) -> None:
    root = imitated_kernel.version_2(tmp_path)
    imitated_kernel.fill(root / "bench", imitated_kernel.V2_GROUP)
    throttle = open_throttle(open_group("bench", root), root)
    assert isinstance(throttle, GroupThrottle)
    throttle.set("7:0", IoLimits(write_iops=400, read_bytes=1000))
    assert (root / "bench/io.max").read_text() == "7:0 riops=max wiops=400 rbps=1000 wbps=max"
    assert throttle.current("7:0") == IoLimits(write_iops=400, read_bytes=1000)
    throttle.clear("7:0")
    assert throttle.current("7:0") == IoLimits()


def test_a_machine_without_a_throttle_says_so(tmp_path: Path) -> None:
    with pytest.raises(BasaltError, match="cannot limit") as raised:
        open_throttle(root=tmp_path)
    assert "CONFIG_BLK_DEV_THROTTLING" in raised.value.remedy


@pytest.mark.parametrize("before", [_RATIOS, {name: 7 * ("bytes" in name) for name in _RATIOS}])
def test_write_back_settings_are_put_back_whichever_of_a_pair_they_were(
        settings: WriteBack, before: dict[str, int]) -> None:
    imitated_kernel.fill(settings.folder, {name: str(value) for name, value in before.items()})
    settings.hold(1000, 500)
    assert settings.current() == {"dirty_bytes": 1000, "dirty_ratio": 0,
                                  "dirty_background_bytes": 500, "dirty_background_ratio": 0}
    settings.release()
    assert settings.current() == before
    settings.release()
    assert settings.current() == before


def test_the_last_of_several_holders_puts_the_write_back_settings_back(
        settings: WriteBack) -> None:
    other = _KernelFolder(settings.folder, settings.shared)
    settings.hold(1000, 500)
    other.hold(2000, 900)
    settings.release()
    assert settings.current()["dirty_bytes"] == 2000
    other.release()
    assert settings.current() == _RATIOS


def test_settings_of_a_killed_holder_are_put_back_but_not_after_a_restart(
        settings: WriteBack) -> None:
    settings.hold(1000, 500)
    settings._holding.close()  # as the kernel does with a killed process
    settings._holding = None
    next_run = _KernelFolder(settings.folder, settings.shared)
    next_run.hold(2000, 900)
    next_run.release()
    assert settings.current() == _RATIOS
    settings.hold(1000, 500)
    settings._holding.close()
    record = json.loads(settings._record.read_text())
    settings._record.write_text(json.dumps({**record, "boot": "an earlier one"}))
    next_run.release()
    assert settings.current()["dirty_bytes"] == 1000
    assert not settings._record.exists()


def test_an_image_is_written_in_full_grows_and_is_made_anew_when_smaller(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    assert images.ensure_image(image, 48 * _MIB)
    assert images.is_ours(image)
    assert image.stat().st_size == 48 * _MIB <= images.written_bytes(image)
    assert not images.ensure_image(image, 48 * _MIB)
    assert not images.ensure_image(image, 80 * _MIB)
    assert images._file_system_size(image) == 80 * _MIB <= images.written_bytes(image)
    assert images.ensure_image(image, 32 * _MIB)
    assert images._file_system_size(image) == 32 * _MIB == image.stat().st_size


def test_a_file_of_somebody_else_is_not_made_a_disk(tmp_path: Path) -> None:
    image = tmp_path / "thesis.txt"
    image.write_text("years of work")
    with pytest.raises(BasaltError, match="not a disk of the laboratory"):
        images.ensure_image(image, 32 * _MIB)
    assert image.read_text() == "years of work"


def test_an_image_that_does_not_fit_is_refused_before_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(BasaltError, match="needs .* more"):
        images.ensure_image(tmp_path / "disk.img", 1 << 60)
    assert not list(tmp_path.iterdir())


def test_a_real_disk_is_mounted_limited_and_gone_afterwards(disk: Disk,
                                                            settings: WriteBack) -> None:
    with disk:
        assert disk.is_new
        mounts = Path("/proc/self/mounts").read_text()
        assert f"/dev/{disk.name} {disk.mount_point} ext4 rw,noatime " in mounts
        assert Path(f"/sys/block/{disk.name}/loop/dio").read_text() == "1\n"
        assert {name: loop.queue_setting(disk.name, name) for name in disks.QUEUE} == disks.QUEUE
        assert settings.current()["dirty_bytes"] == disks.DIRTY_BYTES
        (disk.mount_point / "file").write_text("kept")
    assert loop.devices_of(disk.image) == []
    assert not (disk.mount_point / "file").exists()
    assert settings.current() == _RATIOS
    with disk:
        assert not disk.is_new
        assert (disk.mount_point / "file").read_text() == "kept"
    disk.size = 96 * _MIB
    with disk:
        assert (disk.mount_point / "file").read_text() == "kept"
        room = os.statvfs(disk.mount_point)
        assert room.f_blocks * room.f_frsize > 64 * _MIB
    remove(disk.image)
    assert not disk.image.exists()


def test_limits_of_a_real_disk_are_set_and_cleared(disk: Disk) -> None:
    if disk.throttle is None:
        pytest.skip("this kernel has no throttle on the root group of blkio")
    limits = IoLimits(read_iops=300, write_iops=200, write_bytes=10 * _MIB)
    with disk:
        number = disk.number
        disk.limit(limits)
        assert disk.throttle.current(number) == limits
        disk.unlimit()
        assert disk.throttle.current(number) == IoLimits()
        disk.limit(limits)
    assert disk.throttle.current(number) == IoLimits()


def test_what_a_killed_run_left_the_next_one_undoes(disk: Disk, settings: WriteBack) -> None:
    script = textwrap.dedent("""\
        import sys
        from pathlib import Path
        from lab.disk import Disk
        from lab.throttle import IoLimits
        from test_disk import _KernelFolder
        disk = Disk(Path(sys.argv[1]), Path(sys.argv[2]), 64 << 20,
                    write_back=_KernelFolder(Path(sys.argv[3]), Path(sys.argv[4])))
        with disk:
            if disk.throttle is not None:
                disk.limit(IoLimits(write_iops=7))
            print(disk.name, disk.number, flush=True)
            sys.stdin.read()
        """)
    child = subprocess.Popen(
        [sys.executable, "-c", script, disk.image, disk.mount_point, settings.folder,
         settings.shared],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
    name, number = child.stdout.readline().split()
    with pytest.raises(BasaltError, match="another run uses the disk"):
        clean_up(disk.image, settings)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert loop.devices_of(disk.image) == [name]
    assert loop.mounts_of(number) == [disk.mount_point]
    assert settings.current() != _RATIOS

    with disk:
        assert loop.mounts_of(disk.number) == [disk.mount_point]
        if disk.throttle is not None:
            assert disk.throttle.current(number) == IoLimits()
        record = json.loads(settings._record.read_text())
        assert record["before"] == _RATIOS
    assert settings.current() == _RATIOS
    assert loop.devices_of(disk.image) == []


def test_a_disk_in_use_names_the_processes_that_keep_it(disk: Disk,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    unmount = loop.unmount
    monkeypatch.setattr(loop, "unmount", lambda place: unmount(place, timeout=0.3))
    disk.__enter__()
    child = subprocess.Popen(["sleep", "60"], cwd=disk.mount_point)
    try:
        with pytest.raises(BasaltError, match=str(child.pid)):
            disk.__exit__(None, None, None)
    finally:
        child.kill()
        child.wait()
    clean_up(disk.image, disk.write_back)
    assert loop.devices_of(disk.image) == []


def test_what_a_killed_run_left_running_is_ended_under_the_lock(disk: Disk) -> None:
    with disk:
        pass
    calls = []
    again = Disk(disk.image, disk.mount_point, disk.size, write_back=disk.write_back,
                 end_left_over=lambda: calls.append("ended"))
    with disk:
        with pytest.raises(BasaltError, match="another run uses the disk"), again:
            pass
        assert not calls
    with again:
        assert calls == ["ended"]


def test_a_disk_behind_a_symbolic_link_is_found_again(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    linked = Disk(tmp_path / "link" / disk.image.name, disk.mount_point, disk.size,
                  write_back=disk.write_back)
    with linked:
        assert loop.devices_of(disk.image) == [linked.name]
    assert loop.devices_of(disk.image) == []
