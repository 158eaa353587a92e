"""python3 -m basalt_migrate"""

from __future__ import annotations

import sys

from basalt_migrate.cli import main

if __name__ == "__main__":
    sys.exit(main())
