#!/usr/bin/python3
"""Makes the tables of docs/settings.md from src/server/settings.def.

Usage: ./basalt python tools/settings_page.py
"""

from __future__ import annotations

from basaltcli import settings_table


def main() -> None:
    page = settings_table.PAGE.read_text()
    settings_table.PAGE.write_text(settings_table.updated_page(page, settings_table.load()))


if __name__ == "__main__":
    main()
