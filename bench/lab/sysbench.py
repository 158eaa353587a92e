"""Debian's sysbench: command lines, and what its output says."""

from __future__ import annotations

import collections
import dataclasses
import os
import re
import subprocess
import tempfile
from pathlib import Path

from basaltcli.errors import BasaltError

from lab.histogram import Histogram
from lab.workload import DATABASE, Client, Load

_WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
_SECOND = re.compile(r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) qps: ([\d.]+)")
_BUCKET = re.compile(r"^\s*([\d.]+) \|\**\s+(\d+)$")
_TOTALS = {
    "events": re.compile(r"^\s*total number of events:\s+(\d+)", re.MULTILINE),
    "seconds": re.compile(r"^\s*total time:\s+([\d.]+)s", re.MULTILINE),
    "queries": re.compile(r"^\s*queries:\s+(\d+)", re.MULTILINE),
    "errors": re.compile(r"^\s*ignored errors:\s+(\d+)", re.MULTILINE),
    "reconnects": re.compile(r"^\s*reconnects:\s+(\d+)", re.MULTILINE),
    "max_ms": re.compile(r"^\s*max:\s+([\d.]+)", re.MULTILINE),
}
_FATAL = re.compile(r"^FATAL: ", re.MULTILINE)
# A deadlock, a lock wait timeout, a changed row: the event is tried again.
_RETRIED = "1213,1205,1020"
# A client that has not ended so long after its time hangs.
_PATIENCE = 120


@dataclasses.dataclass(frozen=True)
class ClientResult:
    """What one client did. `rates` are units per second, one number for each whole second."""

    client: Client
    seconds: float
    events: int
    queries: int
    errors: int
    reconnects: int
    rates: list[float]
    latency: Histogram
    operations: dict[str, Histogram]

    @property
    def units(self) -> int:
        return self.events * self.client.per_event


def command_line(client: Client, socket: Path, command: str, *, seconds: float = 0,
                 events: int = 0, ops_file: Path | None = None) -> list[str]:
    """The words of one sysbench command."""
    options = {"mysql-socket": socket, "mysql-user": "root", "mysql-db": DATABASE,
               "threads": client.threads, "time": round(seconds), "events": events,
               "rate": round(client.rate), "report-interval": 1, "percentile": 99,
               "histogram": "on", "rand-type": "uniform", "rand-seed": client.seed,
               "mysql-ignore-errors": _RETRIED, **client.options}
    if ops_file is not None:
        options["ops-file"] = ops_file
    return ["sysbench", str(client.script),
            *(f"--{name}={value}" for name, value in options.items()), command]


def environment(client: Client) -> dict[str, str]:
    """Lua finds our shared modules, and those beside the script."""
    places = [_WORKLOADS / "lua"]
    if isinstance(client.script, Path):
        places.append(client.script.parent)
    path = ";".join(f"{place}/?.lua" for place in places)
    return {**os.environ, "LUA_PATH": f"{path};;", "LC_ALL": "C.UTF-8"}


def run_command(client: Client, socket: Path, command: str, *, seconds: float = 0,
                events: int = 0) -> str:
    """Runs one command to its end and returns what it printed."""
    done = subprocess.run(
        command_line(client, socket, command, seconds=seconds, events=events), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env=environment(client))
    _require_success(client, done.returncode, done.stdout)
    return done.stdout


def run_load(load: Load, socket: Path) -> list[ClientResult]:
    """Runs all clients of a load side by side, to their end."""
    with tempfile.TemporaryDirectory(prefix="basalt-bench-") as folder:
        started: list[tuple[Client, Path | None, subprocess.Popen[str]]] = []
        try:
            for number, client in enumerate(load.clients):
                # Debian's scripts know nothing of operations.
                ops_file = Path(folder, f"{number}.ops") if _records(client) else None
                words = command_line(client, socket, "run", seconds=load.seconds,
                                     events=load.events, ops_file=ops_file)
                started.append((client, ops_file, subprocess.Popen(
                    words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, env=environment(client))))
            outputs = [process.communicate(timeout=load.seconds + _PATIENCE if load.seconds
                                           else None)[0] for _, _, process in started]
        except subprocess.TimeoutExpired as error:
            raise BasaltError(f"a client did not end {_PATIENCE} s after its time",
                              "look into the server's log") from error
        finally:
            for _, _, process in started:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return [_result(client, process.returncode, output, ops_file)
                for (client, ops_file, process), output in zip(started, outputs, strict=True)]


def _records(client: Client) -> bool:
    return isinstance(client.script, Path) and "recorder" in client.script.read_text()


def _result(client: Client, status: int, output: str, ops_file: Path | None) -> ClientResult:
    _require_success(client, status, output)
    totals = {}
    for name, pattern in _TOTALS.items():
        match = pattern.search(output)
        if match is None:
            raise BasaltError(f"sysbench's output has no {name}:\n{output[-2000:]}")
        totals[name] = float(match[1])
    return ClientResult(
        client, totals["seconds"], int(totals["events"]), int(totals["queries"]),
        int(totals["errors"]), int(totals["reconnects"]),
        [rate * client.per_event for rate in second_rates(output)],
        Histogram(buckets(output), totals["max_ms"]),
        read_operations(ops_file.read_text()) if ops_file and ops_file.exists() else {})


def second_rates(output: str) -> list[float]:
    """Events in each second, from the lines that sysbench prints every second.

    Seconds without a line, because sysbench itself was held up, did nothing that it counted.
    """
    found = {int(match[1]): float(match[2]) for match in map(_SECOND.match, output.splitlines())
             if match}
    return [found.get(second, 0.0) for second in range(1, max(found, default=0) + 1)]


def buckets(output: str) -> dict[float, int]:
    """sysbench's latency histogram: milliseconds to count.

    Very short times differ by less than the digits that are printed.
    """
    counts: dict[float, int] = collections.defaultdict(int)
    for match in map(_BUCKET.match, output.splitlines()):
        if match:
            counts[float(match[1])] += int(match[2])
    return dict(counts)


def read_operations(text: str) -> dict[str, Histogram]:
    """The recorder's file: histograms by operation; see workloads/lua/recorder.lua."""
    counts: dict[str, dict[float, int]] = collections.defaultdict(dict)
    maxima: dict[str, float] = collections.defaultdict(float)
    for line in text.splitlines():
        operation, bound, count = line.rsplit(maxsplit=2)
        if bound == "max":
            maxima[operation] = max(maxima[operation], float(count) / 1000)
        else:
            milliseconds = float(bound) / 1000
            own = counts[operation]
            own[milliseconds] = own.get(milliseconds, 0) + int(count)
    return {name: Histogram(own, maxima[name]) for name, own in counts.items()}


def _require_success(client: Client, status: int, output: str) -> None:
    # What fails when a thread ends, such as writing its latencies, leaves the exit code at 0.
    if status == 0 and not _FATAL.search(output):
        return
    lines = [line for line in output.splitlines() if not _SECOND.match(line)]
    fatal = [line for line in lines if _FATAL.match(line)]
    raise BasaltError(f"sysbench {client.script} ended with exit code {status}:\n"
                      + "\n".join(fatal[:15] or lines[-15:]))
