"""From one registration until the worker leaves or the server forgets it: polls and lets itself be heard.

Invariant: nothing is decided here. What happens goes into the inbox of the worker.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ordo.backoff import Backoff
from ordo.errors import OrdoError, ProtocolError, is_forgotten, is_passing
from ordo.held import Execution, Held
from ordo.transport import Transport

#: How long a poll waits for work, and how much longer its answer.
_POLL_WAIT_MS = 20_000
_POLL_SLACK = 15.0
_POLL_MAX = 1_000


@dataclass(frozen=True)
class Stop:
    """Somebody here wants the worker to go."""


@dataclass(frozen=True)
class Drain:
    """The server wants this generation to go."""

    generation: str


@dataclass(frozen=True)
class Forgotten:
    """The server does not know this generation any more."""

    generation: str


@dataclass(frozen=True)
class Fatal:
    """Trying again does not help."""

    error: OrdoError


@dataclass(frozen=True)
class Begun:
    """An attempt has a deadline, which counts from then."""

    execution: Execution
    at: float


@dataclass(frozen=True)
class Idle:
    """Nothing is left in hand."""


News = Stop | Drain | Forgotten | Fatal | Begun | Idle


class Generation:
    """From one registration until the worker leaves or the server forgets it: polls and lets itself be heard."""

    def __init__(
        self,
        registered: dict[str, Any],
        transport: Transport,
        held: Held,
        inbox: queue.SimpleQueue[News],
        begin: Callable[[dict[str, Any], str], None],
        logger: logging.Logger,
    ) -> None:
        self.id: str = registered["id"]
        self._path = f"/v1/executors/{self.id}"
        self._beat_every = max(registered["heartbeat_ms"] / 1000, 0.05)
        self._transport = transport
        self._held = held
        self._inbox = inbox
        self._begin = begin
        self._logger = logger
        self._leaving = threading.Event()
        self._over = threading.Event()
        self._poller = threading.Thread(target=self._guarded, args=(self._poll,), name="ordo-poll", daemon=True)
        self._beater = threading.Thread(target=self._guarded, args=(self._beat,), name="ordo-heartbeat", daemon=True)

    def start(self) -> None:
        self._poller.start()
        self._beater.start()

    def leave(self) -> None:
        """Takes nothing new; heartbeats go on."""
        self._leaving.set()
        self._held.wake()

    def over(self) -> None:
        self._over.set()
        self.leave()

    def last_poll(self, seconds: float) -> None:
        self._poller.join(seconds)

    def goodbye(self) -> None:
        """Whoever cannot say goodbye is missed after its lease."""
        try:
            self._transport.request("DELETE", self._path, timeout=self._beat_every)
        except OrdoError as error:
            if not is_forgotten(error):
                self._logger.warning("could not say goodbye: %s", error)

    def _guarded(self, work: Callable[[], None]) -> None:
        """A thread that broke down would leave half a worker behind."""
        try:
            work()
        except Exception as error:
            self._inbox.put(Fatal(ProtocolError(f"an answer was not understood: {error!r}")))

    def _poll(self) -> None:
        backoff = Backoff()
        # Also while it is full: what is to end comes the same way. The server gives no more than the capacity.
        while not self._leaving.is_set():
            wanted = {"max": min(max(self._held.free(), 1), _POLL_MAX), "wait_ms": _POLL_WAIT_MS, "confirm": True}
            try:
                answer = self._transport.request(
                    "POST", f"{self._path}/poll", wanted, timeout=_POLL_WAIT_MS / 1000 + _POLL_SLACK
                )
            except OrdoError as error:
                if self._ends(error):
                    return
                self._leaving.wait(backoff.pause())
                continue
            backoff.reset()
            for run_id in answer.get("cancel", ()):
                self._held.cancel(run_id)
            for run in self._confirmed(answer["runs"]) if answer.get("confirm") else answer["runs"]:
                self._begin(run, self.id)
            if answer.get("drain"):
                self._inbox.put(Drain(self.id))
                return

    def _confirmed(self, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Names the runs before they begin: what the server has given to others meanwhile is left alone."""
        backoff = Backoff()
        named = [{"run_id": run["run_id"], "token": run["token"]} for run in runs]
        while not self._over.is_set():
            held = self._held.wire(self.id) + named
            try:
                answer = self._transport.request(
                    "POST", f"{self._path}/heartbeat", {"runs": held}, timeout=self._beat_every
                )
            except OrdoError as error:
                if self._ends(error):
                    break
                self._over.wait(min(backoff.pause(), self._beat_every))
                continue
            return [run for run in runs if run["run_id"] not in answer["lost"]]
        return []

    def _beat(self) -> None:
        backoff, pause = Backoff(), 0.0
        while not self._over.wait(pause):
            held = self._held.wire(self.id)
            try:
                answer = self._transport.request(
                    "POST", f"{self._path}/heartbeat", {"runs": held}, timeout=self._beat_every
                )
            except OrdoError as error:
                if self._ends(error):
                    return
                pause = min(backoff.pause(), self._beat_every)
                continue
            backoff.reset()
            pause = self._beat_every
            named = {(one["run_id"], one["token"]) for one in held}
            for run_id in answer["cancel"]:
                self._held.cancel(run_id)
            for run_id in answer["lost"]:
                self._held.lose(run_id, named)
            if answer.get("drain"):
                self._inbox.put(Drain(self.id))

    def _ends(self, error: OrdoError) -> bool:
        """Whether this generation cannot go on; tells the worker."""
        if self._over.is_set():
            return True
        if is_forgotten(error):
            self._inbox.put(Forgotten(self.id))
            return True
        if not is_passing(error):
            self._inbox.put(Fatal(error))
            return True
        self._logger.warning("the server does not answer: %s", error)
        return False
