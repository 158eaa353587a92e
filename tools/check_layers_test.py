#!/usr/bin/python3
"""Plants violations of every kind in copies of the source tree; check_layers.py must find them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import python_layers
from check_layers import Rules, differences

_TOOLS = Path(__file__).resolve().parent
_SRC = _TOOLS.parent / "src"


class PlantedTree(unittest.TestCase):
    """A test with a folder of its own, to which it adds files."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"

    def plant(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


class PlantedIncludes(PlantedTree):
    """Each test adds files to a small, clean tree that obeys the project's own layers.toml."""

    def setUp(self) -> None:
        super().setUp()
        self.rules = _TOOLS / "layers.toml"
        self.plant("base/status.h", "#include <string>")
        self.plant("kv/database.h", '#include "base/status.h"')
        self.plant("kv/iterator.h", "#include <rocksdb/iterator.h>")
        self.plant("kv/internal/cache.h", "#include <rocksdb/cache.h>")
        self.plant("server/mariadb.h", "#include <my_global.h>\n#include <sql_class.h>")
        self.plant("engine/engine.h", '#include "kv/database.h"')
        self.plant("server/plugin.cc", '#include "engine/engine.h"\n#include "server/mariadb.h"')

    def check(self) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, _TOOLS / "check_layers.py", self.root, self.rules],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_found(self, *expected: str) -> None:
        self.assertEqual(self.check(), (1, list(expected)))

    def test_clean_tree_has_no_violation(self) -> None:
        self.assertEqual(self.check(), (0, []))

    def test_rocksdb_outside_its_folders(self) -> None:
        self.plant("codec/bad.cc", "#include <rocksdb/slice.h>")
        self.assert_found("codec/bad.cc: rocksdb/slice.h belongs behind rdb, memtable, "
                          "block_cache, wal, index_stats, bulk, kv, txn, inspect")

    def test_mariadb_outside_its_file(self) -> None:
        self.plant("codec/bad.cc", "  #  include <my_global.h>")
        self.plant("server/bad.cc", '#include "handler.h"')
        places = "server/mariadb.h, server/mariadb_replication.h"
        self.assert_found(f"codec/bad.cc: my_global.h belongs behind {places}",
                          f"server/bad.cc: handler.h belongs behind {places}")

    def test_folder_that_may_not_be_seen(self) -> None:
        self.plant("codec/bad.h", '#include "kv/database.h"')
        self.assert_found("codec/bad.h: codec may not include kv/database.h")

    def test_layer_above(self) -> None:
        self.plant("base/bad.h", '#include "engine/engine.h"')
        self.assert_found("base/bad.h: base may not include engine/engine.h")

    def test_private_header(self) -> None:
        self.plant("txn/bad.cc", '#include "kv/internal/cache.h"')
        self.assert_found("txn/bad.cc: kv/internal/cache.h is private to kv")

    def test_rocksdb_reached_through_two_headers(self) -> None:
        self.plant("engine/engine.h", '#include "kv/iterator.h"')
        self.assert_found("server/plugin.cc: reaches rocksdb/iterator.h through "
                          "engine/engine.h, kv/iterator.h")

    def test_gtest_outside_tests(self) -> None:
        self.plant("codec/good_test.cc", "#include <gtest/gtest.h>")
        self.plant("codec/bad.cc", "#include <gtest/gtest.h>")
        self.assert_found("codec/bad.cc: gtest/gtest.h belongs behind *_test.cc, */test_support.h")

    def test_folder_without_a_declaration(self) -> None:
        self.plant("extra/new.h", "#include <string>")
        self.assert_found("extra/new.h: folder extra is not declared in layers.toml")

    def test_unknown_foreign_header(self) -> None:
        self.plant("base/bad.h", "#include <boost/any.hpp>")
        self.assert_found("base/bad.h: boost/any.hpp belongs to no family of layers.toml")

    def test_own_header_that_does_not_exist(self) -> None:
        self.plant("codec/bad.cc", '#include "base/missing.h"')
        self.assert_found("codec/bad.cc: base/missing.h does not exist")

    def test_own_header_without_its_folder(self) -> None:
        self.plant("base/bad.cc", '#include "status.h"')
        self.assert_found("base/bad.cc: status.h must be included by its path from src/")

    def test_comment_is_no_include(self) -> None:
        self.plant("codec/good.cc", "/*\n#include <rocksdb/slice.h>\n*/\n// #include <handler.h>")
        self.assertEqual(self.check(), (0, []))

    def test_cycle_in_the_rules(self) -> None:
        self.rules = self.root / "cycle.toml"
        self.plant("cycle.toml", '[allow]\na = ["b"]\nb = ["a"]')
        for name in ("base", "kv", "server", "engine"):
            shutil.rmtree(self.root / name)
        self.assert_found("layers.toml: the folders a, b form a cycle")

    def test_violation_in_a_copy_of_the_real_tree(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(_SRC, self.root)
        _, before = self.check()
        self.plant("base/planted.h", "#include <rocksdb/slice.h>")
        code, after = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(set(after) - set(before),
                         {"base/planted.h: rocksdb/slice.h belongs behind rdb, memtable, "
                          "block_cache, wal, index_stats, bulk, kv, txn, inspect"})


class PlantedImports(PlantedTree):
    """The same for Python: a small, clean tree that obeys the project's own layers.toml."""

    def setUp(self) -> None:
        super().setUp()
        self.rules = python_layers.Rules.read(_TOOLS / "layers.toml")
        self.plant("tools/basaltcli/__init__.py", "")
        self.plant("tools/basaltcli/server.py", "import pymysql\nfrom os import path")
        self.plant("tools/program/cli.py", "import click\nfrom lab import study")
        self.plant("bench/lab/__init__.py", "")
        self.plant("bench/lab/study.py", "from basaltcli.server import Server")
        self.plant("bench/lab/report/page.py", "import lab.study\nimport jinja2")
        self.plant("bench/tests/made_up.py", "from lab.study import Study")
        self.plant("bench/tests/test_study.py", "import pytest\nfrom made_up import study")
        self.plant("tests/support/load.py", "from basaltcli import server")
        self.plant("tests/crash/_trial.py", "from tests.support.load import Load")
        self.plant("tests/crash/kill.py", "from tests.crash import _trial")

    def assert_found(self, *expected: str) -> None:
        found = list(python_layers.Checker(self.root, self.rules).violations())
        self.assertEqual(found, list(expected))

    def test_clean_tree_has_no_violation(self) -> None:
        self.assert_found()

    def test_package_above(self) -> None:
        self.plant("tools/basaltcli/bad.py", "from lab import study")
        self.assert_found("tools/basaltcli/bad.py: tools/basaltcli may not import lab.study")

    def test_import_inside_a_function(self) -> None:
        self.plant("bench/lab/bad.py", "def run():\n    import program.cli")
        self.assert_found("bench/lab/bad.py: bench/lab may not import program.cli")

    def test_import_for_type_checkers_alone(self) -> None:
        self.plant("tools/basaltcli/bad.py", "from typing import TYPE_CHECKING\n"
                   "if TYPE_CHECKING:\n    from lab.study import Study")
        self.assert_found("tools/basaltcli/bad.py: tools/basaltcli may not import lab.study")

    def test_another_folder_of_tests(self) -> None:
        self.plant("tests/faults/bad.py", "from tests.crash import _trial")
        self.assert_found("tests/faults/bad.py: tests/faults may not import tests.crash._trial")

    def test_circle_of_two_modules(self) -> None:
        self.plant("bench/lab/study.py", "from typing import TYPE_CHECKING\n"
                   "if TYPE_CHECKING:\n    from lab.trial import Trial")
        self.plant("bench/lab/trial.py", "from lab.study import Cell")
        self.assert_found("bench/lab/study.py: imports itself: bench/lab/study.py -> "
                          "bench/lab/trial.py -> bench/lab/study.py")

    def test_circle_through_the_module_of_a_package(self) -> None:
        self.plant("bench/lab/__init__.py", "from lab.study import Study")
        self.plant("bench/lab/study.py", "from lab import VERSION")
        self.assert_found("bench/lab/__init__.py: imports itself: bench/lab/__init__.py -> "
                          "bench/lab/study.py -> bench/lab/__init__.py")

    def test_module_by_less_than_its_full_name(self) -> None:
        self.plant("tests/crash/bad.py", "import _trial\nfrom . import kill")
        self.assert_found(
            "tests/crash/bad.py: _trial is no full name of a module of ours, and not in "
            "layers.toml",
            "tests/crash/bad.py: . must be imported by its full name")

    def test_module_that_does_not_exist(self) -> None:
        self.plant("tests/crash/bad.py", "from tests.support.missing import Load")
        self.assert_found("tests/crash/bad.py: tests.support.missing does not exist")

    def test_foreign_package_outside_its_folders(self) -> None:
        self.plant("bench/lab/bad.py", "import matplotlib.pyplot\nimport numpy as np")
        self.assert_found("bench/lab/bad.py: numpy belongs behind bench/workloads, bench/studies, "
                          "bench/tests")

    def test_unknown_foreign_package(self) -> None:
        self.plant("bench/lab/bad.py", "import requests.auth")
        self.assert_found("bench/lab/bad.py: requests.auth is no full name of a module of ours, "
                          "and not in layers.toml")

    def test_folder_without_a_declaration(self) -> None:
        self.plant("tools/extra/new.py", "import os")
        self.assert_found("tools/extra/new.py: folder tools/extra is not declared in layers.toml")

    def test_script_that_says_where_packages_are(self) -> None:
        self.plant("tests/crash/bad.py", 'import sys\nsys.path.insert(0, "tools")')
        self.assert_found(
            "tests/crash/bad.py: uses sys.path; ./basalt alone says where packages are")

    def test_cycle_in_the_rules(self) -> None:
        self.rules = python_layers.Rules({"tools/*": ["bench/*"], "bench/*": ["tools/*"],
                                          "tests/*": ["tools/*"]}, {})
        found = list(python_layers.Checker(self.root, self.rules).violations())
        self.assertIn("layers.toml: the folders bench/*, tools/* form a cycle", found)


class OtherTables(unittest.TestCase):
    """What CMakeLists.txt and ARCHITECTURE.md tell of the layers is what layers.toml says."""

    _RULES = Rules({"base": [], "kv": ["base"]}, {"rocksdb/": ["kv"]}, {}, {}, [])
    _CMAKE = "basalt_module(base)\nbasalt_module(kv DEPENDS base\n  FOREIGN basalt_rocksdb)\n"
    _MAP = "| [src/base](a.md) | words | |\n| [src/kv](b.md) | store | base |\n"

    def found(self, *, folders: str = "base kv", cmake: str = _CMAKE,
              told: str = _MAP) -> list[str]:
        return list(differences(self._RULES, set(folders.split()), cmake, told))

    def test_the_same_in_all_is_no_difference(self) -> None:
        self.assertEqual(self.found(), [])

    def test_a_folder_that_is_not_there(self) -> None:
        self.assertIn("layers.toml: there is no folder src/kv", self.found(folders="base"))

    def test_another_dependency_in_cmake(self) -> None:
        self.assertEqual(self.found(cmake=self._CMAKE.replace("DEPENDS base", "DEPENDS base txn")),
                         ["CMakeLists.txt: kv sees base txn, in layers.toml base"])

    def test_a_module_that_the_rules_do_not_know(self) -> None:
        self.assertEqual(self.found(cmake=self._CMAKE + "basalt_module(ddl)"),
                         ["CMakeLists.txt: ddl is not in layers.toml"])

    def test_rocksdb_linked_where_its_headers_are_forbidden(self) -> None:
        cmake = self._CMAKE.replace("(base)", "(base FOREIGN basalt_rocksdb)")
        self.assertEqual(self.found(cmake=cmake),
                         ["CMakeLists.txt: base links RocksDB, unlike in layers.toml"])

    def test_another_map(self) -> None:
        self.assertEqual(self.found(told=self._MAP.replace("store | base", "store | base lock")),
                         ["ARCHITECTURE.md: kv sees base lock, in layers.toml base"])
        self.assertEqual(self.found(told="| [src/base](a.md) | words | |"),
                         ["ARCHITECTURE.md: src/kv is not in the map"])


if __name__ == "__main__":
    unittest.main()
