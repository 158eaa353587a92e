"""Study S1, slide "LinkBench": a social graph, with and without compression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.cell import Cell
from lab.charts import Bars, Chart, SecondsScatter
from lab.judging import cell, not_here, ratio_claim
from lab.metrics import Metric
from lab.setup import BASALT, D3, INNODB, MIB, MYROCKS, Limits, myrocks_families
from lab.study import Claim, Size, Study
from lab.trial import Trial
from workloads.linkbench import LinkBench

_CELL = "384 MB"
_UPDATE_P99 = "update_link_p99_ms"
IDS = {Size.SMOKE: 2_000, Size.QUICK: 250_000, Size.FULL: 250_000, Size.LONG: 2_000_000}
_COMPRESSED = INNODB.variant("innodb-zlib", "InnoDB, zlib pages of 8 KB",
                             table_options="ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8")
_PLAIN = MYROCKS.variant("myrocks-plain", "stock MyRocks, no compression", data_options=(
    myrocks_families("kNoCompression", "kNoCompression", 12 * MIB),))
_ZLIB = MYROCKS.variant("myrocks-zlib", "stock MyRocks, zlib below LZ4", data_options=(
    myrocks_families("kLZ4Compression", "kZlibCompression", 12 * MIB),))

_ALL = (INNODB, _COMPRESSED, _PLAIN, MYROCKS, _ZLIB, BASALT)
# No claim is about MyRocks without compression.
_SETUPS = {Size.SMOKE: (INNODB, MYROCKS, BASALT), Size.FULL: _ALL, Size.LONG: _ALL,
           Size.QUICK: tuple(setup for setup in _ALL if setup is not _PLAIN)}


class LinkBenchStudy(Study):
    """LinkBench's mix of 2011 on a graph larger than the memory."""

    name = "linkbench"
    title = "LinkBench"
    question = "What does a real mix of small reads and writes cost, and the worst requests?"
    published = ("M. Callaghan, slides \"MyRocks\", 2017: MyRocks with zlib did 28,965 "
                 "transactions per second, InnoDB 21,474, InnoDB with zlib 20,734. Per transaction "
                 "they wrote 1.25, 19.7 and 14.6 KB; they needed 374, 1400 and 880 GB; 99 % of the "
                 "updates took at most 1, 6 and 6 ms.")
    scaling = ("250,000 ids, 2 million in a long run; 384 MB for the server, "
               "8 requesters, nothing synced at commit, as the author ran it.")
    metrics: Mapping[str, Metric] = {
        _UPDATE_P99: Metric("Latency p99, update of a link", "ms", 2, True,
                            "Latency that 1 % of the updates of links exceed.")}

    def cells(self, size: Size) -> Sequence[Cell]:
        setups = _SETUPS[size]
        return [Cell(_CELL, LinkBench(ids=IDS[size]), setups, {}, Limits(384 * MIB), D3, threads=8,
                     seconds={Size.SMOKE: 1, Size.QUICK: 10, Size.FULL: 30, Size.LONG: 60}[size],
                     warm_seconds={Size.SMOKE: 0, Size.QUICK: 5, Size.FULL: 10,
                                   Size.LONG: 20}[size])]

    def measure(self, trial: Trial, cell: Cell) -> None:
        """The standard protocol; the slide's latency is that of one operation."""
        trial.measure_load(cell)
        if "update_link" in trial.record.latency:
            trial.record.values[_UPDATE_P99] = trial.record.latency["update_link"]["p99"]

    def claims(self) -> Sequence[Claim]:
        here = cell(_CELL)
        return (
            ratio_claim("1.1a", "MyRocks with zlib needs a quarter of InnoDB's space", "x 0.27",
                        here, metric="template_data_mb", setup="myrocks-zlib", at_most=0.5),
            ratio_claim("1.1b", "and half of compressed InnoDB's", "x 0.43", here,
                        metric="template_data_mb", setup="myrocks-zlib", base="innodb-zlib",
                        at_most=0.7),
            ratio_claim("1.9a", "It is faster than InnoDB", "x 1.35", here, setup="myrocks-zlib",
                        at_least=1.1),
            ratio_claim("1.9b", "It writes a fraction per transaction", "x 0.063", here,
                        metric="total_write_kb_per_unit", setup="myrocks-zlib", at_most=0.2),
            ratio_claim("1.9c", "It needs slightly more processor time", "x 1.09", here,
                        metric="server_cpu_us_per_unit", setup="myrocks-zlib", at_least=0.9,
                        at_most=1.6),
            ratio_claim("1.9d", "99 % of the updates are done sooner", "x 0.17", here,
                        metric=_UPDATE_P99, setup="myrocks-zlib", at_most=0.7),
            not_here("1.3", "Fragmented fixed-size pages and headers per row cost InnoDB space",
                     "no figure", "the sizes are measured, their causes are not"),
            ratio_claim("1.9e", "Compression makes InnoDB slower", "x 0.97", here,
                        setup="innodb-zlib", base="innodb", at_most=1.0))

    def charts(self) -> Sequence[Chart]:
        return (Bars("Throughput", y_label="transactions per second"),
                Bars("Space after loading", metric="template_data_mb", y_label="MB"),
                Bars("Written, deferred work included", metric="total_write_kb_per_unit",
                     y_label="KB per transaction", is_log_y=True),
                SecondsScatter("Each second's throughput", y_label="transactions per second"))


STUDY = LinkBenchStudy()
