"""A worker: registers with a server, fetches runs, hands them to its tools, reports.

Invariant: one thread, the one that calls `run`, decides; the others (poll, heartbeat, outgoing, handlers) tell it by its
inbox. An attempt that was handed out is reported, given back, or lost; never forgotten.
"""

from __future__ import annotations

import asyncio
import heapq
import inspect
import json
import logging
import os
import queue
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from ordo.backoff import Backoff
from ordo.client import Client
from ordo.context import Context
from ordo.errors import GiveBack, OrdoError, is_passing
from ordo.generation import Begun, Drain, Fatal, Forgotten, Generation, Idle, News, Stop
from ordo.held import Execution, Held
from ordo.outgoing import Key, Outgoing
from ordo.version import VERSION
from ordo.wire import duration_text

Handler = Callable[[Context, Any], Any]
F = TypeVar("F", bound=Handler)

#: How long the answer to the last poll is waited for.
_LAST_POLL = 10.0
#: How long handlers that were told to stop may take for it when the worker stops.
_STOPPING = 5.0
#: How long the server may take to hear the last reports.
_LAST_REPORTS = 30.0


class Worker:
    """Offers tools to a server.

    A handler is called with its `Context` and the input. What it returns is the result, any JSON; an exception is a
    failure. Plain functions run in a thread each, `async def` functions on one event loop. SIGTERM and SIGINT let the
    worker finish what it has, for `grace` seconds at most; a second one ends it at once.
    """

    def __init__(
        self,
        *,
        group: str = "default",
        name: str | None = None,
        capacity: int = 16,
        client: Client | None = None,
        server: str | None = None,
        token: str | None = None,
        grace: float = 30.0,
        logger: logging.Logger | None = None,
    ) -> None:
        if capacity < 1:
            raise ValueError("a worker takes at least one run at once")
        self.group = group
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self.capacity = capacity
        self.grace = grace
        self._client = client or Client(server, token)
        self._transport = self._client.transport
        self._logger = logger or logging.getLogger("ordo")
        self._tools: dict[str, Handler] = {}
        self._inbox: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._held = Held(capacity, lambda: self._inbox.put(Idle()))
        self._deadlines: list[tuple[float, int, Execution]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._outgoing: Outgoing | None = None
        self._thread: threading.Thread | None = None

    def tool(self, name: str) -> Callable[[F], F]:
        """Offers the function as a tool of this name."""

        def offer(handler: F) -> F:
            if name in self._tools:
                raise ValueError(f"the tool {name!r} is offered already")
            self._tools[name] = handler
            return handler

        return offer

    def run(self) -> None:
        """Works until it is told to stop, by a signal, by `stop` or by the server; then leaves in order.

        A server that cannot be reached is tried again; one that refuses the offer or the token raises Problem.
        """
        with self._signals(lambda: self._inbox.put(Idle())):
            self._serve()

    async def run_async(self) -> None:
        """The same inside a running event loop: `async def` handlers run on that loop."""
        loop = self._loop = asyncio.get_running_loop()
        with self._signals(lambda: _interrupt(loop, lambda: None)):
            serving = asyncio.ensure_future(asyncio.to_thread(self._serve))
            try:
                await asyncio.shield(serving)
            except asyncio.CancelledError:
                self._inbox.put(Stop())
                await serving
                raise

    def start(self) -> None:
        """Works in the background until `stop`."""
        if self._thread is not None:
            raise RuntimeError("the worker was started already")
        self._thread = threading.Thread(target=self._serve, name="ordo-worker", daemon=True)
        self._thread.start()

    def stop(self, wait: bool = True) -> None:
        """Takes nothing new, finishes what it has, and leaves. Called again, it waits no longer for handlers."""
        self._inbox.put(Stop())
        if wait and self._thread is not None:
            self._thread.join()

    # What the deciding thread does.

    def _serve(self) -> None:
        if not self._tools:
            raise ValueError("the worker has no tools: offer one with @worker.tool")
        self._outgoing = Outgoing(self._transport, self._held.forget, self._refuse, self._logger)
        own_loop = self._start_loop()
        try:
            while (registered := self._register()) is not None:
                generation = Generation(
                    registered, self._transport, self._held, self._inbox, self._begin, self._logger
                )
                generation.start()
                if self._live(generation):
                    return
        finally:
            self._outgoing.close(0)
            if own_loop is not None:
                own_loop.call_soon_threadsafe(own_loop.stop)
            self._transport.close()

    def _register(self) -> dict[str, Any] | None:
        """Registers, however long the server takes to be there. None: it was told to stop meanwhile."""
        offer = {
            "name": self.name,
            "group": self.group,
            "tools": sorted(self._tools),
            "capacity": self.capacity,
            "version": f"python/{VERSION}",
        }
        backoff = Backoff()
        while True:
            try:
                registered: dict[str, Any] = self._transport.request("POST", "/v1/executors", offer)
                self._logger.info("%s is registered for %s", self.name, self.group)
                return registered
            except OrdoError as error:
                if not is_passing(error):
                    raise
                self._logger.warning("cannot register yet: %s", error)
            if self._stop_within(backoff.pause()):
                return None

    def _stop_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            news = self._next(end)
            if news is None:
                return False
            if isinstance(news, Stop):
                return True
            if isinstance(news, Fatal):
                raise news.error

    def _live(self, generation: Generation) -> bool:
        """One generation; returns whether the worker is done."""
        while True:
            news = self._next(None)
            if isinstance(news, Stop) or (isinstance(news, Drain) and news.generation == generation.id):
                self._leave(generation)
                return True
            if isinstance(news, Forgotten) and news.generation == generation.id:
                self._logger.warning("the server has forgotten this worker: what it runs is lost")
                generation.over()
                self._held.lose_all(generation.id)
                return False
            if isinstance(news, Fatal):
                generation.over()
                self._end_handlers(time.monotonic() + _STOPPING)
                raise news.error

    def _leave(self, generation: Generation) -> None:
        self._logger.info("leaving: %d runs to finish", len(self._held.all()))
        generation.leave()
        generation.goodbye()
        # The server answers the poll under way now; what it still brings is ours.
        generation.last_poll(_LAST_POLL)
        if not self._idle_within(self.grace, generation):
            self._logger.warning("the grace is over: %d runs are told to stop", len(self._held.all()))
            self._end_handlers(time.monotonic() + _STOPPING)
        assert self._outgoing is not None
        if not self._outgoing.close(_LAST_REPORTS):
            self._logger.error("the server did not hear the last reports")
        generation.over()
        generation.goodbye()

    def _idle_within(self, seconds: float, generation: Generation) -> bool:
        """Waits for what runs; returns whether everything was reported. A second wish to stop ends the patience."""
        end = time.monotonic() + seconds
        while self._held.all():
            news = self._next(end)
            if news is None or isinstance(news, (Stop, Fatal)):
                return False
            if isinstance(news, Forgotten) and news.generation == generation.id:
                self._held.lose_all(generation.id)
                return False
        return True

    def _end_handlers(self, end: float) -> None:
        """Tells all handlers to stop; what does not is reported as cut short: it ends with the process."""
        for execution in self._held.all():
            execution.cancel("shutdown")
        while any(not one.ended for one in self._held.all()):
            if self._next(end) is None:
                break
        for execution in self._held.all():
            if not execution.ended and self._held.ended(execution):
                self._report(execution.key, {"type": "cancelled"})

    def _next(self, end: float | None) -> News | None:
        """The next news; deadlines of runs are kept meanwhile. None: it is `end`."""
        while True:
            now = time.monotonic()
            while self._deadlines and self._deadlines[0][0] <= now:
                execution = heapq.heappop(self._deadlines)[2]
                if not execution.ended:
                    execution.cancel("timeout")
            if end is not None and end <= now:
                return None
            due = [at for at in (end, self._deadlines[0][0] if self._deadlines else None) if at is not None]
            try:
                news = self._inbox.get(timeout=min(due) - now if due else None)
            except queue.Empty:
                continue
            if isinstance(news, Begun):
                self._keep_deadline(news.at, news.execution)
                continue
            return news

    def _keep_deadline(self, begun_at: float, execution: Execution) -> None:
        # Most runs end long before: what is over is dropped when it is more than what can run.
        if len(self._deadlines) > 2 * self.capacity + 64:
            self._deadlines = [one for one in self._deadlines if not one[2].ended]
            heapq.heapify(self._deadlines)
        at = begun_at + execution.ctx.timeout.total_seconds()
        heapq.heappush(self._deadlines, (at, id(execution), execution))

    # What the other threads do.

    def _begin(self, assignment: dict[str, Any], generation: str) -> None:
        """An attempt was handed out: it runs from here on."""
        key = (assignment["run_id"], assignment["token"])
        outgoing = self._outgoing
        assert outgoing is not None
        ctx = Context(assignment, lambda text, stream: outgoing.line(key, stream, text))
        execution = Execution(ctx, generation)
        self._held.begin(execution)
        self._inbox.put(Begun(execution, time.monotonic()))
        handler = self._tools.get(ctx.tool_name)
        if handler is None:
            self._finish(execution, lambda: _failed(f"this worker has no tool {ctx.tool_name}"))
        elif inspect.iscoroutinefunction(handler):
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._start_task, execution, handler)
        else:
            thread = threading.Thread(target=self._work, args=(execution, handler), name=f"ordo-{ctx.label}", daemon=True)
            thread.start()

    def _work(self, execution: Execution, handler: Handler) -> None:
        try:
            result = handler(execution.ctx, execution.ctx.input)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is how the run ended
            caught = error
            self._finish(execution, lambda: self._raised(execution, caught))
        else:
            self._finish(execution, lambda: _returned(execution, result))

    def _start_task(self, execution: Execution, handler: Callable[[Context, Any], Coroutine[Any, Any, Any]]) -> None:
        loop = self._loop
        assert loop is not None
        task = loop.create_task(self._work_async(execution, handler))
        is_cancelled = False

        def cancel_once() -> None:
            nonlocal is_cancelled
            if not is_cancelled:
                is_cancelled = True
                task.cancel()

        execution.interrupt = lambda: _interrupt(loop, cancel_once)
        if execution.ctx.cancelled:
            # After its first step: a task that is cancelled before it has begun never runs, and would never report.
            loop.call_soon(cancel_once)

    async def _work_async(
        self, execution: Execution, handler: Callable[[Context, Any], Coroutine[Any, Any, Any]]
    ) -> None:
        try:
            result = await handler(execution.ctx, execution.ctx.input)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is how the run ended
            caught = error
            self._finish(execution, lambda: self._raised(execution, caught))
        else:
            self._finish(execution, lambda: _returned(execution, result))

    def _finish(self, execution: Execution, status: Callable[[], dict[str, Any]]) -> None:
        report = status()
        if self._held.ended(execution):
            self._report(execution.key, report)
        elif execution.lost:
            self._logger.warning("run %s, attempt %d: lost, not reported", execution.ctx.run_id, execution.ctx.attempt)
        self._inbox.put(Idle())

    def _report(self, key: Key, status: dict[str, Any]) -> None:
        assert self._outgoing is not None
        self._outgoing.report(key, status)

    def _raised(self, execution: Execution, error: BaseException) -> dict[str, Any]:
        ctx = execution.ctx
        if isinstance(error, GiveBack):
            given: dict[str, Any] = {"type": "nack", "delay": duration_text(error.delay)}
            return given if error.reason is None else {**given, "reason": error.reason}
        if ctx.cancel_reason == "timeout":
            return _timed_out(ctx)
        if ctx.cancelled:
            return {"type": "cancelled"}
        ctx.log("".join(traceback.format_exception(error)).rstrip(), "stderr")
        return _failed(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)

    def _refuse(self, error: OrdoError) -> None:
        self._inbox.put(Fatal(error))

    def _start_loop(self) -> asyncio.AbstractEventLoop | None:
        """An event loop of its own, if there are handlers for it and the caller brought none."""
        if self._loop is not None or not any(map(inspect.iscoroutinefunction, self._tools.values())):
            return None
        loop = self._loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="ordo-loop", daemon=True).start()
        return loop

    @contextmanager
    def _signals(self, wake: Callable[[], object]) -> Iterator[None]:
        """SIGTERM and SIGINT stop the worker, where signals can be had: in the main thread.

        A handler in Python runs when the main thread next gets to it, and that may be waiting for good: a signal that
        comes just before it begins to wait, or to another thread, does not end the wait. So `wake` is called for each.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop_asked(_number: int, _frame: FrameType | None) -> None:
            self._inbox.put(Stop())

        before = {number: signal.signal(number, stop_asked) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            with _woken_by_signals(wake):
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _woken_by_signals(wake: Callable[[], object]) -> Iterator[None]:
    """Calls `wake` in a thread of its own for every signal, by the byte that the interpreter writes as it comes."""
    read, written = socket.socketpair()
    written.setblocking(False)
    theirs = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    if theirs != -1:
        # An event loop with handlers of its own: it is woken by its own byte.
        signal.set_wakeup_fd(theirs)

    def listen() -> None:
        with read:
            while read.recv(64):
                wake()

    threading.Thread(target=listen, name="ordo-signals", daemon=True).start()
    try:
        yield
    finally:
        if theirs == -1:
            signal.set_wakeup_fd(-1)
        written.close()


def _failed(reason: str) -> dict[str, Any]:
    return {"type": "failed", "reason": reason}


def _timed_out(ctx: Context) -> dict[str, Any]:
    return _failed(f"timed out after {ctx.timeout.total_seconds():g} s")


def _returned(execution: Execution, result: Any) -> dict[str, Any]:
    if execution.ctx.cancel_reason == "timeout":
        return _timed_out(execution.ctx)
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        return _failed(f"the result is no JSON: {error}")
    return {"type": "completed", "result": result}


def _interrupt(loop: asyncio.AbstractEventLoop, cancel: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(cancel)
    except RuntimeError:
        # The loop is closed, and the task with it.
        pass
