"""./basalt rocksdb-check: RocksDB's own tests on our memtable, cache and compression."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from basaltcli import build, debian, layout, locking, machine, process, rocksdb, ui
from basaltcli.errors import BasaltError

_FOLDER = layout.ROOT / "tools" / "rocksdb" / "check"
LIST = _FOLDER / "tests.toml"
_PACKAGES = ("libgflags-dev",)
# Unlike the engine's RocksDB.
_OPTIONS = ("-DWITH_TESTS=ON", "-DWITH_ALL_TESTS=ON", "-DWITH_TOOLS=ON", "-DWITH_GFLAGS=ON",
            "-DWITH_PERF_CONTEXT=ON", "-DWITH_IOSTATS_CONTEXT=ON")
# Below src/: what is plugged in, and what that needs.
_SOURCES = ("base/*.cc", "block_cache/adaptive_compression.cc", "block_cache/block_cache.cc",
            "block_cache/block_memory.cc", "block_cache/compressibility.cc", "index_stats/*.cc",
            "kv/rocksdb_options.cc", "memtable/*.cc")
# What plug.cc can put in place of RocksDB's own.
_PARTS = ("memtable", "cache", "compression")
# So many tests share a process, and so many seconds are given to one process.
_BATCH = 40
_BATCH_SECONDS = 900
_STRESS_SECONDS_MIN = 300
_STRESS_KILL_SECONDS = 30
# What one test has come to, as RocksDB's GoogleTest prints it.
_LINE = re.compile(r"^\[ +(?P<word>RUN|OK|FAILED|SKIPPED) +\] (?P<name>[\w/]+\.[\w/.-]+)"
                   r"(?:, where .*)?(?: \(\d+ ms\))?$")


@dataclass(frozen=True)
class Exemption:
    """Tests that do not hold with all our parts; names may end with an asterisk.

    They must pass without the parts `without`; if there is none, they fail with none of ours, too.
    """

    names: tuple[str, ...]
    without: tuple[str, ...]
    reason: str

    def parts(self) -> str | None:
        """Those that are plugged in, as BASALT_CHECK_PARTS has them."""
        if not self.without:
            return None
        return ",".join(part for part in _PARTS if part not in self.without)

    def covers(self, name: str) -> bool:
        return any(name == own or (own.endswith("*") and name.startswith(own[:-1]))
                   for own in self.names)


@dataclass(frozen=True)
class Checklist:
    """tests.toml: which programs are run, and which of their tests are known to fail."""

    programs: tuple[str, ...]
    exemptions: tuple[Exemption, ...]

    def exemption(self, name: str) -> Exemption | None:
        return next((entry for entry in self.exemptions if entry.covers(name)), None)


@dataclass
class Tally:
    """What the tests came to."""

    passed: int = 0
    as_listed: int = 0
    not_run: int = 0
    surprises: list[str] = field(default_factory=list)


def read_list(text: str) -> Checklist:
    """The checklist from the text of tests.toml."""
    data = tomllib.loads(text)
    programs = tuple(name for group in data["programs"] for name in group["names"])
    exemptions = []
    for entry in data.get("exempt", []):
        without = tuple(entry.get("without", ()))
        for part in without:
            if part not in _PARTS:
                raise BasaltError(f"{LIST.name}: there is no part '{part}'",
                                  f"the parts are {', '.join(_PARTS)}")
        exemptions.append(Exemption(tuple(entry["tests"]), without, entry["reason"]))
    return Checklist(programs, tuple(exemptions))


def test_names(listing: str) -> list[str]:
    """The tests of a program, from what it prints for --gtest_list_tests."""
    names = []
    suite = ""
    for line in listing.splitlines():
        word = line.partition("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif re.fullmatch(r"[\w/]+\.", word):
            suite = word
    # GoogleTest itself does not run the others without being asked.
    return [name for name in names if "DISABLED_" not in name]


def outcomes(output: Iterable[str]) -> tuple[dict[str, str], str | None]:
    """What a program said of each test, OK, FAILED or SKIPPED, and which one it did not end."""
    ended: dict[str, str] = {}
    running = None
    for line in output:
        match = _LINE.match(line)
        if match is None:
            continue
        if match["word"] == "RUN":
            running = match["name"]
        else:
            ended.setdefault(match["name"], match["word"])
            running = None
    return ended, running


def batches(names: Sequence[str], size: int) -> Iterator[list[str]]:
    """The names in groups of at most `size`."""
    for begin in range(0, len(names), size):
        yield list(names[begin:begin + size])


def judge(checklist: Checklist, program: str, results: Mapping[str, str], tally: Tally) -> None:
    """Counts the results of a program's tests, and what was not expected of them."""
    for name, outcome in results.items():
        exemption = checklist.exemption(name)
        must_pass = exemption is None or bool(exemption.without)
        if outcome == "SKIPPED":
            tally.not_run += 1
        elif must_pass and outcome == "OK":
            tally.passed += 1
        elif must_pass:
            tally.surprises.append(f"{program}: {name}: {outcome}")
        elif outcome == "OK":
            tally.surprises.append(f"{program}: {name} passes, which {LIST.name} says it does not")
        else:
            tally.as_listed += 1


def run(minutes: float, only: Sequence[str]) -> bool:
    """Builds and runs all; True if everything came to what the list says. `only`: programs, or
    `stress`."""
    checklist = read_list(LIST.read_text())
    unknown = set(only) - {*checklist.programs, "stress"}
    if unknown:
        raise BasaltError(f"{LIST.name} has no program {', '.join(sorted(unknown))}",
                          f"its programs are {', '.join(checklist.programs)}, and stress")
    programs = [name for name in checklist.programs if name in only or not only]
    has_stress = not only or "stress" in only
    directory = layout.build_dir("rocksdb-check")
    directory.mkdir(parents=True, exist_ok=True)
    with locking.exclusive(directory / "lock", "build/rocksdb-check"):
        source = _build(directory, [*programs, *(["db_stress"] if has_stress else [])])
        deadline = time.monotonic() + 60 * minutes
        tally = _run_programs(directory, checklist, programs)
        if has_stress:
            _run_stress(directory, source, deadline - time.monotonic(), tally)
    for surprise in tally.surprises:
        ui.info(f"not as listed: {surprise}")
    ui.info(f"{tally.as_listed} failed as listed, {tally.not_run} skipped themselves")
    print(f"{tally.passed + tally.as_listed} passed, {len(tally.surprises)} failed", flush=True)
    return not tally.surprises


def _build(directory: Path, targets: Sequence[str]) -> Path:
    """Compiles the programs in `directory`; returns the source."""
    build.provision()
    debian.ensure(_PACKAGES)
    further = sorted((_FOLDER / "patches").glob("*.patch"))
    made_of = "".join(path.read_text() for path in (*rocksdb.patches(), *further))
    digest = hashlib.sha256((rocksdb.version() + made_of).encode()).hexdigest()[:12]
    source = directory / f"source-{digest}"
    if not source.is_dir():
        for old in (*directory.glob("source-*"), directory / "build"):
            shutil.rmtree(old, ignore_errors=True)
    rocksdb.patched_source(source, further)
    own = [_FOLDER / "plug.cc"]
    for pattern in _SOURCES:
        own += sorted(path for path in (layout.ROOT / "src").glob(pattern)
                      if not path.stem.endswith(("_test", "_bench", "_fuzz")))
    log = directory / "build.log"
    log.write_text("")
    with ui.progress(f"Building the tests of RocksDB {rocksdb.version()}",
                     "the first time about 25 minutes on 2 cores") as bar:
        process.run(["cmake", "-G", "Ninja", "-S", source, "-B", directory / "build",
                     *rocksdb.CHECK.flags(), *_OPTIONS,
                     f"-DBASALT_CHECK_SOURCES={';'.join(str(path) for path in own)}",
                     f"-DBASALT_CHECK_INCLUDES={layout.ROOT / 'src'};{_FOLDER}"],
                    log=log, failure="CMake cannot configure RocksDB's tests")
        process.run(["ninja", "-C", directory / "build", "-j", str(machine.jobs()), *targets],
                    log=log, failure="RocksDB's tests do not compile", bar=bar)
    return source


@dataclass(frozen=True)
class _Batch:
    """Tests of a program that share a process, and the parts that are plugged in."""

    program: str
    names: Sequence[str]
    parts: str | None  # all


class _Run:
    """One process of a test program, and another for what is left if it crashes."""

    def __init__(self, directory: Path, log: Path) -> None:
        self._directory = directory
        self._log = log
        self._lock = threading.Lock()

    def results(self, program: str, names: Sequence[str],
                parts: str | None = None) -> dict[str, str]:
        """What each test came to: OK, FAILED, SKIPPED, or how the program ended in it."""
        results: dict[str, str] = {}
        left = list(names)
        while left:
            ended, running, status = self._process(program, left, parts)
            results |= ended
            if running is not None:
                results[running] = f"ended the program with {status}"
            elif not any(name in ended for name in left):
                results |= {name: f"did not run: the program ended with {status}"
                            for name in left}
            left = [name for name in left if name not in results]
        return results

    def _process(self, program: str, names: Sequence[str],
                 parts: str | None) -> tuple[dict[str, str], str | None, int]:
        lines: list[str] = []
        files = self._directory / "files" / f"{threading.get_ident()}"
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir(parents=True)
        env = {"TEST_TMPDIR": str(files)}
        if parts is not None:
            env["BASALT_CHECK_PARTS"] = parts
        command = ["timeout", "--signal=ABRT", "--kill-after=30", str(_BATCH_SECONDS),
                   str(self._directory / "build" / program), f"--gtest_filter={':'.join(names)}"]
        status = process.stream(command, lines.append, cwd=files, env=env)
        shutil.rmtree(files, ignore_errors=True)
        ended, running = outcomes(lines)
        if status != 0:
            with self._lock, self._log.open("a") as log:
                log.write("\n".join(["", f"$ BASALT_CHECK_PARTS={parts} {' '.join(command)}",
                                     *lines, ""]))
        return ended, running, status


def _run_programs(directory: Path, checklist: Checklist, programs: Sequence[str]) -> Tally:
    log = directory / "tests.log"
    log.write_text("")
    runs = _Run(directory, log)
    tally = Tally()
    work: list[_Batch] = []
    found: list[str] = []
    for program in programs:
        listing = process.capture([directory / "build" / program, "--gtest_list_tests"],
                                  env={"TEST_TMPDIR": str(directory)}) or ""
        names = test_names(listing)
        if not names:
            raise BasaltError(f"{program} lists no tests", f"see {LIST}")
        found += names
        by_parts: dict[str | None, list[str]] = {}
        for name in names:
            exemption = checklist.exemption(name)
            by_parts.setdefault(exemption.parts() if exemption else None, []).append(name)
        work += [_Batch(program, batch, parts) for parts, chosen in by_parts.items()
                 for batch in batches(chosen, _BATCH)]
    suspects = _run_all(runs, checklist, work, tally)
    for program, name in suspects:
        # Whose failure it is, and whether it fails always.
        for parts in (",".join(_PARTS), ""):
            outcome = runs.results(program, [name], parts)[name]
            ui.info(f"  {name}, once more with {parts or 'none of our parts'}: {outcome}")
    if set(programs) == set(checklist.programs):
        tally.surprises += _unknown_tests(checklist, found)
    ui.info(f"what failing programs printed: {log}")
    return tally


def _run_all(runs: _Run, checklist: Checklist, work: Sequence[_Batch],
             tally: Tally) -> list[tuple[str, str]]:
    """Runs the batches side by side; returns the tests that came to something unexpected."""
    suspects: list[tuple[str, str]] = []

    def one(batch: _Batch) -> tuple[str, dict[str, str]]:
        return batch.program, runs.results(batch.program, batch.names, batch.parts)

    with ui.progress("Running RocksDB's tests") as bar, \
            ThreadPoolExecutor(max_workers=machine.jobs()) as pool:
        for done, (program, results) in enumerate(pool.map(one, work), start=1):
            before = len(tally.surprises)
            judge(checklist, program, results, tally)
            for surprise in tally.surprises[before:]:
                ui.info(f"  {surprise}")
            suspects += [(program, name) for name, outcome in results.items()
                         if outcome not in ("OK", "SKIPPED") and not checklist.exemption(name)]
            bar.update(done, len(work))
    return suspects


def _unknown_tests(checklist: Checklist, found: Sequence[str]) -> list[str]:
    return [f"{LIST.name} names {own}, which no program has" for exemption in checklist.exemptions
            for own in exemption.names
            if not any(Exemption((own,), (), "").covers(name) for name in found)]


# What db_stress is told; the rest its script draws by chance. Our memtable does not check itself
# while it is read, the cache has no second tier but its own, and the engine has no blob files.
_STRESS = {
    "cache_type": "plugged_cache", "compression_manager": "none",
    "compression_type": "lz4", "bottommost_compression_type": "zstd",
    "compression_max_dict_bytes": "16384", "compressed_secondary_cache_size": "0",
    "secondary_cache_uri": "", "secondary_cache_fault_one_in": "0", "lowest_used_cache_tier": "0",
    "paranoid_memory_checks": "0", "memtable_verify_per_key_checksum_on_seek": "0",
    "use_trie_index": "0", "enable_blob_files": "0", "enable_blob_direct_write": "0",
    "blob_compression_type": "none",
    "max_key": "100000",
}
# By the names of their logs.
_STRESS_KINDS: Mapping[str, tuple[str, ...]] = {
    "stress": (), "stress-transactions": ("--txn", "--txn_write_policy=0", "--unordered_write=0"),
}


def _run_stress(directory: Path, source: Path, seconds: float, tally: Tally) -> None:
    """db_stress, killed again and again by RocksDB's own script, without and with transactions."""
    share = max(seconds, _STRESS_SECONDS_MIN) / len(_STRESS_KINDS)
    for name, options in _STRESS_KINDS.items():
        log = directory / f"{name}.log"
        log.write_text("")
        files = directory / name
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir(parents=True)
        command = [sys.executable, source / "tools" / "db_crashtest.py", "blackbox", *options,
                   f"--stress_cmd={directory / 'build' / 'db_stress_tool' / 'db_stress'}",
                   f"--duration={share:.0f}", f"--interval={_STRESS_KILL_SECONDS}",
                   *(f"--{option}={value}" for option, value in _STRESS.items())]
        with ui.progress(f"Running db_stress ({name}), {ui.duration(share)}"):
            try:
                process.run(command, log=log, failure=f"{name} fails", cwd=files,
                            env={"TEST_TMPDIR": str(files)})
            except BasaltError as error:
                ui.info(error.message)
                tally.surprises.append(f"{name}: see {log}")
            else:
                tally.passed += 1
        begun = log.read_text(errors="replace").count("Running db_stress with pid=")
        ui.info(f"  db_stress was begun {begun} times")
