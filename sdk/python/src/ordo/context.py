"""What a handler knows about its run, and how it hears that it should stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from ordo.errors import Cancelled
from ordo.model import HookPayload, Shard, payload_of, shard_of
from ordo.wire import duration_ms, time_of

#: `cancelled`: somebody cancelled the run. `lost`: the run is no longer this worker's, somebody else may have it.
#: `timeout`: it took too long. `shutdown`: the worker stops and its grace is over.
CancelReason = Literal["cancelled", "lost", "timeout", "shutdown"]


class Context:
    """One attempt of a run, in the hands of its handler.

    `fence` grows with every attempt of a job: whatever the work writes to can refuse an older one.
    """

    def __init__(self, assignment: Mapping[str, Any], log: Callable[[str, str], None]) -> None:
        self.run_id: str = assignment["run_id"]
        self.job_id: str = assignment["job_id"]
        self.label: str = assignment["label"]
        self.attempt: int = assignment["attempt"]
        self.fence: int = assignment["token"]
        self.tool_name: str = assignment["tool_name"]
        self.input: Any = assignment["tool_input"]
        self.timeout: timedelta = timedelta(milliseconds=duration_ms(assignment["timeout"]))
        scheduled = assignment.get("scheduled_for")
        self.scheduled_for: datetime | None = None if scheduled is None else time_of(scheduled)
        self.shard: Shard | None = shard_of(assignment.get("shard"))
        self.payload: HookPayload | None = payload_of(assignment.get("payload"))
        self.traceparent: str | None = assignment.get("traceparent")
        self._log = log
        self._cancelled = threading.Event()
        self._reason: CancelReason | None = None

    @property
    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._cancelled.is_set()

    @property
    def cancel_reason(self) -> CancelReason | None:
        """Why to stop."""
        return self._reason

    def raise_if_cancelled(self) -> None:
        """Raises Cancelled if the handler should stop; call it between two steps of the work."""
        if self._cancelled.is_set():
            raise Cancelled(self._reason)

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Waits until the handler should stop, at most `timeout` seconds; returns whether it should."""
        return self._cancelled.wait(timeout)

    def sleep(self, seconds: float) -> None:
        """Sleeps; raises Cancelled as soon as the handler should stop."""
        if self._cancelled.wait(seconds):
            raise Cancelled(self._reason)

    def log(self, text: object, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Lines for the run's log; they are sent while it runs."""
        self._log(str(text), stream)

    def _cancel(self, reason: CancelReason) -> bool:
        """Tells the handler to stop; the first reason stands. Returns whether this was the first."""
        if self._cancelled.is_set():
            return False
        self._reason = reason
        self._cancelled.set()
        return True
