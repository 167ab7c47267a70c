"""What can go wrong between a program and its server, and what a handler raises to say how its run ends."""

from __future__ import annotations

from datetime import timedelta

from ordo.model import FieldError


class OrdoError(Exception):
    """Every error of this package."""


class Unreachable(OrdoError):
    """The server did not answer: no connection, a connection cut off, or no answer in time."""


class ProtocolError(OrdoError):
    """The answer is not one of Ordo's: a proxy's page, a redirect, another program on the port."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Problem(OrdoError):
    """The server refused: `code` is stable, branch on it; `detail` is for people."""

    def __init__(self, status: int, code: str, title: str, detail: str, errors: tuple[FieldError, ...] = ()) -> None:
        fields = "".join(f"; {one.field}: {one.message}" for one in errors)
        super().__init__(f"{detail} ({status} {code}{fields})")
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.errors = errors


class Cancelled(Exception):
    """The run was told to stop; `Context.raise_if_cancelled` raises it, and a handler lets it through."""


class GiveBack(Exception):
    """Raised by a handler that did not begin the work: anybody may have the run after the delay. It costs no attempt."""

    def __init__(self, delay: timedelta | float = 0.0, reason: str | None = None) -> None:
        super().__init__(reason or "given back")
        self.delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
        self.reason = reason


def is_passing(error: OrdoError) -> bool:
    """Whether trying again may help."""
    if isinstance(error, Problem):
        # Somebody has to make room first.
        if error.code == "too_many_executors":
            return False
        return error.status >= 500 or error.status in (408, 409, 429)
    return isinstance(error, (Unreachable, ProtocolError))


def is_forgotten(error: OrdoError) -> bool:
    """Whether the server does not know the executor any more."""
    return isinstance(error, Problem) and error.code == "executor_not_found"
