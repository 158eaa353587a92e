"""The recorder of latencies, with operations that take known times."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

LUA = Path(__file__).resolve().parent.parent / "workloads" / "lua"
SCRIPT = """
local ffi = require("ffi")
local random = require("random")
local recorder = require("recorder")
ffi.cdef("int usleep(unsigned us);")
sysbench.cmdline.options = recorder.options({})
local count = 0
function thread_init()
   random.seed(sysbench.opt.rand_seed, sysbench.tid)
   io.write("drawn " .. sysbench.tid .. " " .. random.uniform(1, 1e9) .. "\\n")
end
local function nap(us) ffi.C.usleep(us) end
local function refused() error({errcode = sysbench.error.RESTART_EVENT}) end
function event()
   count = count + 1
   recorder.run("short", nap, 300)
   recorder.run("long", nap, 20000)
   if count == 3 then recorder.run("long", refused) end
end
function thread_done() recorder.write() end
"""


def run(folder: Path, *options: str, script: str = SCRIPT) -> str:
    file = folder / "naps.lua"
    file.write_text(script)
    return subprocess.run(
        ["sysbench", file, "--rand-seed=9", "--time=0", *options, "run"], check=True,
        env={**os.environ, "LUA_PATH": f"{LUA}/?.lua;;"}, capture_output=True, text=True).stdout


def histograms(ops: Path) -> tuple[dict[str, dict[int, int]], dict[str, int]]:
    """By operation: counts by bound, and the max; as the file's head says that they are read."""
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    longest: dict[str, int] = defaultdict(int)
    for line in ops.read_text().splitlines():
        operation, bound, number = line.split()
        if bound == "max":
            longest[operation] = max(longest[operation], int(number))
        else:
            counts[operation][int(bound)] += int(number)
    return counts, longest


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorder")
    run(folder, "--threads=4", "--events=40", f"--ops-file={folder / 'ops'}")
    return histograms(folder / "ops")


def test_every_operation_of_every_thread_is_counted_once(recorded):
    counts, _ = recorded
    failed = sum(counts["long.failed"].values())
    assert 1 <= failed <= 4
    # An event that failed is done again from its start.
    assert {name: sum(of.values()) for name, of in counts.items()} == {
        "short": 40 + failed, "long": 40 + failed, "long.failed": failed}


def test_the_times_are_those_that_operations_took(recorded):
    counts, longest = recorded
    for name, nap in (("short", 300), ("long", 20000)):
        bounds = sorted(counts[name])
        assert bounds[0] >= nap
        assert bounds[0] < 2 * nap
        # The longest falls into the last bucket, which is two percent wide.
        assert bounds[-1] / 1.03 < longest[name] <= bounds[-1]
    assert min(counts["long.failed"]) < 20000


def test_operations_of_the_first_seconds_can_be_left_out(tmp_path):
    script = SCRIPT.replace("   count = count + 1\n",
                            "   count = count + 1\n   io.write('at ' .. recorder.now() .. '\\n')\n")
    output = run(tmp_path, "--events=60", "--ops-after=1", f"--ops-file={tmp_path / 'ops'}",
                 script=script)
    begun = [float(line.split()[1]) for line in output.splitlines() if line.startswith("at ")]
    # 60 times 20 ms are more than a second. Whether the operation that began in the last moment
    # before its end counts is not known.
    late = sum(us >= begun[0] + 1e6 for us in begun)
    counts, _ = histograms(tmp_path / "ops")
    assert late > 0 and sum(counts["long"].values()) - late in (0, 1)


def test_lines_of_threads_that_end_together_do_not_mix(tmp_path):
    """Each time more text than a buffer of the C library holds, from every thread at once."""
    script = SCRIPT[:SCRIPT.index("function event")] + """
       function event()
          for kind = 1, 10 do
             for us = 200, 1, -1 do
                recorder.add("operation_" .. kind, recorder.now() - us * us)
             end
          end
          recorder.write()
       end"""
    run(tmp_path, "--threads=8", "--events=400", f"--ops-file={tmp_path / 'ops'}", script=script)
    counts, longest = histograms(tmp_path / "ops")
    assert {name: sum(of.values()) for name, of in counts.items()} == {
        f"operation_{kind}": 400 * 200 for kind in range(1, 11)}
    assert all(longest[name] >= 40000 for name in counts)


def test_without_a_file_nothing_is_written(tmp_path):
    run(tmp_path, "--events=4")
    assert [path.name for path in tmp_path.iterdir()] == ["naps.lua"]


def test_numbers_depend_on_seed_and_thread_only(tmp_path):
    drawn = [{line for line in run(tmp_path, "--threads=4", "--events=4").splitlines()
              if line.startswith("drawn")} for _ in range(3)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len({line.split()[2] for line in drawn[0]}) == 4
