"""Plants one name of each kind that does not exist; doc_names.py must report exactly that."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import doc_names

_ROOT = Path(__file__).resolve().parent.parent
_TREE = {
    "src/wal/group_sync.h": "// RetiredName is only in a comment.\nclass GroupSync {\n"
                            "  void await(); int mutex_;\n};\n",
    "src/wal/internal/ring.h": "struct Ring { int next; };\n",
    "src/wal/group_sync_test.cc": "TEST_F(GroupSyncTest, OneSyncServesAll) {}\n",
    "src/kv/database.h": "class GroupSync;\n"
                         "class Database { GroupSync* sync_; void write_wal(); };\n"
                         'const char* k = "wal.sync.before";\n',
    "src/server/sysvars.cc": "MYSQL_SYSVAR_BOOL(direct_io, g_direct_io);\n",
    "src/server/status_variables.cc": 'const char* const kNames[] = {"Rocksdb_state"};\n',
    "src/server/plugin.cc": 'const char* const kTable = "ROCKSDB_SETTINGS";\n',
    "src/server/introspect/figures.def": "BASALT_FIGURE(rows_read, rows, Counter, 1, \"\")\n",
    "tests/mtr/basalt/t/insert.test": "# rocksdb_gone is only in a comment\nSELECT 1;\n",
    "tools/run.py": '"""Speaks of old_function."""\nOPTION = "--long"\n',
    "tools/doc_names.toml": '[mariadb]\nnames = ["TABLE_SHARE"]\n',
}


class DocNamesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in _TREE.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self, text: str, name: str = "docs/a.md") -> list[str]:
        """What is reported of a page with this text, without place and reason."""
        self.write(name, f"`TABLE_SHARE`\n\n{text}\n")
        commands = doc_names.real_commands(_ROOT)
        prefix = f"{name}:3: "
        return [finding.removeprefix(prefix).rsplit(": ", 1)[0] if finding.startswith(prefix)
                else finding for finding in doc_names.findings(self.root, commands)]

    def test_what_exists(self) -> None:
        for name in ("src/wal", "src/wal/group_sync.h", "group_sync.h", "internal/ring.h",
                     "src/**/*_test.cc", "tests/mtr/<suite>/t/<case>.test", "wal/", "GroupSync",
                     "GroupSync::mutex_", "await()", "GroupSync::await()", "wal::GroupSync",
                     "~Ring", "GroupSyncTest.*", "GroupSyncTest.OneSync…", "basalt.insert",
                     "rocksdb_direct_io", "SET GLOBAL rocksdb_direct_io=ON", "Rocksdb_state",
                     "Rocksdb_*", "Rocksdb_rows_read", "ROCKSDB_SETTINGS", "wal.sync.before",
                     "--long", "wal_test",
                     "./basalt test --only format", "./basalt bench run --quick STUDY",
                     "./basalt test upstream --update parts"):
            with self.subTest(name):
                self.assertEqual([], self.found(f"`{name}`"))

    def test_what_is_no_name(self) -> None:
        for text in ("`DROP TABLE`", "`create`", "`02 80`", "`build/dev/x_test`", "`~/.cache/x`",
                     "`x=1`", "NoSuchClass", "[x](no_such_file.h)", "`database/table`", "`'a'`"):
            with self.subTest(text):
                self.assertEqual([], self.found(text))

    def test_what_does_not_exist(self) -> None:
        for name in ("src/wal/ring.h", "ring.cc", "src/old", "kv/group_sync.h", "tests/x/*.py",
                     "RetiredName", "old_function()", "GroupSync::retire", "kv::GroupSync",
                     "Database::mutex_", "OldTest.*", "GroupSyncTest.TwoSyncs",
                     "GroupSyncTest.Two…", "basalt.update", "rocksdb_gone",
                     "Rocksdb_direct_io", "ROCKSDB_TRX",
                     "wal.sync.after", "--short", "kOld", "old_member_", "kv_test"):
            with self.subTest(name):
                self.assertEqual([name], self.found(f"`{name}`"))

    def test_names_inside_longer_spans(self) -> None:
        self.assertEqual(["rocksdb_gone"], self.found("`SET GLOBAL rocksdb_gone=ON`"))
        self.assertEqual(["src/gone.cc"], self.found("`g++ src/gone.cc`"))

    def test_code_blocks(self) -> None:
        self.assertEqual([], self.found("```\nGroupSync::await  no_function()\n```"))
        self.assertIn("Old::call", self.found("```\nGroupSync::await -> Old::call\n```")[0])
        self.assertIn("./basalt tests", self.found("```\n./basalt tests\n```")[0])

    def test_commands(self) -> None:
        for words in ("tests", "test --fast", "test --only forms", "bench runs", "server --quick",
                      "test upstream --only"):
            with self.subTest(words):
                self.assertEqual([f"./basalt {words}"], self.found(f"`./basalt {words}`"))

    def test_a_case_without_its_suite_is_of_a_suite_of_the_page(self) -> None:
        self.assertEqual([], self.found("`GroupSyncTest.*`, `…OneSyncServesAll`"))
        self.assertEqual(["…OneSyncServesNone"],
                         self.found("`GroupSyncTest.*`, `…OneSyncServesNone`"))

    def test_pages_of_a_folder_name_files_of_that_folder(self) -> None:
        page = "docs/internals/kv.md"
        self.assertEqual([], self.found("`database.h`, `wal/group_sync.h`", page))
        self.assertEqual(["group_sync.h"], self.found("`group_sync.h`", page))

    def test_spans_on_two_lines(self) -> None:
        self.assertEqual(["./basalt bench runs"], self.found("`./basalt\nbench runs`"))

    def test_exemptions(self) -> None:
        self.assertEqual([], self.found("`OldName` <!-- old names: OldName -->"))
        self.assertEqual(["docs/a.md: old name OldName needs no exemption"],
                         self.found("<!-- old names: OldName -->"))
        self.write("tools/doc_names.toml", '[mariadb]\nnames = ["TABLE_SHARE", "THD"]\n')
        self.assertEqual(["tools/doc_names.toml: THD needs no exemption"], self.found(""))


if __name__ == "__main__":
    unittest.main()
