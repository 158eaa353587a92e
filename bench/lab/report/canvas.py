"""Panels to draw on, and what becomes of them: pictures inside the page, as data URIs.

A panel is as wide as a phone, so that its letters stay readable there; wide screens put panels side
by side.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import re
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from PIL import Image

from lab.metrics import NARROW_SPACE

_DOTS_PER_INCH = 96  # of CSS
_INK, _FAINT = "#33383d", "#e3e6e8"
_STYLE = {
    "font.family": "DejaVu Sans", "font.size": 8.25, "svg.hashsalt": "basalt",
    "svg.fonttype": "path", "axes.edgecolor": "#8b9298", "axes.labelcolor": _INK,
    "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "grid.color": _FAINT, "grid.linewidth": 0.8, "xtick.color": _INK,
    "ytick.color": _INK, "xtick.major.size": 3, "ytick.major.size": 0, "lines.linewidth": 1.6,
    "lines.markersize": 5.5, "legend.frameon": False, "figure.facecolor": "white",
    "path.simplify": True,
}
# A PNG of dots has few colours; a palette makes it a third as large.
_PALETTE = 64


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture as an <img> needs it; `width` and `height` are CSS pixels."""

    uri: str
    alt: str
    width: int
    height: int


@contextmanager
def panel(width: int = 440, height: int = 280) -> Iterator[Axes]:
    """Axes on a sheet of so many CSS pixels, in the page's style."""
    with matplotlib.rc_context(_STYLE):
        sheet = Figure(figsize=(width / _DOTS_PER_INCH, height / _DOTS_PER_INCH),
                       dpi=_DOTS_PER_INCH, layout="constrained")
        axes = sheet.add_subplot()
        axes.grid(axis="y")
        yield axes


def as_svg(axes: Axes, alt: str) -> Picture:
    """For lines and bars."""
    out = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        axes.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", "",
                  out.getvalue(), flags=re.DOTALL)
    # Hundredths are enough for places, but not for the factors by which letters are scaled.
    text = re.sub(r"([1-9]\d*\.\d\d)\d+", r"\1", re.sub(r"\s+", " ", text)).replace('"', "'")
    uri = "data:image/svg+xml," + urllib.parse.quote(text, safe=" =:/;,.()!?'*+-_~@|")
    return Picture(uri, alt, *_size(axes))


def as_png(axes: Axes, alt: str) -> Picture:
    """For thousands of dots; twice the resolution of its size on the page."""
    out = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        axes.figure.savefig(out, format="png", dpi=2 * _DOTS_PER_INCH)
    small = io.BytesIO()
    Image.open(out).convert("RGB").quantize(_PALETTE).save(small, format="png", optimize=True)
    uri = "data:image/png;base64," + base64.b64encode(small.getvalue()).decode()
    return Picture(uri, alt, *_size(axes))


def label(axes: Axes, x_label: str, y_label: str) -> None:
    """Names both axes; the upright one above its end, where it can be read without turning."""
    axes.set_xlabel(x_label, loc="right")
    axes.set_title(y_label, loc="left", fontsize=8.25, color=_INK, pad=7)


def ticks(axes: Axes, x: bool = True, y: bool = True) -> None:
    """Writes numbers out, with thousands apart, instead of powers and offsets."""
    def shown(value: float, _: int) -> str:
        return f"{value:,.6g}".replace(",", NARROW_SPACE)
    for axis in [axes.xaxis] * x + [axes.yaxis] * y:
        axis.set_major_formatter(FuncFormatter(shown))
        if axis.get_scale() == "log":
            axis.set_minor_formatter(lambda *_: "")


def no_ticks() -> NullLocator:
    """For an axis whose ticks are all given."""
    return NullLocator()


def common_top(tops: Sequence[float]) -> float | None:
    """A height for all panels of a chart, or None if it would flatten some of them."""
    tops = [top for top in tops if top > 0]
    return 1.05 * max(tops) if tops and max(tops) < 8 * min(tops) else None


def _size(axes: Axes) -> tuple[int, int]:
    width, height = axes.figure.get_size_inches()
    return round(width * _DOTS_PER_INCH), round(height * _DOTS_PER_INCH)
