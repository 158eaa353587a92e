"""The page of a run: one HTML file that needs no network and no script."""

from lab.report.page import write_report

__all__ = ["write_report"]
