"""The one exception that users see."""

from __future__ import annotations


class BasaltError(Exception):
    """Something went wrong that the user can understand and act on.

    `message` says what happened, `remedy` what to do about it; both are printed without a
    traceback. Anything else that is raised is a defect of this tool.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
