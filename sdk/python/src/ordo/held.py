"""What a worker has in hand.

Invariant: an attempt is held until its report was answered, or until its handler has ended if it is no longer ours. Of
one run only the newest attempt is ours.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ordo.context import CancelReason, Context
from ordo.outgoing import Key


class Execution:
    """One attempt that was begun."""

    def __init__(self, ctx: Context, generation: str) -> None:
        self.ctx = ctx
        self.key: Key = (ctx.run_id, ctx.fence)
        self.generation = generation
        #: No longer ours: its report would be refused.
        self.lost = False
        #: Its handler has ended.
        self.ended = False
        #: Wakes an asynchronous handler.
        self.interrupt: Callable[[], None] | None = None

    def cancel(self, reason: CancelReason) -> None:
        if self.ctx._cancel(reason) and self.interrupt is not None:
            self.interrupt()


class Held:
    def __init__(self, capacity: int, idle: Callable[[], None]) -> None:
        self._capacity = capacity
        self._idle = idle
        self._runs: dict[Key, Execution] = {}
        self._changed = threading.Condition()

    def begin(self, execution: Execution) -> None:
        with self._changed:
            older = [one for one in self._runs.values() if one.ctx.run_id == execution.ctx.run_id]
            self._runs[execution.key] = execution
        for one in older:
            self._lose(one)

    def ended(self, execution: Execution) -> bool:
        """The handler has ended; returns whether its report is wanted: not of one that is lost or was reported."""
        with self._changed:
            wanted = not execution.lost and not execution.ended
            execution.ended = True
        if execution.lost:
            self.forget(execution.key)
        return wanted

    def forget(self, key: Key) -> None:
        with self._changed:
            self._runs.pop(key, None)
            empty = not self._runs
            self._changed.notify_all()
        if empty:
            self._idle()

    def wire(self, generation: str) -> list[dict[str, Any]]:
        """What is named in a heartbeat."""
        with self._changed:
            ours = [one for one in self._runs.values() if not one.lost and one.generation == generation]
            return [{"run_id": one.key[0], "token": one.key[1]} for one in ours]

    def all(self) -> list[Execution]:
        with self._changed:
            return list(self._runs.values())

    def cancel(self, run_id: str) -> None:
        for one in self.all():
            if one.ctx.run_id == run_id and not one.lost:
                one.cancel("cancelled")

    def lose(self, run_id: str, before: set[Key]) -> None:
        """The server says that what was named before is not ours."""
        for one in self.all():
            if one.ctx.run_id == run_id and one.key in before:
                self._lose(one)

    def lose_all(self, generation: str) -> None:
        for one in self.all():
            if one.generation == generation:
                self._lose(one)

    def free(self) -> int:
        """How many more it can take."""
        with self._changed:
            return max(self._capacity - len(self._runs), 0)

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _lose(self, execution: Execution) -> None:
        with self._changed:
            # The report is on its way: the server answers it, and nobody is left to tell.
            if execution.ended or execution.lost:
                return
            execution.lost = True
        execution.cancel("lost")
