"""What goes back to the server: log lines and reports, in batches, from one thread.

Invariant: the lines of a run are sent before its report. A report is sent until the server has answered it.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ordo.backoff import Backoff
from ordo.errors import OrdoError, Problem, ProtocolError, is_passing
from ordo.transport import Transport

#: One attempt: its run and its token.
Key = tuple[str, int]

_BATCH_MAX = 1_000
#: The server takes 32 MiB at once.
_BATCH_BYTES = 8 * 1024 * 1024
_CHUNK_LINES = 500
#: How long lines are gathered when nothing else is to be sent.
_GATHER = 0.05
#: More lines than these are not kept while the server is away.
_LINES_WAITING_MAX = 50_000


@dataclass(frozen=True)
class _Line:
    key: Key
    stream: str
    text: str


@dataclass(frozen=True)
class _Report:
    key: Key
    status: dict[str, Any]


class Outgoing:
    """Sends until it is closed and everything was answered, or `abandon` says that nobody waits any more."""

    def __init__(
        self,
        transport: Transport,
        answered: Callable[[Key], None],
        refused: Callable[[OrdoError], None],
        logger: logging.Logger,
    ) -> None:
        self._transport = transport
        self._answered = answered
        self._refused = refused
        self._logger = logger
        self._queue: queue.SimpleQueue[_Line | _Report | None] = queue.SimpleQueue()
        self._seqs: dict[Key, int] = {}
        self._lock = threading.Lock()
        self._waiting_lines = 0
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ordo-outgoing", daemon=True)
        self._thread.start()

    def line(self, key: Key, stream: str, text: str) -> None:
        lines = text.splitlines() or [""]
        with self._lock:
            room = _LINES_WAITING_MAX - self._waiting_lines
            kept = lines[: max(room, 0)]
            self._waiting_lines += len(kept)
        if len(kept) < len(lines):
            self._logger.warning("run %s: %d log lines were dropped", key[0], len(lines) - len(kept))
        for one in kept:
            self._queue.put(_Line(key, stream, one))

    def report(self, key: Key, status: dict[str, Any]) -> None:
        self._queue.put(_Report(key, status))

    def close(self, seconds: float) -> bool:
        """Sends what is left; returns whether all of it was answered in that time."""
        self._queue.put(None)
        self._thread.join(seconds)
        self._abandoned.set()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._send_all()
        except Exception as error:
            # Without this thread nobody would hear of any run again.
            self._refused(ProtocolError(f"an answer was not understood: {error!r}"))

    def _send_all(self) -> None:
        closing = False
        while not closing:
            items = [self._queue.get()]
            if isinstance(items[0], _Line):
                time.sleep(_GATHER)
            while len(items) < _BATCH_MAX and items[-1] is not None:
                try:
                    items.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            closing = items[-1] is None
            lines = [item for item in items if isinstance(item, _Line)]
            with self._lock:
                self._waiting_lines -= len(lines)
            self._send_lines(lines)
            self._send_reports([item for item in items if isinstance(item, _Report)])

    def _send_lines(self, lines: list[_Line]) -> None:
        by_run: dict[Key, list[_Line]] = {}
        for line in lines:
            by_run.setdefault(line.key, []).append(line)
        chunks = []
        for key, of_run in by_run.items():
            for start in range(0, len(of_run), _CHUNK_LINES):
                seq = self._seqs.get(key, 0)
                self._seqs[key] = seq + 1
                part = [{"stream": line.stream, "text": line.text} for line in of_run[start : start + _CHUNK_LINES]]
                chunks.append({"run_id": key[0], "token": key[1], "seq": seq, "lines": part})
        for batch in _batches(chunks):
            # A chunk that is refused belongs to an attempt that is no longer ours.
            self._post("/v1/runs/logs", {"chunks": batch})

    def _send_reports(self, reports: list[_Report]) -> None:
        for report in reports:
            self._seqs.pop(report.key, None)
        wire = [{"run_id": one.key[0], "token": one.key[1], "status": one.status} for one in reports]
        for batch in _batches(wire):
            self._settle(batch)

    def _settle(self, batch: list[dict[str, Any]]) -> None:
        """Sends reports until each was answered."""
        backoff = Backoff()
        while batch:
            answer = self._post("/v1/runs/report", {"reports": batch})
            if isinstance(answer, Problem) and len(batch) > 1:
                # Something in it cannot be read: the others shall not suffer for it.
                for one in batch:
                    self._settle([one])
                return
            if isinstance(answer, Problem) and batch[0]["status"]["type"] == "completed":
                reason = f"the result was refused: {answer}"
                batch = [{**batch[0], "status": {"type": "failed", "reason": reason}}]
                continue
            if answer is None or isinstance(answer, Problem):
                return self._done(batch)
            again = []
            for sent, result in zip(batch, answer["results"]):
                if result["status"] >= 500:
                    again.append(sent)
                    continue
                if result["status"] != 200:
                    detail = (result.get("error") or {}).get("detail", result["status"])
                    self._logger.warning("the report of run %s changed nothing: %s", sent["run_id"], detail)
                self._done([sent])
            batch = again
            if batch and self._abandoned.wait(backoff.pause()):
                return

    def _done(self, batch: list[dict[str, Any]]) -> None:
        for sent in batch:
            self._answered((sent["run_id"], sent["token"]))

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer, however long the server takes to be there; a Problem if it will never take it."""
        backoff = Backoff()
        while not self._abandoned.is_set():
            try:
                return self._transport.request("POST", path, body)
            except OrdoError as error:
                if not is_passing(error):
                    self._logger.error("%s was refused: %s", path, error)
                    if isinstance(error, Problem) and error.status in (401, 403):
                        self._refused(error)
                        return None
                    return error
                self._abandoned.wait(backoff.pause())
        return None


def _batches(items: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """In parts that the server takes."""
    batches: list[list[dict[str, Any]]] = []
    size = 0
    for item in items:
        length = len(json.dumps(item))
        if not batches or size + length > _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(item)
        size += length
    return batches
