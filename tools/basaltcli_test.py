"""Tests of the parts of ./basalt that need neither a network nor a server."""

from __future__ import annotations

import datetime
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from basaltcli import layout, locking, mtr, package, private_apt, process, rocksdb
from basaltcli import server, server_process, server_release
from basaltcli.errors import BasaltError
from basaltcli.server import Server, default_socket
from basaltcli.server_release import ServerRelease
from program import testing


class TemporaryFolder(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class DerivedSources(TemporaryFolder):
    def derive(self, name: str, text: str) -> str:
        (self.folder / "sources.list.d").mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        return "".join(private_apt.derived_sources(self.folder).values()).strip()

    def test_one_line_format_keeps_options(self) -> None:
        text = self.derive("sources.list", "deb [arch=amd64] http://a/debian bookworm main # x\n")
        self.assertEqual(text, "deb [arch=amd64] http://a/debian bookworm main\n"
                               "deb-src [arch=amd64] http://a/debian bookworm main")

    def test_stanza_is_cut_down_to_bookworm(self) -> None:
        text = self.derive("sources.list.d/debian.sources",
                           "Types: deb\n# note\nURIs: http://a/debian\n"
                           "Suites: bookworm trixie bookworm-updates\nComponents: main\n"
                           "Signed-By: /usr/share/keyrings/debian.gpg\n")
        self.assertEqual(text, "Types: deb deb-src\nUris: http://a/debian\n"
                               "Suites: bookworm bookworm-updates\nComponents: main\n"
                               "Signed-By: /usr/share/keyrings/debian.gpg")

    def test_vendors_and_disabled_archives_are_left_out(self) -> None:
        (self.folder / "sources.list").write_text("deb http://a/debian bookworm main\n")
        text = self.derive("sources.list.d/x.sources",
                           "Types: deb\nURIs: http://b/tool\nSuites: bookworm\nComponents: stable\n"
                           "\nEnabled: no\nTypes: deb\nURIs: http://c/debian\nSuites: bookworm\n"
                           "Components: main\n")
        self.assertNotIn("http://b", text)
        self.assertNotIn("http://c", text)

    def test_no_archive_is_an_error(self) -> None:
        with self.assertRaises(BasaltError):
            self.derive("sources.list", "deb http://a/debian trixie main\n")


class ServerVersions(unittest.TestCase):
    def test_only_debians_own_of_the_series(self) -> None:
        pattern = server_release._VERSION
        self.assertTrue(pattern.match("1:10.11.18-0+deb12u1"))
        for version in ("1:10.11.18+maria~deb12", "1:11.8.2-1+deb12u1", "1:10.11.18-1"):
            self.assertFalse(pattern.match(version), version)


class Rocksdb(TemporaryFolder):
    def test_lock_file_pins_version_and_checksum(self) -> None:
        version, checksum = rocksdb.crate()
        self.assertRegex(version, r"^0\.\d+\.\d+\+\d+\.\d+\.\d+$")
        self.assertEqual(len(checksum), 64)

    def test_the_profile_is_of_the_compiler_that_uses_it(self) -> None:
        gcc = process.capture(["/usr/bin/g++", "-dumpfullversion"])
        if gcc is None:
            self.skipTest("no compiler")
        major, minor, _ = (int(part) for part in gcc.strip().split("."))
        # GCC 12.2: "B22", least significant byte first.
        written = f"*{minor}{major % 10}{chr(ord('A') + major // 10)}".encode()
        with tarfile.open(rocksdb.PROFILE) as profile:
            names = profile.getnames()
            for name in ("db/db_iter.cc.gcda", "table/block_based/block.cc.gcda"):
                self.assertIn(name, names)
            for member in profile:
                file = profile.extractfile(member)
                self.assertEqual(file and file.read(8), b"adcg" + written,
                                 f"{member.name}: make the profile anew, docs/building.md")

    def test_the_profile_was_made_of_what_is_compiled(self) -> None:
        self.assertEqual(rocksdb.profile_differences(), [],
                         "make the profile anew, docs/building.md, or say in profile.toml under "
                         "lacks why that is not needed")

    def test_what_has_changed_since_the_profile_was_made_is_told(self) -> None:
        text = rocksdb.PROFILE_ORIGIN.read_text()
        first, last = rocksdb.patches()[0].name, rocksdb.patches()[-1].name
        planted = self.folder / "profile.toml"
        for change, expected in (
                (("version = ", "version = \"1.0\" # "), f"RocksDB is {rocksdb.version()} now"),
                ((f'"{first}" = "', f'"{first}" = "0'), f"{first} has changed"),
                ((f'"{first}"', '"0000-old.patch"'), "0000-old.patch is gone"),
                (("[lacks]", "[other]"), f"{last} is new"),
                (("[lacks]", f'[lacks]\n"{first}" = "why"'),
                 f"{first} is no reason to mention it under lacks")):
            with self.subTest(expected):
                planted.write_text(text.replace(*change))
                with mock.patch.object(rocksdb, "PROFILE_ORIGIN", planted):
                    self.assertIn(expected, rocksdb.profile_differences())

    def test_each_flavour_has_the_library_that_is_compiled_as_it_is(self) -> None:
        kinds = {flavour: rocksdb.variant(flavour) for flavour in layout.FLAVOURS}
        self.assertIs(kinds["release"], kinds["dev"])
        self.assertEqual(len({kind.install_dir() for kind in kinds.values()}), 3)
        for flavour, option in (("asan", "-fsanitize=address,undefined"),
                                ("tsan", "-fsanitize=thread")):
            self.assertIn(option, kinds[flavour].flags()[-1])
            self.assertIn("-DCMAKE_BUILD_TYPE=Debug", kinds[flavour].flags())
        self.assertNotIn("-fsanitize", kinds["release"].flags()[-1])

    def test_a_library_says_what_its_headers_must_be_compiled_with(self) -> None:
        source, build, target = (self.folder / name for name in ("source", "build", "target"))
        kind = rocksdb.variant("asan")
        for header in ("rocksdb/db.h", *rocksdb.INTERNAL_HEADERS, *kind.headers):
            place = source / ("include" if header.startswith("rocksdb/") else "") / header
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("")
        build.mkdir()
        (build / "librocksdb.a").write_text("")
        rocksdb.install(source, build, target, kind)
        self.assertTrue((target / "include" / "port" / "stack_trace.h").exists())
        self.assertEqual((target / rocksdb.DEFINITIONS).read_text(),
                         "set(BASALT_ROCKSDB_DEFINITIONS ROCKSDB_ASSERT_STATUS_CHECKED)\n")
        for definition in kind.definitions:
            self.assertIn(f"-D{definition}", kind.flags()[-1])

    def test_a_profile_has_the_counts_of_all_sources_beside_their_objects(self) -> None:
        with (mock.patch.object(rocksdb, "PROFILE", self.folder / "profile.tar.xz"),
              mock.patch.object(rocksdb, "PROFILE_ORIGIN", self.folder / "profile.toml")):
            with self.assertRaisesRegex(BasaltError, "counted"):
                rocksdb.make_profile(self.folder)
            counts = self.folder / "rocksdb-build/CMakeFiles/rocksdb.dir/db/a.cc.gcda"
            counts.parent.mkdir(parents=True)
            counts.write_text("counts")
            rocksdb.make_profile(self.folder)
            with tarfile.open(rocksdb.PROFILE) as profile:
                self.assertEqual(profile.getnames(), ["db/a.cc.gcda"])
            self.assertEqual(rocksdb.profile_differences(), [])


class Package(TemporaryFolder):
    def origin(self, minute: int, is_modified: bool = False) -> package.Origin:
        time = datetime.datetime(2026, 11, 26, 2, minute, tzinfo=datetime.timezone.utc)
        return package.Origin("3abe9b5", time, is_modified)

    def test_a_version_grows_with_engine_commit_and_server(self) -> None:
        make = package.package_version
        ascending = [make("0.1", self.origin(15), "10.11.9-0+deb12u1"),
                     make("0.1", self.origin(15), "10.11.18-0+deb12u1"),
                     make("0.1", self.origin(15, True), "10.11.18-0+deb12u1"),
                     make("0.1", self.origin(16), "10.11.18-0+deb12u1"),
                     make("0.2", self.origin(15), "10.11.18-0+deb12u1")]
        self.assertEqual("0.1+202611260215~10.11.18.0+deb12u1", ascending[1])
        for older, newer in zip(ascending, ascending[1:]):
            with self.subTest(f"{older} {newer}"):
                subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)

    def test_the_engine_s_version_is_the_plugin_s(self) -> None:
        self.assertRegex(package.engine_version(), r"^\d+\.\d+$")

    def test_dpkg_reads_the_changelog(self) -> None:
        file = self.folder / "changelog"
        file.write_text(package.changelog(self.origin(15), "0.1+1", "10.11.18"))
        text = process.capture(["dpkg-parsechangelog", "-l", file]) or ""
        self.assertIn("Version: 0.1+1\n", text)
        self.assertIn("Built for MariaDB 10.11.18.", text)


class MtrOutput(unittest.TestCase):
    def test_result_lines(self) -> None:
        lines = {
            "main.1st                                 [ pass ]      1": ("main.1st", "pass"),
            "basalt.insert w2                         [ fail ]": ("basalt.insert", "fail"),
            "rpl.row 'mix'                            [ skipped ]  x": ("rpl.row", "skipped"),
            "worker[01] Using MTR_BUILD_THREAD 300": None,
        }
        for line, expected in lines.items():
            match = mtr._RESULT.match(line)
            self.assertEqual(match and (match["case"], match["result"]), expected, line)

    def test_what_a_failed_case_said_is_kept(self) -> None:
        result = mtr.MtrResult()
        for line in ("basalt.insert 'innodb'  w2                  [ pass ]   12",
                     "basalt.insert 'rocksdb' w2                  [ fail ]",
                     "",
                     "mysqltest: At line 69: query 'reap' failed",
                     *(f"row {number}" for number in range(100)),
                     "basalt.update                               [ skipped ]  x",
                     "of the next case"):
            result.read(line)
        self.assertEqual((result.passed, result.failed, result.skipped), (1, ["basalt.insert"], 1))
        said = result.said["basalt.insert 'rocksdb' w2"]
        self.assertEqual(said[:2], ["mysqltest: At line 69: query 'reap' failed", "row 0"])
        self.assertEqual(len(said), mtr._LINES_OF_FAILURE)


class Processes(TemporaryFolder):
    def test_tail_begins_at_the_failed_step(self) -> None:
        log = self.folder / "log"
        log.write_text("[1/2] ok\nFAILED: a.o\nlong command\na.cc:1: error\nninja: stopped\n")
        self.assertEqual(process.tail(log), "FAILED: a.o\na.cc:1: error\nninja: stopped")

    def test_failure_names_the_log(self) -> None:
        log = self.folder / "log"
        with self.assertRaisesRegex(BasaltError, "it failed .exit code 3.*log"):
            process.run(["sh", "-c", "exit 3"], log=log, failure="it failed")

    def test_only_a_mariadbd_of_the_directory_is_ours(self) -> None:
        pid_file = self.folder / "pid"
        self.assertIsNone(server_process.owned_pid(pid_file, self.folder))
        pid_file.write_text(str(os.getpid()))
        self.assertIsNone(server_process.owned_pid(pid_file, self.folder))
        program = ["mariadbd", "-c", "import time; time.sleep(60)", f"--datadir={self.folder}"]
        with subprocess.Popen(program, executable=sys.executable) as child:
            pid_file.write_text(str(child.pid))
            # Until the child has replaced itself it has our own command line.
            found = None
            while found is None and child.poll() is None:
                found = server_process.owned_pid(pid_file, self.folder)
            self.assertEqual(found, child.pid)
            self.assertIsNone(server_process.owned_pid(pid_file, self.folder / "other"))
            child.kill()
        self.assertIsNone(server_process.owned_pid(pid_file, self.folder))

    def test_port_in_use(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with self.assertRaises(BasaltError):
                server_process.check_port(listener.getsockname()[1])

    def test_socket_in_use_and_left_over(self) -> None:
        path = self.folder / "s"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            with self.assertRaises(BasaltError):
                server_process.check_socket(path)
        server_process.check_socket(path)


    def test_a_test_s_library_is_preloaded_behind_a_sanitizer_s(self) -> None:
        sanitizer = {"LD_PRELOAD": "libasan.so", "ASAN_OPTIONS": "a"}
        self.assertEqual(server_process.joined(sanitizer, {"LD_PRELOAD": "shim.so", "PLAN": "p"}),
                         {"LD_PRELOAD": "libasan.so shim.so", "ASAN_OPTIONS": "a", "PLAN": "p"})
        self.assertEqual(server_process.joined({}, {"LD_PRELOAD": "shim.so"}),
                         {"LD_PRELOAD": "shim.so"})
        self.assertEqual(server_process.joined({}, {}), {})


class DataDirectory(TemporaryFolder):
    def server(self) -> Server:
        release = ServerRelease(self.folder / "server-10.11.18-0+deb12u1")
        return Server(release, self.folder / "data", self.folder)

    def test_absent_or_empty_is_fine(self) -> None:
        self.server().check_datadir()
        (self.folder / "data").mkdir()
        self.server().check_datadir()

    def test_another_release_or_a_stranger_is_refused(self) -> None:
        (self.folder / "data").mkdir()
        (self.folder / "data" / "ibdata1").touch()
        with self.assertRaisesRegex(BasaltError, "not made by this tool"):
            self.server().check_datadir()
        (self.folder / "data" / "basalt-server-version").write_text("10.11.6-0+deb12u1\n")
        with self.assertRaisesRegex(BasaltError, "made by MariaDB 10.11.6"):
            self.server().check_datadir()

    def test_a_server_that_ends_just_after_its_start_has_not_started(self) -> None:
        started = self.server()
        started.datadir.mkdir()
        lost = server.pymysql.err.OperationalError(2013, "Lost connection")
        ended = subprocess.Popen(["true"])
        done_before = {name: mock.DEFAULT for name in
                       ("_check_startable", "initialise", "command", "wait_ready")}
        with mock.patch.multiple(Server, **done_before), \
                mock.patch.object(Server, "query", side_effect=lost), \
                mock.patch("subprocess.Popen", return_value=ended), \
                self.assertRaisesRegex(BasaltError, "ended just after its start.*Lost"):
            started.start()
        ended.wait()

    def test_socket_of_a_long_path_is_elsewhere(self) -> None:
        short = self.folder / "data"
        self.assertEqual(default_socket(short).parent, short)
        self.assertLess(len(str(default_socket(self.folder / ("x" * 120)))), 100)


class Scripts(TemporaryFolder):
    def test_only_a_failed_script_leaves_the_end_of_what_it_printed(self) -> None:
        script = self.folder / "chance.py"
        outcome = testing.Outcome()
        context = testing.Context("dev", ())
        with mock.patch.object(layout, "ROOT", self.folder):
            for failed in (0, 1):
                script.write_text(f"print('seed {failed}')\nprint('2 passed, {failed} failed')\n",
                                  encoding="utf-8")
                testing._script(script, context, outcome)
                self.assertEqual(len(outcome.last_lines), failed)
        self.assertEqual(list(outcome.last_lines["chance.py"]), ["seed 1", "2 passed, 1 failed"])
        self.assertEqual((outcome.passed, outcome.failures), (4, ["chance.py, case 1"]))


class Results(TemporaryFolder):
    def test_directory_appears_only_when_complete(self) -> None:
        target = self.folder / "result"
        with self.assertRaises(ValueError), locking.appearing(target) as directory:
            (directory / "half").touch()
            raise ValueError
        self.assertFalse(target.exists())
        with locking.appearing(target) as directory:
            (directory / "whole").touch()
        self.assertEqual([path.name for path in target.iterdir()], ["whole"])

    def test_clean_removes_only_what_is_ours(self) -> None:
        os.environ["BASALT_CACHE"] = str(self.folder)
        self.addCleanup(os.environ.pop, "BASALT_CACHE")
        for name in ("server-1", "photos", "server.json"):
            (self.folder / name).touch()
        self.assertEqual([path.name for path in layout.cache_entries()],
                         ["server-1", "server.json"])


if __name__ == "__main__":
    unittest.main()
