"""Control groups of both versions on imitated trees, and real ones where the kernel gives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import imitated_kernel
import pytest
from basaltcli.errors import BasaltError
from lab import control_groups
from lab.control_groups import CpuUse, MemoryUse, end_left_over, hierarchy_version, open_group

_MIB = 1 << 20


@pytest.fixture
def no_rmdir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "_remove_folder", imitated_kernel.remove_folder)


@pytest.fixture
def real_group():
    reason = _missing()
    if reason:
        pytest.skip(reason)
    group = open_group(f"basalt-bench-test-{os.getpid()}")
    yield group
    group.kill()
    group.remove()


def _missing() -> str:
    if os.geteuid() != 0:
        return "control groups can be made by root only"
    if hierarchy_version() is None:
        return "there is no memory controller on this machine"
    return ""


def test_the_version_is_that_of_the_memory_controller(tmp_path: Path) -> None:
    assert hierarchy_version(imitated_kernel.version_1(tmp_path / "one")) == 1
    assert hierarchy_version(imitated_kernel.version_2(tmp_path / "two")) == 2
    hybrid = imitated_kernel.version_1(tmp_path / "both")
    imitated_kernel.version_2(hybrid / "unified")
    assert hierarchy_version(hybrid) == 1
    (tmp_path / "none").mkdir()
    assert hierarchy_version(tmp_path / "none") is None


def test_a_machine_without_groups_says_so(tmp_path: Path) -> None:
    with pytest.raises(BasaltError, match="no control group") as raised:
        open_group("bench", tmp_path)
    assert "mount" in raised.value.remedy


@pytest.mark.parametrize("name", ["", "../up", ".", "a/b"])
def test_a_name_that_leaves_the_hierarchy_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BasaltError, match="no name"):
        open_group(name, imitated_kernel.version_1(tmp_path))


def test_version_1_limits_memory_and_leaves_next_to_no_swap(tmp_path: Path,
                                                            no_rmdir: None) -> None:
    root = imitated_kernel.version_1(tmp_path)
    open_group("bench", root).create(512 * _MIB)
    group = root / "memory/bench"
    assert (group / "memory.limit_in_bytes").read_text() == str(512 * _MIB)
    assert (group / "memory.memsw.limit_in_bytes").read_text() == str(513 * _MIB)
    assert (group / "memory.swappiness").read_text() == "0"
    assert (root / "cpuacct/bench").is_dir()


def test_version_1_reads_memory_and_cpu_time(tmp_path: Path) -> None:
    root = imitated_kernel.version_1(tmp_path)
    imitated_kernel.fill(root / "memory/bench", imitated_kernel.V1_MEMORY)
    imitated_kernel.fill(root / "cpuacct/bench", imitated_kernel.V1_CPU)
    group = open_group("bench", root)
    assert group.memory() == MemoryUse(usage=5000, peak=7000, limit=None, failures=3,
                                       oom_kills=1, cache=100, rss=200, dirty=30, write_back=40)
    assert group.cpu() == CpuUse(total=3.5, user=3.0, system=0.5)


def test_version_2_enables_its_controllers_and_limits_memory(tmp_path: Path,
                                                             no_rmdir: None) -> None:
    root = imitated_kernel.version_2(tmp_path)
    open_group("bench", root).create(512 * _MIB)
    assert (root / "cgroup.subtree_control").read_text() == "+cpu +io"
    assert (root / "bench/memory.max").read_text() == str(512 * _MIB)
    assert (root / "bench/memory.swap.max").read_text() == "0"


def test_version_2_reads_memory_and_cpu_time(tmp_path: Path) -> None:
    root = imitated_kernel.version_2(tmp_path)
    imitated_kernel.fill(root / "bench", imitated_kernel.V2_GROUP)
    group = open_group("bench", root)
    assert group.memory() == MemoryUse(usage=5000, peak=7000, limit=None, failures=7, oom_kills=1,
                                       cache=100, rss=200, dirty=30, write_back=40)
    assert group.cpu() == CpuUse(total=3.5, user=3.0, system=0.5)


def test_version_1_s_sampled_parts_of_cpu_time_are_fitted_to_its_exact_total(
        tmp_path: Path) -> None:
    root = imitated_kernel.version_1(tmp_path)
    group = open_group("bench", root)
    imitated_kernel.fill(root / "cpuacct/bench", {
        "cpuacct.usage": "8000000000", "cpuacct.usage_user": "3000000000",
        "cpuacct.usage_sys": "1000000000"})
    assert group.cpu() == CpuUse(total=8.0, user=6.0, system=2.0)
    imitated_kernel.fill(root / "cpuacct/bench", {
        "cpuacct.usage": "1000", "cpuacct.usage_user": "0", "cpuacct.usage_sys": "0"})
    assert group.cpu().total == pytest.approx(1e-6)


@pytest.mark.parametrize("make", [imitated_kernel.version_1, imitated_kernel.version_2])
def test_the_prefix_enters_every_folder_and_then_becomes_the_command(tmp_path: Path,
                                                                     make, no_rmdir) -> None:
    root = make(tmp_path / "a place")
    group = open_group("bench", root)
    group.create(100 * _MIB)
    child = subprocess.Popen([*group.command_prefix(), "sh", "-c", 'echo $$ "$1"', "x", "a b"],
                             stdout=subprocess.PIPE, text=True)
    assert child.communicate()[0] == f"{child.pid} a b\n"
    entered = [folder / "cgroup.procs" for folder in group._entered()]
    assert [path.read_text().strip() for path in entered] == [str(child.pid)] * len(entered)


def test_the_prefix_puts_a_process_into_the_root_of_blkio(tmp_path: Path) -> None:
    root = imitated_kernel.version_1(tmp_path)
    subprocess.run([*open_group_made(root).command_prefix(), "true"], check=True)
    assert (root / "blkio/cgroup.procs").read_text().strip().isdigit()


def open_group_made(root: Path):
    group = open_group("bench", root)
    group.create()
    return group


def test_a_command_does_not_run_outside_of_its_group(tmp_path: Path) -> None:
    group = open_group("bench", imitated_kernel.version_1(tmp_path))
    done = subprocess.run([*group.command_prefix(), "echo", "ran"], capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0
    assert "ran" not in done.stdout


def test_a_group_with_processes_is_neither_removed_nor_made_again(tmp_path: Path) -> None:
    root = imitated_kernel.version_1(tmp_path)
    imitated_kernel.fill(root / "memory/bench", {"cgroup.procs": "4711\n"})
    group = open_group("bench", root)
    for action in (group.remove, group.create):
        with pytest.raises(BasaltError, match="4711"):
            action()


@pytest.mark.parametrize(("make", "limit_file", "text"), [
    (imitated_kernel.version_1, "memory/memory.stat", "hierarchical_memory_limit {}\n"),
    (imitated_kernel.version_2, "service/memory.max", "{}\n")])
def test_a_group_is_no_way_out_of_the_limit_of_this_program(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_rmdir: None, make, limit_file: str,
        text: str) -> None:
    root = make(tmp_path)
    (root / limit_file).parent.mkdir(exist_ok=True)
    (root / limit_file).write_text(text.format(300 * _MIB))
    monkeypatch.setattr(control_groups, "_own_groups",
                        lambda: ["5:memory:/", "0::/service/inner"])
    group = open_group("bench", root)
    with pytest.raises(BasaltError, match="itself may use 300 MiB"):
        group.create(301 * _MIB)
    group.create()
    assert group._own_limit() == 300 * _MIB
    limit = "memory.limit_in_bytes" if group.version == 1 else "memory.max"
    assert (group.memory_folder / limit).read_text() == str(300 * _MIB)


def test_a_real_group_charges_files_that_its_process_reads(real_group, tmp_path: Path) -> None:
    real_group.create(64 * _MIB)
    script = ("import sys; f = open(sys.argv[1], 'wb')\n"
              "for _ in range(160): f.write(bytes(1 << 20))")
    subprocess.run([*real_group.command_prefix(), sys.executable, "-c", script,
                    str(tmp_path / "file")], check=True)
    memory = real_group.memory()
    assert memory.limit == 64 * _MIB
    assert 32 * _MIB < memory.peak <= 64 * _MIB
    assert memory.cache > 16 * _MIB
    assert memory.failures > 0
    assert 0 < real_group.cpu().total < 60


def test_a_real_group_counts_what_the_limit_kills(real_group) -> None:
    real_group.create(48 * _MIB)
    done = subprocess.run([*real_group.command_prefix(), sys.executable, "-c",
                           "len(b'x' * (200 << 20))"], check=False)
    assert done.returncode == -9
    assert real_group.memory().oom_kills >= 1


def test_a_left_over_group_is_ended_and_removed(real_group) -> None:
    real_group.create(64 * _MIB)
    child = subprocess.Popen([*real_group.command_prefix(), "sleep", "60"])
    while real_group.pids() != [child.pid]:
        assert child.poll() is None
    end_left_over(real_group.name)
    assert child.wait() == -9
    assert not real_group.exists()
    end_left_over(real_group.name)


def test_a_real_group_knows_and_ends_its_processes(real_group) -> None:
    real_group.create(64 * _MIB)
    child = subprocess.Popen([*real_group.command_prefix(), "sleep", "60"])
    while real_group.pids() != [child.pid]:
        assert child.poll() is None
    real_group_again = open_group(real_group.name)
    with pytest.raises(BasaltError, match=str(child.pid)):
        real_group_again.create(64 * _MIB)
    real_group.kill()
    assert child.wait() == -9
    real_group.remove()
    assert not real_group.exists()
