"""The nine tables of a set, as the program of the published studies makes them."""

from __future__ import annotations

from collections.abc import Iterator

# What is referenced comes first.
TABLES = ("warehouse", "district", "customer", "history", "orders", "new_orders", "item", "stock",
          "order_line")

_ADDRESS = ("{0}_street_1 VARCHAR(20), {0}_street_2 VARCHAR(20), {0}_city VARCHAR(20), "
            "{0}_state CHAR(2), {0}_zip CHAR(9)")
_DISTRIBUTIONS = ", ".join(f"s_dist_{number:02} CHAR(24)" for number in range(1, 11))

# Columns and indexes; what the studies' program calls tables is here without its number.
_COLUMNS = {
    "warehouse": f"""w_id SMALLINT NOT NULL, w_name VARCHAR(10), {_ADDRESS.format("w")},
        w_tax DECIMAL(4,2), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)""",
    "district": f"""d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10),
        {_ADDRESS.format("d")}, d_tax DECIMAL(4,2), d_ytd DECIMAL(12,2), d_next_o_id INT,
        PRIMARY KEY (d_w_id, d_id)""",
    "customer": f"""c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL,
        c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), {_ADDRESS.format("c")},
        c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim BIGINT,
        c_discount DECIMAL(4,2), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2),
        c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data TEXT,
        PRIMARY KEY (c_w_id, c_d_id, c_id),
        KEY idx_customer (c_w_id, c_d_id, c_last, c_first)""",
    "history": """h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT,
        h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24),
        KEY idx_history_customer (h_c_w_id, h_c_d_id, h_c_id),
        KEY idx_history_district (h_w_id, h_d_id)""",
    "orders": """o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT,
        o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT,
        PRIMARY KEY (o_w_id, o_d_id, o_id), KEY idx_orders (o_w_id, o_d_id, o_c_id, o_id)""",
    "new_orders": """no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL,
        PRIMARY KEY (no_w_id, no_d_id, no_o_id)""",
    "order_line": """ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL,
        ol_number TINYINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME,
        ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
        PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
        KEY idx_order_line (ol_supply_w_id, ol_i_id)""",
    "stock": f"""s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT,
        {_DISTRIBUTIONS}, s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT,
        s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id), KEY idx_stock (s_i_id)""",
    "item": """i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2),
        i_data VARCHAR(50), PRIMARY KEY (i_id)""",
}

# The specification's foreign keys; the indexes that they need are there in any case.
_FOREIGN_KEYS = {
    "district": ("(d_w_id) REFERENCES warehouse# (w_id)",),
    "customer": ("(c_w_id, c_d_id) REFERENCES district# (d_w_id, d_id)",),
    "history": ("(h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer# (c_w_id, c_d_id, c_id)",
                "(h_w_id, h_d_id) REFERENCES district# (d_w_id, d_id)"),
    "orders": ("(o_w_id, o_d_id, o_c_id) REFERENCES customer# (c_w_id, c_d_id, c_id)",),
    "new_orders": ("(no_w_id, no_d_id, no_o_id) REFERENCES orders# (o_w_id, o_d_id, o_id)",),
    "stock": ("(s_w_id) REFERENCES warehouse# (w_id)", "(s_i_id) REFERENCES item# (i_id)"),
    "order_line": ("(ol_w_id, ol_d_id, ol_o_id) REFERENCES orders# (o_w_id, o_d_id, o_id)",
                   "(ol_supply_w_id, ol_i_id) REFERENCES stock# (s_w_id, s_i_id)"),
}


def statements(sets: int, table_options: str, *, has_foreign_keys: bool) -> Iterator[str]:
    """One CREATE TABLE for each table; indexes are there from the start, as in the studies."""
    for number in range(1, sets + 1):
        for table in TABLES:
            keys = _FOREIGN_KEYS.get(table, ()) if has_foreign_keys else ()
            parts = [_COLUMNS[table], *(f"FOREIGN KEY {key}".replace("#", str(number))
                                        for key in keys)]
            yield f"CREATE TABLE {table}{number} ({', '.join(parts)}) {table_options}"
