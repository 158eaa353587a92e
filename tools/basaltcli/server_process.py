"""The operating system's side of a private mariadbd: whose process, which ports, sanitizers."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from basaltcli import layout, process
from basaltcli.errors import BasaltError


def owned_pid(pid_file: Path, datadir: Path) -> int | None:
    """The process in a pid file, if it runs, is a mariadbd, and serves exactly this directory."""
    try:
        pid = int(pid_file.read_text())
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    # Under setarch or a sanitizer the program is still mariadbd: they replace themselves by it.
    is_mariadbd = os.path.basename(arguments[0]) == b"mariadbd"
    is_ours = b"--datadir=" + os.fsencode(datadir) in arguments
    return pid if is_mariadbd and is_ours and is_running(pid) else None


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_gone(pid: int, timeout: float, child: subprocess.Popen[bytes] | None) -> bool:
    """Waits until a process has ended; False when the time is over first."""
    deadline = time.monotonic() + timeout
    while is_running(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    if child is not None and child.pid == pid:
        child.wait()
    return True


def check_socket(path: Path) -> None:
    """Fails when a server listens on a Unix socket; a left-over file is no obstacle."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return
    raise BasaltError(f"another server listens on the socket {path}",
                      "stop that server, or choose another --datadir")


def check_port(port: int) -> None:
    """Fails when a port of the local interface cannot be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BasaltError(f"port {port} cannot be used: {error.strerror}",
                              "choose another --port, or leave it out to use the socket only"
                              ) from error


def environment(flavour: str) -> dict[str, str]:
    """What a mariadbd needs to load a plugin of this flavour."""
    if flavour == "asan":
        return {"LD_PRELOAD": _runtime("libasan.so"),
                "ASAN_OPTIONS": "detect_leaks=0:allow_user_poisoning=0:abort_on_error=1:"
                                "disable_coredump=0",
                "UBSAN_OPTIONS": "print_stacktrace=1"}
    if flavour == "tsan":
        # mariadbd itself is not instrumented: only what our code does is to be judged.
        suppressions = layout.ROOT / "cmake" / "tsan.suppressions"
        return {"LD_PRELOAD": _runtime("libtsan.so"),
                # A race ends the server: no test passes over it.
                "TSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:"
                                f"suppressions={suppressions}:"
                                "ignore_noninstrumented_modules=1:report_signal_unsafe=0:"
                                # The server does not join a thread of its own.
                                "report_thread_leaks=0"}
    return {}


def joined(first: Mapping[str, str], then: Mapping[str, str]) -> dict[str, str]:
    """Both environments; of two libraries to preload a sanitizer's must be the first."""
    both = {**first, **then}
    libraries = [part["LD_PRELOAD"] for part in (first, then) if "LD_PRELOAD" in part]
    return {**both, "LD_PRELOAD": " ".join(libraries)} if libraries else both


def command_prefix(flavour: str) -> list[str]:
    """ThreadSanitizer needs a process without address space randomisation."""
    return ["setarch", "x86_64", "-R"] if flavour == "tsan" else []


def server_options(flavour: str) -> list[str]:
    """mariadbd options for a flavour: sanitized code needs more stack."""
    if flavour == "asan":
        return ["--thread-stack=1M"]
    if flavour == "tsan":
        # ThreadSanitizer leaves no room for InnoDB's mapping of 8 TB.
        return ["--thread-stack=4M", "--loose-innodb-buffer-pool-size-max=1G"]
    return []


def startup_errors(log: str) -> str:
    """The part of a server's log that says why it did not start."""
    lines = log.splitlines()
    errors = [line for line in lines if "[ERROR]" in line or "Sanitizer" in line]
    return "\n".join((errors or lines)[-25:])


def _runtime(name: str) -> str:
    path = (process.capture(["/usr/bin/g++", f"-print-file-name={name}"]) or "").strip()
    if not os.path.isabs(path):
        raise BasaltError(f"the compiler has no {name}", "install the Debian package g++")
    return os.path.realpath(path)
