"""The one exception that users see."""

from __future__ import annotations


class MigrateError(Exception):
    """Something that the user can understand and act on: what happened, and what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
