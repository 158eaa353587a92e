"""Templates: what their names depend on, that only whole ones are used, and their copies."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import sys
import types
from pathlib import Path

import pytest

from basaltcli.errors import BasaltError
from basaltcli.layout import PLUGIN_NAME
from lab import setup as lab_setup
from lab import template as templates
from lab.fidelity import MEASURING, TESTING
from lab.setup import BASALT, INNODB, MYROCKS
from lab.template import Template, Templates, restore

_NO_ROOM_NEEDED = dataclasses.replace(MEASURING, free_bytes=0)

_SOURCE = '''
class Imagined:
    """A workload of two numbers."""
    name = "imagined"
    problems = []

    def __init__(self, rows=5, seed=1):
        self.parameters = {"rows": rows, "seed": seed}

    def identity(self):
        return self.parameters

    def prepare(self, target):
        target.prepare()

    def check(self, target):
        return self.problems
'''


@pytest.fixture
def sources(tmp_path) -> Path:
    """The folder of an imagined workload, with the shared Lua beside it."""
    folder = tmp_path / "workloads" / "imagined"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(_SOURCE)
    (folder / "load.lua").write_text("-- a load")
    (tmp_path / "workloads" / "lua").mkdir()
    (tmp_path / "workloads" / "lua" / "random.lua").write_text("-- numbers")
    return folder


def workload(folder: Path, **parameters: int):
    spec = importlib.util.spec_from_file_location("imagined_workload", folder / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["imagined_workload"] = module
    spec.loader.exec_module(module)
    return module.Imagined(**parameters)


@pytest.fixture
def release(tmp_path, monkeypatch) -> types.SimpleNamespace:
    """A release whose plugins are a few bytes."""
    for name in ("stock", "ours"):
        (tmp_path / name).mkdir()
        (tmp_path / name / PLUGIN_NAME).write_text(name)
    monkeypatch.setenv("BASALT_PLUGIN_DIR", str(tmp_path / "ours"))
    return types.SimpleNamespace(version="10.11.1", plugins=tmp_path,
                                 stock_engine=tmp_path / "stock" / PLUGIN_NAME)


@pytest.fixture
def store(tmp_path, release) -> Templates:
    return Templates(tmp_path / "templates", release, _NO_ROOM_NEEDED)


def test_a_name_says_whose_template_it_is(store, sources):
    names = [store._name(setup, workload(sources)) for setup in (INNODB, MYROCKS, BASALT)]
    assert [name.rpartition("-")[0] for name in names] == [
        "imagined-innodb", "imagined-myrocks", "imagined-basalt"]


def test_the_name_is_the_same_every_time(store, sources):
    assert store._name(BASALT, workload(sources)) == store._name(BASALT, workload(sources))


@pytest.mark.parametrize("change", [
    {"table_options": "ROW_FORMAT=COMPRESSED"},
    {"data_options": ("--rocksdb-default-cf-options=compression=kNoCompression",)}])
def test_what_shapes_the_stored_data_changes_the_name(store, sources, change):
    other = MYROCKS.variant("other", "other", **change)
    assert store._name(other, workload(sources)) != store._name(MYROCKS, workload(sources))


def test_what_holds_only_while_measuring_does_not_change_the_name(store, sources):
    other = MYROCKS.variant("other", "another title", options=("--rocksdb-x=1",), is_tuned=False)
    assert store._name(other, workload(sources)) == store._name(MYROCKS, workload(sources))


@pytest.mark.parametrize("parameters", [{"rows": 6}, {"seed": 2}])
def test_parameters_of_the_workload_change_the_name(store, sources, parameters):
    assert store._name(INNODB, workload(sources, **parameters)) != \
        store._name(INNODB, workload(sources))


@pytest.mark.parametrize("file", ["__init__.py", "load.lua", "new.py", "part/more.lua",
                                  "../lua/random.lua", "../shared.py"])
def test_sources_of_the_workload_change_the_name(store, sources, file):
    before = store._name(INNODB, workload(sources))
    path = sources / file
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n")
    assert store._name(INNODB, workload(sources)) != before


def test_files_that_are_no_sources_do_not_change_the_name(store, sources):
    before = store._name(INNODB, workload(sources))
    (sources / "__pycache__").mkdir(exist_ok=True)
    (sources / "__pycache__" / "x.pyc").write_text("x")
    (sources / "README.md").write_text("x")
    (sources.parent / "other").mkdir()
    (sources.parent / "other" / "__init__.py").write_text("x")
    assert store._name(INNODB, workload(sources)) == before


def test_another_release_of_the_server_changes_the_name(store, sources):
    before = store._name(INNODB, workload(sources))
    store.release.version = "10.11.2"
    assert store._name(INNODB, workload(sources)) != before


@pytest.mark.parametrize(("setup", "plugin"), [(MYROCKS, "stock"), (BASALT, "ours")])
def test_another_plugin_changes_only_the_names_of_its_own_engine(store, sources, tmp_path, setup,
                                                                 plugin):
    before = {each.name: store._name(each, workload(sources))
              for each in (INNODB, MYROCKS, BASALT)}
    (tmp_path / plugin / PLUGIN_NAME).write_text("rebuilt")
    changed = {each.name for each in (INNODB, MYROCKS, BASALT)
               if store._name(each, workload(sources)) != before[each.name]}
    assert changed == {setup.name}


def test_the_options_that_a_template_is_loaded_with_change_its_name(store, sources, monkeypatch):
    """Tuned settings hold while loading: another compression there is other data."""
    before = {each.name: store._name(each, workload(sources)) for each in (INNODB, MYROCKS)}
    monkeypatch.setattr(lab_setup, "_tuned_myrocks", lambda limits: ["--rocksdb-other=1"])
    assert store._name(MYROCKS, workload(sources)) != before["myrocks"]
    assert store._name(INNODB, workload(sources)) == before["innodb"]


def test_a_test_does_not_take_a_template_that_is_measured_on_for_its_own(store, sources, release):
    of_tests = Templates(store.directory, release, TESTING)
    assert of_tests._name(INNODB, workload(sources)) != store._name(INNODB, workload(sources))


def test_in_a_test_innodb_does_not_fill_the_disk_with_a_redo_log():
    names = [option for option in TESTING.options if option.startswith("--innodb-log-file-size=")]
    assert names == ["--innodb-log-file-size=32M"]


class ImaginedServer:
    """A server that "loads" by writing a file; `fail` makes loading fail."""

    fail: Exception | None = None
    loads = 0

    def __init__(self, release, setup, datadir: Path, options) -> None:
        self.setup = setup
        self.datadir = datadir
        self.statements: list[str] = []
        type(self).last = self

    @contextlib.contextmanager
    def running(self):
        self.datadir.mkdir()
        yield self
        (self.datadir / "stopped").touch()

    def prepare(self) -> None:
        type(self).loads += 1
        (self.datadir / "ibdata1").write_bytes(b"x" * 100_000)
        if self.fail is not None:
            raise self.fail

    def tables(self) -> list[str]:
        return ["a", "b"]

    def query(self, sql: str) -> list[tuple]:
        self.statements.append(sql)
        return []


@pytest.fixture
def servers(monkeypatch) -> type[ImaginedServer]:
    monkeypatch.setattr(templates, "MeasuredServer", ImaginedServer)
    monkeypatch.setattr(templates, "drain", lambda server, written, **settings: 0)
    monkeypatch.setattr(ImaginedServer, "loads", 0)
    return ImaginedServer


def test_a_template_is_made_once_and_then_used_again(store, sources, servers):
    assert not store.has(INNODB, workload(sources))
    first = store.get(INNODB, workload(sources))
    assert store.has(INNODB, workload(sources))
    assert store.get(INNODB, workload(sources)) == first
    assert servers.loads == 1
    assert first.data_bytes >= 100_000 and (first.data / "stopped").exists()
    assert servers.last.statements == ["ANALYZE TABLE `a`, `b`"]


@pytest.mark.parametrize("setup", [MYROCKS, BASALT])
def test_an_lsm_tree_is_compacted_before_it_is_kept(store, sources, servers, setup):
    store.get(setup, workload(sources))
    assert servers.last.statements == ["OPTIMIZE TABLE `a`, `b`", "ANALYZE TABLE `a`, `b`"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BasaltError("no room")])
def test_an_interrupted_making_leaves_no_template(store, sources, servers, monkeypatch, error):
    monkeypatch.setattr(servers, "fail", error)
    with pytest.raises(type(error)):
        store.get(INNODB, workload(sources))
    assert not store.has(INNODB, workload(sources))
    monkeypatch.setattr(servers, "fail", None)
    (store.directory / store._name(INNODB, workload(sources)) / "data" / "rest").touch()
    again = store.get(INNODB, workload(sources))
    assert servers.loads == 2
    assert not (again.data / "rest").exists()


def test_without_room_on_the_disk_no_template_is_begun(release, sources, servers, tmp_path):
    store = Templates(tmp_path / "templates", release,
                      dataclasses.replace(MEASURING, free_bytes=1 << 60))
    with pytest.raises(BasaltError, match="a template needs 1073741824 GB of free disk space"):
        store.get(INNODB, workload(sources))
    assert servers.loads == 0 and not store.directory.exists()


def test_wrong_data_never_become_a_template(store, sources, servers):
    wrong = workload(sources)
    wrong.problems = ["a row is missing"]
    with pytest.raises(BasaltError, match="a row is missing"):
        store.get(INNODB, wrong)
    assert not store.has(INNODB, wrong)


def test_a_template_that_was_not_described_to_its_end_is_made_again(store, sources, servers,
                                                                    monkeypatch):
    def interrupted(path: Path, text: str) -> None:
        path.write_bytes(text.encode()[:5])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.get(INNODB, workload(sources))
    assert not store.has(INNODB, workload(sources))


@pytest.fixture
def template(tmp_path) -> Template:
    data = tmp_path / "template" / "data"
    (data / "bench").mkdir(parents=True)
    (data / "bench" / "t.ibd").write_bytes(os.urandom(70_000))
    with (data / "undo001").open("wb") as file:
        file.write(b"begin")
        file.truncate(4 << 20)
    (data / "mode").touch(mode=0o640)
    (data / "link").symlink_to("mode")
    return Template(tmp_path / "template", 1.0, 1, 1)


def contents(directory: Path) -> dict[str, object]:
    return {str(path.relative_to(directory)): (
        os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
        path.lstat().st_mode, path.lstat().st_mtime_ns if not path.is_dir() else 0)
        for path in directory.rglob("*")}


def test_a_copy_has_the_same_bytes_and_modes(template, tmp_path):
    restore(template, tmp_path / "data")
    assert contents(tmp_path / "data") == contents(template.data)


def test_a_copy_has_no_holes_and_shares_nothing(template, tmp_path):
    holes = (template.data / "undo001").stat()
    assert holes.st_blocks * 512 < holes.st_size
    restore(template, tmp_path / "data")
    copy = (tmp_path / "data" / "undo001").stat()
    assert copy.st_blocks * 512 >= copy.st_size
    assert copy.st_ino != holes.st_ino and copy.st_nlink == 1


def test_a_copy_for_a_test_keeps_its_holes(template, tmp_path):
    restore(template, tmp_path / "data", keeps_holes=True)
    copy = (tmp_path / "data" / "undo001").stat()
    assert copy.st_blocks * 512 < copy.st_size
    assert contents(tmp_path / "data") == contents(template.data)


def test_nothing_of_the_trial_before_is_left(template, tmp_path):
    restore(template, tmp_path / "data")
    (tmp_path / "data" / "bench" / "t.ibd").write_bytes(b"changed")
    (tmp_path / "data" / "binlog.000001").write_bytes(b"new")
    restore(template, tmp_path / "data")
    assert contents(tmp_path / "data") == contents(template.data)


def test_a_directory_that_cannot_be_removed_is_an_error(template, tmp_path, monkeypatch):
    """Otherwise the copy would land inside of it."""
    restore(template, tmp_path / "data")
    monkeypatch.setattr(templates.shutil, "rmtree", lambda path, ignore_errors=False: None)
    with pytest.raises(BasaltError, match="cannot be removed"):
        restore(template, tmp_path / "data")


def test_a_template_that_is_not_there_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(BasaltError) as error:
        restore(Template(tmp_path / "none", 1.0, 1, 1), tmp_path / "data")
    assert "none" in error.value.message and error.value.remedy
