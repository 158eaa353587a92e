"""RocksDB: its source from the pinned Rust package, built once and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tarfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from basaltcli import debian, layout, locking, machine, process, ui
from basaltcli.errors import BasaltError
from basaltcli.private_apt import PrivateApt

CRATE = "librocksdb-sys"
CARGO_MINIMUM = (1, 85)
CARGO_PACKAGE = "cargo-web"
CARGO_LIBRARIES = ("libcurl4", "libgit2-1.5", "libsqlite3-0", "libssh2-1", "libssl3")
_PIN = layout.ROOT / "tools" / "rocksdb"
# What GCC counted in each source file under typical loads: which branches are taken, what is hot.
# ./basalt bench profile makes it.
PROFILE = _PIN / "profile.tar.xz"
# The version and the patches that it was made with, and which of them may differ since.
PROFILE_ORIGIN = _PIN / "profile.toml"
# Seconds of one compiler working on all files; measured on 2 cores.
_BUILD_SECONDS = 2 * 17 * 60

# Beside the public headers: what a memtable of our own needs.
INTERNAL_HEADERS = ("db/lookup_key.h", "memory/allocator.h", "memory/arena.h", "port/mmap.h")

# In a finished library's directory: what its headers must be compiled with, for CMake to read.
DEFINITIONS = Path("lib") / "definitions.cmake"

_RELEASE = "-DCMAKE_BUILD_TYPE=Release"
FLAGS = (
    "-DCMAKE_C_COMPILER=/usr/bin/gcc",
    "-DCMAKE_CXX_COMPILER=/usr/bin/g++",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DCMAKE_CXX_VISIBILITY_PRESET=hidden",
    "-DUSE_RTTI=1",
    "-DPORTABLE=x86-64-v2",
    "-DROCKSDB_BUILD_SHARED=OFF",
    "-DWITH_LZ4=ON", "-DWITH_ZSTD=ON", "-DWITH_ZLIB=ON",
    # Both keep thread-local counters that nothing reads, and touch them with every key compared.
    "-DWITH_PERF_CONTEXT=OFF", "-DWITH_IOSTATS_CONTEXT=OFF",
    "-DWITH_GFLAGS=OFF", "-DWITH_LIBURING=OFF",
    "-DWITH_TESTS=OFF", "-DWITH_ALL_TESTS=OFF", "-DWITH_TOOLS=OFF", "-DWITH_CORE_TOOLS=OFF",
    "-DWITH_BENCHMARK_TOOLS=OFF", "-DWITH_TRACE_TOOLS=OFF",
    "-DFAIL_ON_WARNINGS=OFF",
)
# With what ZSTD calls its interface for static linking, which Debian's shared library exports as
# well, the dictionary of a file is digested once: decision 0014.
_CXX_FLAGS = ("-mpclmul -fno-gnu-unique -DROCKSDB_NAMESPACE=basalt_rocksdb"
              " -DZSTD_STATIC_LINKING_ONLY")
# The profile moves what is seldom executed out of the way of the rest: decision 0018. Functions
# that it does not know, or that a patch has changed since, are compiled as without it.
_USE_PROFILE = ("-fprofile-use -fprofile-partial-training -fprofile-correction"
                " -Wno-missing-profile -Wno-coverage-mismatch")
_MAKE_PROFILE = "-fprofile-generate -fprofile-update=atomic"
# In CMake's build directory.
_OBJECTS = Path("CMakeFiles") / "rocksdb.dir"


@dataclass(frozen=True)
class Variant:
    """One way to compile the library.

    `definitions` change what its headers declare, so that all who include them need the same;
    these then include `headers`, too, which are not public.
    """

    name: str
    cmake_flags: tuple[str, ...]
    cxx_flags: str
    definitions: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    is_profiled: bool = False

    def flags(self) -> list[str]:
        """CMake's options."""
        defined = "".join(f" -D{definition}" for definition in self.definitions)
        return [*self.cmake_flags, *FLAGS,
                f"-DCMAKE_CXX_FLAGS={_CXX_FLAGS} {self.cxx_flags}{defined}"]

    def install_dir(self) -> Path:
        """Where the finished library is: named by all that it is made of."""
        compiler = (process.capture(["/usr/bin/g++", "--version"]) or "").partition("\n")[0]
        profile = [hashlib.sha256(PROFILE.read_bytes()).hexdigest()] if self.is_profiled else []
        identity = json.dumps([*crate(), *self.flags(), *INTERNAL_HEADERS, *self.headers,
                               compiler, *profile,
                               *(patch.read_text() for patch in patches())])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
        return layout.cache_dir() / f"{self.name}-{version()}-{digest}"


# What users get, and what dev is tested with.
ORDINARY = Variant("rocksdb", (_RELEASE,), _USE_PROFILE, is_profiled=True)
_COUNTING = Variant("rocksdb-counting", (_RELEASE,), _MAKE_PROFILE)
# What follows is compiled with RocksDB's own asserts: of CMake's kinds of build only Debug is
# without NDEBUG. Compilers mostly read headers, so they are given a dozen source files at once: a
# quarter of the work.
_ASSERTING = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1",
              "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=12")
# Each status that nobody has looked at ends the program. ROCKSDB_UBSAN_RUN leaves out the few
# functions that read unaligned numbers on purpose.
_ASAN = Variant("rocksdb-asan", _ASSERTING,
                "-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr"
                " -fno-sanitize-recover=all -DROCKSDB_UBSAN_RUN",
                definitions=("ROCKSDB_ASSERT_STATUS_CHECKED",), headers=("port/stack_trace.h",))
# Statuses do not say here whether somebody has looked at them: they would say it to all threads
# that share them, without order.
_TSAN = Variant("rocksdb-tsan", _ASSERTING, "-fno-omit-frame-pointer -fsanitize=thread")
# For RocksDB's own tests.
CHECK = Variant("rocksdb-check", _ASSERTING, "")
_OF_FLAVOUR = {"asan": _ASAN, "tsan": _TSAN}


def variant(flavour: str) -> Variant:
    """The library that a flavour of the engine is linked with."""
    return _OF_FLAVOUR.get(flavour, ORDINARY)


def crate() -> tuple[str, str]:
    """Version and checksum of the pinned package: ('0.19.0+11.8.1', '4f45...')."""
    lock = tomllib.loads((_PIN / "Cargo.lock").read_text())
    for package in lock["package"]:
        if package["name"] == CRATE:
            return package["version"], package["checksum"]
    raise BasaltError(f"tools/rocksdb/Cargo.lock does not pin {CRATE}",
                      "restore the file from the repository")


def version() -> str:
    """RocksDB's own version: 11.8.1."""
    return crate()[0].split("+")[1]


def ensure(kind: Variant = ORDINARY) -> Path:
    """The finished library's directory (include/, lib/librocksdb.a), built if need be."""
    target = kind.install_dir()
    if target.is_dir():
        return target
    build = target.with_name(target.name + ".build")
    source = patched_source(build.with_name(build.name + "-source"))
    if kind.is_profiled:
        # GCC looks for the profile of a file beside its object.
        shutil.unpack_archive(PROFILE, build / _OBJECTS)
    _compile(source, build, target, kind)
    shutil.rmtree(build)
    shutil.rmtree(source)
    return target


def ensure_counting(directory: Path) -> Path:
    """A library for make_profile() in `directory`, built if need be: programs that are linked with
    it and -fprofile-generate count what they execute, and write that when they end."""
    target = directory / "rocksdb"
    if not target.is_dir():
        source = patched_source(directory / "rocksdb-source")
        _compile(source, directory / "rocksdb-build", target, _COUNTING)
    return target


def make_profile(directory: Path) -> None:
    """Makes PROFILE of what programs with the library of ensure_counting() have executed."""
    objects = directory / "rocksdb-build" / _OBJECTS
    counted = sorted(objects.rglob("*.gcda"))
    if not counted:
        raise BasaltError(f"no program has counted anything in {objects}",
                          "programs write their counts when they end")
    with tarfile.open(PROFILE, "w:xz") as archive:
        for counts in counted:
            archive.add(counts, counts.relative_to(objects), filter=_anonymous)
    lines = ["# What profile.tar.xz was made with: ./basalt bench profile writes both.",
             f'version = "{version()}"', "", "[patches]",
             *(f'"{name}" = "{digest}"' for name, digest in _patch_digests().items()),
             "", "# Patches that have come, changed or gone since, and why the profile need not be",
             "# made anew for them.",
             "[lacks]"]
    PROFILE_ORIGIN.write_text("\n".join(lines) + "\n")


def profile_differences() -> list[str]:
    """What the profile was made with otherwise than what is compiled now, a line for each."""
    origin = tomllib.loads(PROFILE_ORIGIN.read_text())
    known, present = origin["patches"], _patch_digests()
    lacks = origin.get("lacks", {})
    found = [] if origin["version"] == version() else [f"RocksDB is {version()} now"]
    found += [f"{name} has changed" for name in known
              if name in present and present[name] != known[name] and name not in lacks]
    found += [f"{name} is gone" for name in known if name not in present and name not in lacks]
    found += [f"{name} is new" for name in present if name not in known and name not in lacks]
    return found + [f"{name} is no reason to mention it under lacks" for name in lacks
                    if present.get(name) == known.get(name)]


def _patch_digests() -> dict[str, str]:
    return {patch.name: hashlib.sha256(patch.read_bytes()).hexdigest()[:16]
            for patch in patches()}


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mtime = 0
    return member


def _compile(source: Path, build: Path, target: Path, kind: Variant) -> None:
    jobs = machine.jobs()
    log = process.log_file(f"build-{kind.name}")
    failure = f"RocksDB {version()} cannot be built"
    estimate = ui.duration(_BUILD_SECONDS / jobs)
    note = f"once, about {estimate} with {jobs} compilers; may be interrupted and resumed"
    with ui.progress(f"Building RocksDB {version()}", note) as bar:
        process.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, *kind.flags()],
                    log=log, failure=failure)
        process.run(["ninja", "-C", build, "-j", str(jobs), "rocksdb"], log=log, failure=failure,
                    bar=bar)
        install(source, build, target, kind)


def patches() -> list[Path]:
    """What we change in RocksDB, in order; each file says why."""
    return sorted((_PIN / "patches").glob("*.patch"))


def patched_source(target: Path, further: Sequence[Path] = ()) -> Path:
    """A copy of the source in `target` with our changes and the `further` ones, made if need be."""
    if target.is_dir():
        return target
    source = _ensure_source()
    with locking.appearing(target) as directory:
        shutil.copytree(source, directory, dirs_exist_ok=True)
        for patch in (*patches(), *further):
            process.run(["patch", "--strip=1", f"--directory={directory}", f"--input={patch}"],
                        log=process.log_file("patch-rocksdb"),
                        failure=f"{patch.name} does not fit RocksDB {version()}")
    return target


def install(source: Path, build: Path, target: Path, kind: Variant) -> None:
    """Copies headers and library to their place."""
    with locking.appearing(target) as directory:
        shutil.copytree(source / "include", directory / "include")
        for header in (*INTERNAL_HEADERS, *kind.headers):
            place = directory / "include" / header
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / header, place)
        (directory / "lib").mkdir()
        shutil.copy(build / "librocksdb.a", directory / "lib" / "librocksdb.a")
        (directory / DEFINITIONS).write_text(
            f"set(BASALT_ROCKSDB_DEFINITIONS {' '.join(kind.definitions)})\n")


def _ensure_source() -> Path:
    """RocksDB's source tree, fetched by cargo under the lock file."""
    name, _ = crate()
    target = layout.cache_dir() / f"rocksdb-source-{name}"
    if target.is_dir():
        return target
    cargo = _ensure_cargo()
    with ui.progress(f"Downloading the source of RocksDB {version()}", "about 20 MB"), \
            locking.appearing(target) as directory:
        vendored = directory / "vendored"
        process.run([cargo, "vendor", "--locked", "--versioned-dirs",
                     "--manifest-path", _PIN / "Cargo.toml", vendored],
                    log=process.log_file("cargo-vendor"), cwd=directory,
                    failure="the source of RocksDB cannot be downloaded",
                    remedy="check the network and the proxy (https_proxy)")
        source = vendored / f"{CRATE}-{name}" / "rocksdb"
        for entry in source.iterdir():
            entry.rename(directory / entry.name)
        shutil.rmtree(vendored)
    return target


def _ensure_cargo() -> Path | str:
    """A cargo of 1.85 or later: the one on PATH, or Debian's, unpacked into the cache.

    Debian's package is unpacked, not installed: it conflicts with Debian's older cargo, which the
    user may have for other work.
    """
    if _is_recent(shutil.which("cargo")):
        return "cargo"
    target = layout.cache_dir() / "cargo"
    program = target / "usr" / "bin" / "cargo"
    if program.exists():
        return program
    debian.ensure(CARGO_LIBRARIES)
    apt = PrivateApt(layout.cache_dir() / "apt")
    with ui.progress(f"Downloading Debian's {CARGO_PACKAGE}", "no cargo of 1.85 or later here"), \
            locking.appearing(target) as directory:
        apt.update()
        apt.run("download", CARGO_PACKAGE, cwd=directory,
                failure=f"Debian's package {CARGO_PACKAGE} cannot be downloaded",
                remedy="check the network, or install cargo 1.85 or later by other means")
        package = next(directory.glob("*.deb"))
        process.run(["dpkg-deb", "-x", package, directory], log=process.log_file("unpack-cargo"),
                    failure=f"{package.name} cannot be unpacked")
        package.unlink()
    apt.remove()
    if not _is_recent(str(program)):
        raise BasaltError(f"Debian's {CARGO_PACKAGE} does not run here: {program} --version",
                          "install cargo 1.85 or later by other means (it must be on PATH)")
    return program


def _is_recent(program: str | None) -> bool:
    if program is None:
        return False
    # A rustup proxy without a toolchain must fail here rather than download one.
    text = process.capture([program, "--version"], env={"RUSTUP_AUTO_INSTALL": "0"}) or ""
    match = re.search(r"cargo (\d+)\.(\d+)", text)
    return match is not None and (int(match[1]), int(match[2])) >= CARGO_MINIMUM
