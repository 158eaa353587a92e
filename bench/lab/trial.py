"""One trial: a cell measured with one setup. Studies get it to say how.

The standard protocol is measure_load(): a fresh copy of the template, cold caches, a warm-up, the
window, the deferred work, the check of the data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

from lab import measures, sysbench
from lab.bench import Bench
from lab.cell import Cell
from lab.drain import drain
from lab.meter import Reading, Window, between
from lab.results import TrialRecord
from lab.server import MeasuredServer
from lab.setup import Setup
from lab.throttle import IoLimits
from lab.workload import Load

# Seconds for one statement of a check.
_CHECK_PATIENCE = 120


@dataclasses.dataclass
class Measured:
    """A window that is being measured; `window` and `samples` are there when it has ended."""

    begin: Reading
    samples: Sequence[Reading] = ()
    window: Window | None = None
    status: dict[str, float] = dataclasses.field(default_factory=dict)


class Trial:
    """What a study may do in a trial; whatever is measured goes into `record`."""

    def __init__(self, bench: Bench, cell: Cell, setup: Setup, record: TrialRecord,
                 seed: int) -> None:
        self.bench = bench
        self.cell = cell
        self.setup = setup
        self.record = record
        self.seed = seed

    def measure_load(self, cell: Cell, load: Load | None = None) -> None:
        """The standard protocol on the cell's load. With another `load` in the window, the cell's
        own only warms up: what it leaves to be done is part of the window.
        """
        with self.serving() as server:
            warm_units, before = 0.0, server.meter.read()
            if cell.warm_seconds:
                warm = cell.load(cell.warm_seconds, self.seed + 1)
                warm_units = sysbench.run_load(warm, server.socket)[0].units
            with self.window(server) as measured:
                clients = sysbench.run_load(load or cell.load(cell.seconds, self.seed),
                                            server.socket)
            assert measured.window is not None
            self.keep_clients(clients)
            self.keep_window(measured, clients[0].units)
            self.drain_after(server, before, measured, warm_units + clients[0].units)
            self.check(server)

    @contextlib.contextmanager
    def serving(self) -> Iterator[MeasuredServer]:
        """The cell's server under its limits, on a fresh copy of the template."""
        template = self.bench.templates.get(self.setup, self.cell.workload)
        self.record.values |= {"template_data_mb": template.data_bytes / 1e6,
                               "load_seconds": template.load_seconds,
                               "restore_seconds": self.bench.restore(template)}
        with self.bench.serving(self.setup, self.cell.limits, self.cell.durability) as server:
            self.record.options = server.options
            yield server

    @contextlib.contextmanager
    def window(self, server: MeasuredServer) -> Iterator[Measured]:
        """Measures what happens inside the block, with a sample each second."""
        status = server.status()
        with server.meter.sampling() as samples:
            measured = Measured(server.meter.read(), samples)
            yield measured
            measured.window = between(measured.begin, server.meter.read())
        after = server.status()
        measured.status = {name: after[name] - status.get(name, 0) for name in after
                           if after[name] != status.get(name, 0)}

    def keep_clients(self, clients: Sequence[sysbench.ClientResult]) -> None:
        """Records throughput and latencies; the first client's are the trial's."""
        first = clients[0]
        self.record.unit = first.client.unit
        self.record.seconds = [round(rate, 1) for rate in first.rates]
        self.record.values |= measures.of_client(first)
        for client in clients:
            self.record.latency[client.client.label] = client.latency.summary()
            for name, histogram in client.operations.items():
                self.record.latency[name] = histogram.summary()
            if client is not first:
                self.record.values[f"{client.client.label}_per_second"] = (
                    client.units / client.seconds)

    def keep_window(self, measured: Measured, units: float) -> None:
        """Records the meters, per unit of work where that makes sense."""
        assert measured.window is not None
        self.record.values |= measures.of_window(measured.window, measured.samples, units)
        self.record.samples = measures.as_samples(measured.samples)
        self.record.details["status"] = measured.status

    def drain_after(self, server: MeasuredServer, before: Reading, measured: Measured,
                    units: float) -> None:
        """Makes the engine do its deferred work, without disk limits, and counts it.

        `units` are all that were done since `before`: the debt is theirs, the warm-up included.
        """
        self.bench.limit_disk(IoLimits())
        if server.meter.device is None:
            return
        assert measured.window is not None

        def written() -> int:
            os.sync()
            device = server.meter.read(exact_sizes=False).device
            assert device is not None
            return device.write_bytes

        start = measured.begin.device
        assert start is not None and before.device is not None
        seconds = drain(server, written, quiet_seconds=self.bench.fidelity.quiet_seconds)
        end = written()
        window_bytes = measured.window.device.write_bytes if measured.window.device else 0
        values = self.record.values
        values["deferred_write_kb_per_unit"] = (
            (end - start.write_bytes - window_bytes) / 1e3 / max(units, 1))
        values["total_write_kb_per_unit"] = (
            (end - before.device.write_bytes) / 1e3 / max(units, 1))
        if seconds is not None:
            values["deferred_seconds"] = seconds
        else:
            self.record.details["drain"] = "not all deferred work was done in time"
        values["drained_data_mb"] = measures.data_mb(server.meter.read())

    def check(self, server: MeasuredServer) -> None:
        """Checks the workload's data; what is wrong becomes a problem of the trial.

        So does a server that cannot read its own data within minutes, such as one that its memory
        limit makes read the same pages again and again.
        """
        server.query(f"SET GLOBAL max_statement_time = {_CHECK_PATIENCE}")
        self.record.problems += self.cell.workload.check(server)

    def note(self, **details: Any) -> None:
        """Records what only this study knows; JSON values."""
        self.record.details |= details
