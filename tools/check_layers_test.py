#!/usr/bin/python3
"""Plants violations of every kind in a copy of the source tree; check_layers.py must find them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from check_layers import Rules, differences

_TOOLS = Path(__file__).resolve().parent
_SRC = _TOOLS.parent / "src"


class PlantedViolations(unittest.TestCase):
    """Each test adds files to a small, clean tree that obeys the project's own layers.toml."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.src = Path(folder.name) / "src"
        self.rules = _TOOLS / "layers.toml"
        self.plant("base/status.h", "#include <string>")
        self.plant("kv/database.h", '#include "base/status.h"')
        self.plant("kv/iterator.h", "#include <rocksdb/iterator.h>")
        self.plant("kv/internal/cache.h", "#include <rocksdb/cache.h>")
        self.plant("server/mariadb.h", "#include <my_global.h>\n#include <sql_class.h>")
        self.plant("engine/engine.h", '#include "kv/database.h"')
        self.plant("server/plugin.cc", '#include "engine/engine.h"\n#include "server/mariadb.h"')

    def plant(self, name: str, text: str) -> None:
        path = self.src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def check(self) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, _TOOLS / "check_layers.py", self.src, self.rules],
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
                          "block_cache, wal, index_stats, bulk, kv, txn")

    def test_mariadb_outside_its_file(self) -> None:
        self.plant("codec/bad.cc", "  #  include <my_global.h>")
        self.plant("server/bad.cc", '#include "handler.h"')
        self.assert_found("codec/bad.cc: my_global.h belongs behind server/mariadb.h",
                          "server/bad.cc: handler.h belongs behind server/mariadb.h")

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
        self.rules = self.src / "cycle.toml"
        self.plant("cycle.toml", '[allow]\na = ["b"]\nb = ["a"]')
        for name in ("base", "kv", "server", "engine"):
            shutil.rmtree(self.src / name)
        self.assert_found("layers.toml: the folders a, b form a cycle")

    def test_violation_in_a_copy_of_the_real_tree(self) -> None:
        shutil.rmtree(self.src)
        shutil.copytree(_SRC, self.src)
        _, before = self.check()
        self.plant("base/planted.h", "#include <rocksdb/slice.h>")
        code, after = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(set(after) - set(before),
                         {"base/planted.h: rocksdb/slice.h belongs behind rdb, memtable, "
                          "block_cache, wal, index_stats, bulk, kv, txn"})


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
