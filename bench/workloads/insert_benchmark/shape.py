"""The two published shapes of the insert benchmark's table, and the SQL that makes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Self

REGISTERS = "cashregisters"
# Of which purchases have one each, from 0 on.
_REGISTER_COUNT = 1000
_PDC = ("price", "dateandtime", "customerid")


@dataclasses.dataclass(frozen=True)
class Shape:
    """Columns and secondary indexes.

    `price_type` is what the prices are in SQL, `price` an expression that makes whole numbers of
    them, `price_is_right` the condition that every inserted row fulfils.
    """

    name: str
    price_type: str
    price: str
    price_is_right: str
    indexes: Mapping[str, tuple[str, ...]]

    @classmethod
    def named(cls, name: str) -> Self:
        """The shape of 2017 or the current one."""
        for shape in (SHAPE_2017, SHAPE_CURRENT):
            if shape.name == name:
                return shape
        raise ValueError(f"the insert benchmark has the shapes 2017 and current, not {name}")

    def create_table(self, number: int, options: str, *, is_indexed: bool,
                     has_registers: bool = False) -> str:
        """CREATE TABLE, with or without the secondary indexes, and a foreign key to the registers.
        """
        indexes = [f"KEY {name} ({', '.join(columns)})" for name, columns in self.indexes.items()]
        parts = ["transactionid BIGINT NOT NULL AUTO_INCREMENT", "dateandtime DATETIME",
                 "cashregisterid INT NOT NULL", "customerid INT NOT NULL",
                 "productid INT NOT NULL", f"price {self.price_type} NOT NULL",
                 "data VARCHAR(4000)", "PRIMARY KEY (transactionid)",
                 *(indexes if is_indexed else []),
                 *([f"FOREIGN KEY (cashregisterid) REFERENCES {REGISTERS} (cashregisterid)"]
                   if has_registers else [])]
        return f"CREATE TABLE {table_name(number)} ({', '.join(parts)}) {options}"

    def add_indexes(self, number: int, engine_name: str) -> list[str]:
        """The ALTERs that add the secondary indexes: one for InnoDB, three for RocksDB."""
        adds = [f"ADD INDEX {name} ({', '.join(columns)})"
                for name, columns in self.indexes.items()]
        table = table_name(number)
        if engine_name.lower() == "innodb":
            return [f"ALTER TABLE {table} {', '.join(adds)}"]
        return [f"ALTER TABLE {table} {add}" for add in adds]

    def client_options(self) -> dict[str, str]:
        """What the querying client must know of the indexes."""
        return {"shape": self.name,
                **{name: ",".join(columns) for name, columns in self.indexes.items()}}


SHAPE_2017 = Shape(
    "2017", "FLOAT", "CAST(ROUND(price * 100) AS SIGNED)",
    "ROUND(price * 100) - customerid BETWEEN 0 AND 499",
    {"marketsegment": ("price", "customerid"),
     "registersegment": ("cashregisterid", "price", "customerid"), "pdc": _PDC})
SHAPE_CURRENT = Shape(
    "current", "INT", "price", "price BETWEEN 0 AND 499",
    {"marketsegment": ("productid", "customerid", "price"),
     "registersegment": ("cashregisterid", "customerid", "price"), "pdc": _PDC})


def table_name(number: int) -> str:
    """Tables are numbered from 1 on."""
    return f"purchases{number}"


def create_registers(options: str) -> list[str]:
    """The table that purchases may reference, with all of its rows."""
    rows = ", ".join(f"({number})" for number in range(_REGISTER_COUNT))
    return [f"CREATE TABLE {REGISTERS} (cashregisterid INT NOT NULL PRIMARY KEY) {options}",
            f"INSERT INTO {REGISTERS} VALUES {rows}"]
