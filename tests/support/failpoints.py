"""The failpoints that the source names: BASALT_FAILPOINT in src/."""

from __future__ import annotations

import re

from basaltcli import layout

_POINT = re.compile(r'BASALT_FAILPOINT\("([^"]+)"\)')


def source_points() -> list[str]:
    """Names of the failpoints in the source."""
    names = {name for path in (layout.ROOT / "src").rglob("*.cc")
             for name in _POINT.findall(path.read_text())}
    return sorted(names)
