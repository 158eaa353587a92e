"""Runs fio, and reads what it measured.

    job = run_fio(directory, "probe", {"rw": "write", "bs": "4k", "fsync": 1, "size": "16m"})
    print(percentile_us(job["sync"]["lat_ns"], 99))
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from basaltcli import process
from basaltcli.errors import BasaltError

REMEDY = "install the package fio"
# What fio ends with when it was told to end early; its report is complete up to then.
ENDED_EARLY = 128


def command(directory: Path, name: str, options: Mapping[str, str | int],
            prefix: Sequence[str] = ()) -> list[str]:
    """The command line of one job (or several alike, reported as one) in a directory."""
    return [*prefix, "fio", f"--name={name}", f"--directory={directory}", "--output-format=json",
            "--group_reporting", "--randrepeat=1",
            *(f"--{option}={value}" for option, value in options.items())]


def run_fio(directory: Path, name: str, options: Mapping[str, str | int],
            prefix: Sequence[str] = ()) -> dict[str, Any]:
    """Runs a job to its end; returns its part of fio's report."""
    words = command(directory, name, options, prefix)
    try:
        done = subprocess.run(words, text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, env=process.environment())
    except OSError as error:
        raise BasaltError(f"fio cannot be run: {error}", REMEDY) from error
    return job_of(done.returncode, done.stdout, done.stderr)


def job_of(status: int, output: str, errors: str) -> dict[str, Any]:
    """The job in fio's report; fails with fio's words when there is none."""
    # Remarks of fio may precede the report.
    start = output.find("{")
    if status not in (0, ENDED_EARLY) or start < 0:
        said = (errors or output).strip()
        raise BasaltError(f"fio failed (exit code {status}): {said[-500:]}")
    job = json.loads(output[start:])["jobs"][0]
    if job["error"]:
        raise BasaltError(f"fio's job failed with error {job['error']}: {errors.strip()}")
    return job


def percentile_us(latencies: Mapping[str, Any], percent: int) -> float:
    """A percentile of one of fio's latency records, in microseconds."""
    return latencies["percentile"][f"{percent:.6f}"] / 1000
