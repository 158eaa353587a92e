"""The servers that the other tests stand on."""

from __future__ import annotations


def test_each_engine_answers_in_its_own_server(target):
    assert target.query("SELECT DATABASE()") == [("bench",)]
    target.query(f"CREATE TABLE t (a INT PRIMARY KEY) {target.table_options}")
    assert target.query("SHOW TABLE STATUS LIKE 't'")[0][1].lower() == target.engine_name.lower()


def test_stock_myrocks_and_basalt_are_different_plugins(server_of):
    query = "SELECT PLUGIN_AUTHOR FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'ROCKSDB'"
    innodb, myrocks, basalt = (server_of(engine).query(query)
                               for engine in ("innodb", "myrocks", "basalt"))
    assert not innodb
    assert myrocks and basalt and myrocks != basalt
