"""Study S1, slides "fast and slow SSD": what happens when the storage gets slower."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart
from lab.judging import cell, ratio_claim
from lab.setup import D3, GIB, MIB, SETUPS, Limits
from lab.study import Claim, Size, Study
from lab.throttle import IoLimits
from studies.linkbench import IDS
from workloads.insert_benchmark import InsertBenchmark
from workloads.linkbench import LinkBench

# Operations per second: the devices of the slides had 100,000 and more, 10,000, and 1000.
_DEVICES = {"fast": IoLimits(), "slow": IoLimits(420, 420), "disk array": IoLimits(42, 42)}


class StorageSpeed(Study):
    """LinkBench and inserts on the same disk, unlimited and slowed down."""

    name = "storage_speed"
    title = "Fast and slow storage"
    question = "How much of an engine's throughput depends on a fast device?"
    published = ("M. Callaghan, 2016 and 2017: LinkBench on a fast SSD, a slow one and a disk "
                 "array: InnoDB 21,414, 10,143 and 414, MyRocks 28,965, 23,484 and 2195 (x 1.35, "
                 "2.3, 5.3). Inserts in memory on a slow SSD: InnoDB kept 0.46, MyRocks 0.82.")
    scaling = "Operations per second divided by 24, as the cores are; otherwise as in LinkBench."

    def cells(self, size: Size) -> Sequence[Cell]:
        devices = {Size.SMOKE: ("slow",), Size.QUICK: ("fast", "slow"),
                   Size.FULL: tuple(_DEVICES), Size.LONG: tuple(_DEVICES)}[size]
        graph = LinkBench(ids=IDS[size])
        seconds = {Size.SMOKE: 1, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 45}[size]
        cells = [Cell(f"LinkBench, {device}", graph, SETUPS, {"device": device},
                      Limits(384 * MIB, _DEVICES[device]), D3, threads=8, seconds=seconds,
                      warm_seconds={Size.SMOKE: 0, Size.QUICK: 5, Size.FULL: 10,
                                    Size.LONG: 20}[size])
                 for device in devices]
        if size in (Size.FULL, Size.LONG):
            cells += [Cell(f"inserts, {device}", InsertBenchmark(tables=4), SETUPS,
                           {"device": device}, Limits(3 * GIB, _DEVICES[device]), D3, threads=4,
                           seconds=seconds, warm_seconds=0) for device in ("fast", "slow")]
        return cells

    def claims(self) -> Sequence[Claim]:
        return (
            ratio_claim("1.11a", "On a fast device MyRocks is ahead in LinkBench", "x 1.35",
                        cell("LinkBench, fast"), at_least=1.1),
            ratio_claim("1.11b", "On a slow device it is further ahead", "x 2.3",
                        cell("LinkBench, slow"), at_least=1.5),
            ratio_claim("1.11c", "On a disk array further still", "x 5.3",
                        cell("LinkBench, disk array"), at_least=2.5),
            *(ratio_claim(f"1.10{letter}", f"{title} on a slow device", f"x {published}",
                          cell("inserts, slow"), setup=setup, base=setup,
                          base_cell=cell("inserts, fast"), at_least=low, at_most=high)
              for letter, setup, title, published, low, high in (
                  ("a", "innodb", "InnoDB keeps half of its inserts", "0.46", None, 0.7),
                  ("b", "myrocks", "MyRocks keeps most of its inserts", "0.82", 0.7, None))))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="units per second", is_log_y=True),
                Bars("Read from the device", metric="read_kb_per_unit", y_label="KB per unit"),
                Bars("Written to the device", metric="write_kb_per_unit", y_label="KB per unit"))


STUDY = StorageSpeed()
