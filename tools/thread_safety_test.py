#!/usr/bin/python3
"""Plants violations of every kind in a source file; the step thread-safety must find them."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

from basaltcli import thread_safety

_SRC = Path(__file__).resolve().parent.parent / "src"
_CLASS = """
#include "base/mutex.h"
namespace basalt {
class Account {
 public:
  int read();
  void wait();
 private:
  int read_held() BASALT_REQUIRES(mutex_) { return money_; }
  Mutex mutex_{MutexRank::kWorker};
  ConditionVariable changed_;
  int money_ BASALT_GUARDED_BY(mutex_) = 0;
};
BODY
}
"""


class PlantedViolations(unittest.TestCase):
    """Each test compiles a class that is right but for one function."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, body: str, name: str = "account.cc") -> str:
        """What clang says of the class with that function; empty: nothing."""
        file = self.folder / name
        file.write_text(_CLASS.replace("BODY", body))
        commands = self.folder / "compile_commands.json"
        commands.write_text(json.dumps([{
            "file": str(file), "directory": str(self.folder),
            "command": f"/usr/bin/g++ -DBASALT_DEBUG -I{_SRC} -O2 -march=x86-64-v2 "
                       f"-fno-gnu-unique -Wall -Werror -std=gnu++20 -o account.o -c {file}"}]))
        units = thread_safety.units(commands, self.folder)
        return "".join(text for _, text in thread_safety.failures(units, self.folder / "scratch"))

    def test_what_is_right_passes(self) -> None:
        self.assertEqual(self.check(
            "int Account::read() { const MutexLock guard(mutex_); return read_held(); }\n"
            "void Account::wait() {\n"
            "  UniqueLock guard(mutex_);\n"
            "  changed_.wait(mutex_, [this]() BASALT_REQUIRES(mutex_) { return money_ > 0; });\n"
            "  guard.unlock();\n"
            "  guard.lock();\n"
            "  ++money_;\n"
            "}"), "")

    def test_a_member_that_is_read_without_its_mutex_is_found(self) -> None:
        self.assertIn("reading variable 'money_' requires holding mutex 'mutex_'",
                      self.check("int Account::read() { return money_; }"))

    def test_a_function_that_is_called_without_the_mutex_it_requires_is_found(self) -> None:
        self.assertIn("calling function 'read_held' requires holding mutex 'mutex_'",
                      self.check("int Account::read() { return read_held(); }"))

    def test_what_is_touched_after_the_mutex_was_given_up_is_found(self) -> None:
        self.assertIn("writing variable 'money_' requires holding mutex 'mutex_'", self.check(
            "void Account::wait() { UniqueLock guard(mutex_); guard.unlock(); ++money_; }"))

    def test_a_mutex_that_stays_taken_is_found(self) -> None:
        self.assertIn("mutex 'mutex_' is still held at the end of function",
                      self.check("void Account::wait() { mutex_.lock(); }"))

    def test_a_mutex_that_is_taken_twice_is_found(self) -> None:
        self.assertIn("acquiring mutex 'mutex_' that is already held", self.check(
            "void Account::wait() { const MutexLock a(mutex_); const MutexLock b(mutex_); }"))

    def test_an_attempt_that_nobody_looks_at_is_found(self) -> None:
        self.assertIn("writing variable 'money_' requires holding mutex 'mutex_'", self.check(
            "void Account::wait() { if (!mutex_.try_lock()) ++money_; else mutex_.unlock(); }"))

    def test_a_wait_without_the_mutex_is_found(self) -> None:
        self.assertIn("calling function 'wait' requires holding mutex 'mutex_'",
                      self.check("void Account::wait() { changed_.wait(mutex_); }"))

    def test_what_does_not_compile_does_not_pass(self) -> None:
        self.assertIn("error:", self.check("int Account::read() { return nothing; }"))

    def test_tests_are_left_alone(self) -> None:
        self.assertEqual(self.check("int Account::read() { return money_; }", "account_test.cc"),
                         "")


class CommandLines(unittest.TestCase):
    """What is taken over of a command line for GCC."""

    def test_only_what_says_how_the_file_is_read(self) -> None:
        unit = thread_safety.unit_of(
            "a.cc", "/build",
            ["g++", "-DA=1", "-I/src", "-isystem", "/rocksdb", "-O2", "-fno-gnu-unique",
             "-mpclmul", "-Wall", "-Winvalid-pch", "-include", "/build/pch.hxx", "-std=gnu++20",
             "-o", "a.o", "-c", "a.cc"])
        self.assertEqual(unit.options, ("-DA=1", "-I/src", "-isystem", "/rocksdb", "-mpclmul",
                                        "-std=gnu++20"))
        self.assertEqual(unit.prefix, "/build/pch.hxx")


if __name__ == "__main__":
    sys.exit(unittest.main())
