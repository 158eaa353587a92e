"""Options of measured servers: how they follow from limits and durability."""

from __future__ import annotations

import pytest

from lab.setup import (
    BASALT, D1, D2, D3, GIB, INNODB, MIB, MYROCKS, SETUPS, Durability, Limits, loading_options,
    server_options)
from lab.throttle import IoLimits


def values(options: list[str]) -> dict[str, str]:
    """The options by name; the last one of a name wins, as in mariadbd."""
    return {name: value for name, _, value in (option.partition("=") for option in options)}


def of(setup, limits: Limits = Limits(512 * MIB), durability: Durability = D1) -> dict[str, str]:
    return values(server_options(setup, limits, durability))


@pytest.mark.parametrize(("memory", "pool"), [
    (384, "234M"), (448, "298M"), (512, "362M"), (600, "450M"), (1024, "768M"), (3072, "2304M")])
def test_innodbs_pool_is_three_quarters_but_leaves_room_for_the_server(memory, pool):
    assert of(INNODB, Limits(memory * MIB))["--innodb-buffer-pool-size"] == pool


@pytest.mark.parametrize(("memory", "cache"), [(384, "48M"), (512, "64M"), (3072, "384M")])
def test_myrocks_has_an_eighth_as_its_cache_and_the_rest_for_the_page_cache(memory, cache):
    assert of(MYROCKS, Limits(memory * MIB))["--rocksdb-block-cache-size"] == cache


def test_without_a_limit_caches_hold_the_data():
    assert of(INNODB, Limits())["--innodb-buffer-pool-size"] == "2048M"
    assert of(MYROCKS, Limits())["--rocksdb-block-cache-size"] == "1024M"


@pytest.mark.parametrize(("iops", "capacity", "highest"), [
    (None, "10000", "20000"), (1700, "850", "1700"), (300, "150", "300"), (42, "100", "100")])
def test_innodb_is_told_what_the_disk_can_do_and_never_less_than_it_accepts(iops, capacity,
                                                                            highest):
    options = of(INNODB, Limits(512 * MIB, IoLimits(iops, iops)))
    assert options["--innodb-io-capacity"] == capacity
    assert options["--innodb-io-capacity-max"] == highest


def test_the_binary_log_and_the_log_are_synced_as_the_class_says():
    for setup, prefix in ((INNODB, "innodb"), (MYROCKS, "rocksdb"), (BASALT, "rocksdb")):
        for durability, binlog, log in ((D1, "1", "1"), (D2, "1000", "1"), (D3, "0", "2")):
            options = of(setup, durability=durability)
            assert options["--sync-binlog"] == binlog
            assert options[f"--{prefix}-flush-log-at-trx-commit"] == log
            assert "--log-bin" in options and options["--binlog-format"] == "ROW"


def test_without_a_binary_log_nothing_is_said_of_it():
    options = of(BASALT, durability=Durability("none", 0, 1, has_binlog=False))
    assert not [name for name in options if "binlog" in name or "log-bin" in name]


def test_the_common_options_are_the_same_for_every_engine():
    engines = [set(server_options(setup, Limits(), D1)) for setup in SETUPS]
    common = set.intersection(*engines)
    assert {"--character-set-server=latin1", "--collation-server=latin1_bin",
            "--transaction-isolation=READ-COMMITTED", "--performance-schema=OFF",
            "--binlog-format=ROW", "--sync-binlog=1", "--max-binlog-size=1G"} <= common


def test_no_engine_gets_options_of_another():
    assert not [name for name in of(INNODB) if name.startswith("--rocksdb")]
    for setup in (MYROCKS, BASALT):
        innodb = {name for name in of(setup) if name.startswith("--innodb")}
        assert innodb == {"--innodb-buffer-pool-size", "--innodb-log-file-size",
                          "--innodb-doublewrite"}


def test_basalt_is_not_tuned():
    assert [name for name in of(BASALT) if name.startswith("--rocksdb")] == [
        "--rocksdb-flush-log-at-trx-commit"]
    assert of(BASALT, Limits(384 * MIB)) == of(BASALT, Limits(3 * GIB))


@pytest.mark.parametrize("setup", [INNODB, MYROCKS], ids=["innodb", "myrocks"])
def test_a_setup_that_is_not_tuned_does_not_depend_on_limits(setup):
    untuned = setup.variant("x", "x", is_tuned=False)
    tight = Limits(384 * MIB, IoLimits(300, 300))
    assert of(untuned, tight) == of(untuned, Limits())
    assert set(of(setup, tight)) > set(of(untuned, tight))


def test_a_setups_own_options_win():
    setup = MYROCKS.variant("x", "x", data_options=("--rocksdb-max-background-jobs=7",),
                            options=("--rocksdb-block-cache-size=1G",))
    options = of(setup)
    assert options["--rocksdb-max-background-jobs"] == "7"
    assert options["--rocksdb-block-cache-size"] == "1G"


def test_loading_keeps_what_shapes_the_data_and_syncs_nothing():
    setup = MYROCKS.variant("x", "x", data_options=("--rocksdb-max-background-jobs=7",),
                            options=("--rocksdb-block-cache-size=1G",), is_tuned=False)
    options = values(loading_options(setup))
    assert options["--rocksdb-max-background-jobs"] == "7"
    assert options["--rocksdb-block-cache-size"] == "384M"
    assert options["--rocksdb-flush-log-at-trx-commit"] == "2"
    assert "--log-bin" not in options
    assert values(loading_options(INNODB))["--innodb-flush-log-at-trx-commit"] == "0"


def test_a_variant_differs_only_in_what_it_names():
    variant = INNODB.variant("x", "y", options=("--a=1",))
    assert (variant.name, variant.title, variant.options) == ("x", "y", ("--a=1",))
    assert variant.variant("innodb", "InnoDB", options=()) == INNODB


@pytest.mark.parametrize("memory, buffer", [(384 * MIB, 12), (1 * GIB, 32), (4 * GIB, 32),
                                            (None, 32)])
def test_myrocks_buffers_are_no_larger_than_a_small_limit_bears(memory, buffer):
    options = server_options(MYROCKS, Limits(memory), D1)
    assert any(f"write_buffer_size={buffer}m;" in option for option in options)
