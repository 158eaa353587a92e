"""./basalt fuzz: the decoders of stored bytes under libFuzzer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from basaltcli import debian, layout, machine, process, ui
from basaltcli.errors import BasaltError

_FLAVOUR = "fuzz"
# Debian 12's only clang, and its libFuzzer.
_PACKAGES = ("clang-14", "cmake", "libclang-rt-14-dev", "libgtest-dev", "ninja-build")


def fuzzers() -> list[str]:
    """The names of all fuzzers."""
    return sorted(path.stem for path in (layout.ROOT / "tests" / "fuzz").glob("*_fuzz.cc"))


def run(names: Sequence[str], seconds: int) -> None:
    """Builds the fuzzers with clang and runs each for `seconds`; stops at the first failure.

    Inputs that reached new code are kept in build/fuzz/corpus and are where the next run begins.
    """
    unknown = set(names) - set(fuzzers())
    if unknown:
        raise BasaltError(f"there is no fuzzer {', '.join(sorted(unknown))}",
                          f"the fuzzers are {', '.join(fuzzers())}")
    chosen = list(names) or fuzzers()
    debian.ensure(_PACKAGES)
    directory = layout.build_dir(_FLAVOUR)
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "build.log"
    log.write_text("")
    with ui.progress("Building the fuzzers") as bar:
        process.run(["cmake", "-G", "Ninja", "-S", layout.ROOT, "-B", directory,
                     "-DCMAKE_C_COMPILER=clang-14", "-DCMAKE_CXX_COMPILER=clang++-14",
                     f"-DBASALT_FLAVOUR={_FLAVOUR}"],
                    log=log, failure="CMake cannot configure the fuzzers")
        process.run(["ninja", "-C", directory, "-j", str(machine.jobs()), *chosen], log=log,
                    failure="the fuzzers do not compile", bar=bar)
    for name in chosen:
        _run(directory, name, seconds)


def _run(directory: Path, name: str, seconds: int) -> None:
    corpus = directory / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    ui.console.rule(f"[bold]{name}, {ui.duration(seconds)}", align="left")
    command = [str(directory / "tests" / "fuzz" / name), f"-max_total_time={seconds}",
               "-print_final_stats=1", f"-artifact_prefix={directory}/{name}-", str(corpus)]
    last: list[str] = []

    def consume(line: str) -> None:
        last.append(line)
        del last[:-40]
        if line.startswith(("#", "stat::")) and "NEW" not in line and "REDUCE" not in line:
            ui.info("  " + line)

    if process.stream(command, consume, cwd=directory) != 0:
        raise BasaltError(f"{name} found a failure:\n" + "\n".join(last),
                          f"the input is in {directory}/{name}-*; repeat it with "
                          f"{directory}/tests/fuzz/{name} FILE")
