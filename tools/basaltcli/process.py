"""Running other programs: output into a log file, errors with the end of that log."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from basaltcli import layout, ui
from basaltcli.errors import BasaltError

_NINJA_PROGRESS = re.compile(r"^\[(\d+)/(\d+)\]")


def log_file(name: str) -> Path:
    """A log file in the cache, emptied."""
    path = layout.cache_dir() / "log" / f"{name}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def tail(path: Path, lines: int = 25) -> str:
    """The part of a log that explains a failure: ninja's first failed step, or the end."""
    try:
        text = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    failed = next((i for i, line in enumerate(text) if line.startswith("FAILED:")), None)
    # The line after "FAILED:" is the whole compiler command.
    shown = text[-lines:] if failed is None else text[failed : failed + 1] + text[failed + 2 :]
    return "\n".join(shown[:lines])


def capture(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str | None:
    """Standard output of a command, or None when it is missing or fails."""
    try:
        done = subprocess.run([str(part) for part in command], check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, env=environment(env))
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def run(command: Sequence[str | Path], *, log: Path, failure: str, remedy: str = "",
        cwd: Path | None = None, env: Mapping[str, str] | None = None,
        bar: ui.Bar | None = None) -> None:
    """Runs a command, its output going to `log`; `bar` follows ninja's [n/m].

    Raises BasaltError(failure) with the end of the log when the command fails.
    """
    words = [str(part) for part in command]
    with log.open("a", errors="replace") as out:
        out.write("$ " + " ".join(words) + "\n")
        out.flush()

        def record(line: str) -> None:
            out.write(line + "\n")
            step = _NINJA_PROGRESS.match(line) if bar else None
            if bar and step:
                bar.update(int(step[1]), int(step[2]))

        try:
            status = stream(words, record, cwd=cwd, env=env)
        except OSError as error:
            raise BasaltError(f"{failure}: {error}", remedy) from error
    if status != 0:
        raise BasaltError(f"{failure} (exit code {status}); from {log}:\n{tail(log)}", remedy)


def stream(command: Sequence[str], consume: Callable[[str], None], *, cwd: Path | None = None,
           env: Mapping[str, str] | None = None) -> int:
    """Runs a command and gives each line of its output to `consume`; returns the exit code.

    When this process is interrupted the command is ended too.
    """
    with subprocess.Popen(command, cwd=cwd, env=environment(env), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                consume(line.rstrip("\n"))
            return child.wait()
        except BaseException:
            child.terminate()
            raise


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our environment in the C locale, without this tool's own Python settings."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    env["LC_ALL"] = "C.UTF-8"
    return {**env, **(extra or {})}
