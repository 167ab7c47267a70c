"""Jobs and runs from a program: create, ensure, trigger, read, wait."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from ordo.backoff import Backoff
from ordo.errors import OrdoError, Problem, ProtocolError, is_passing
from ordo.fields import JobFields
from ordo.model import Job, JobState, LogLine, Run, RunStatus, job_of, line_of, run_of
from ordo.same import changes
from ordo.sse import events
from ordo.transport import Transport
from ordo.wire import duration_text, time_text

if TYPE_CHECKING:
    from typing import Unpack

DEFAULT_SERVER = "http://127.0.0.1:7070"
#: How often a change that did not reach its job in the state it was read in is tried.
_ENSURE_TRIES = 5
#: A stream that says nothing for so long is dead: the server sends a sign of life more often.
_STREAM_SILENCE = 60.0

Trigger = Mapping[str, Any]
Block = Literal["serial", "discard", "cover", "concurrent"]
Routing = Literal[
    "round", "random", "lfu", "lru", "busyover", "first", "last", "consistent_hash", "failover", "sharding_broadcast"
]


def manual() -> Trigger:
    """Only when it is triggered."""
    return {"type": "manual"}


def every(interval: str | timedelta, **more: Any) -> Trigger:
    """At a fixed interval: `every("10s")`. More fields of the schedule by name: `start`, `end`, `jitter`, `exclude`."""
    return {"type": "scheduled", "every": duration_text(interval), **more}


def cron(expression: str, timezone: str = "UTC", **more: Any) -> Trigger:
    """By a cron expression in a time zone: `cron("0 2 * * *", "Europe/Berlin")`."""
    return {"type": "scheduled", "cron": expression, "timezone": timezone, **more}


def at(time: str | datetime) -> Trigger:
    """Once."""
    return {"type": "scheduled", "at": time_text(time)}


def on_hook(slug: str) -> Trigger:
    """When somebody calls the hook."""
    return {"type": "webhook", "hook": slug}


class Client:
    """Talks to one server. May be used by many threads.

    What is not given comes from the environment: `ORDO_SERVER` (http://127.0.0.1:7070 without it), `ORDO_TOKEN`,
    `ORDO_CA_FILE`.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        ca_file: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        server = server or os.environ.get("ORDO_SERVER") or DEFAULT_SERVER
        token = token or os.environ.get("ORDO_TOKEN") or None
        self.transport = Transport(server, token, ca_file or os.environ.get("ORDO_CA_FILE") or None, timeout)

    def create_job(
        self,
        label: str,
        tool_name: str,
        tool_input: Any = None,
        *,
        trigger: Trigger | None = None,
        group: str | None = None,
        timeout: str | timedelta | None = None,
        max_attempts: int | None = None,
        backoff: str | timedelta | None = None,
        idempotent: bool | None = None,
        block: Block | Mapping[str, Any] | None = None,
        routing: Routing | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[JobFields],
    ) -> Job:
        """A new job. `more` takes the other fields of a job by the server's names for them.

        With the same `idempotency_key` the job is created once, however often this is called.
        """
        job = _definition(
            label, tool_name, tool_input, trigger, group, timeout, max_attempts, backoff, idempotent, block, routing,
            priority, more,
        )
        return self._create(job, idempotency_key or str(uuid.uuid4()))

    def ensure_job(
        self,
        label: str,
        tool_name: str,
        tool_input: Any = None,
        *,
        trigger: Trigger | None = None,
        group: str | None = None,
        timeout: str | timedelta | None = None,
        max_attempts: int | None = None,
        backoff: str | timedelta | None = None,
        idempotent: bool | None = None,
        block: Block | Mapping[str, Any] | None = None,
        routing: Routing | None = None,
        priority: int | None = None,
        **more: Unpack[JobFields],
    ) -> Job:
        """The one job of this label, created or changed to be as described. Safe to call at every start.

        Fields that are not named stay as they are. A job that is as described is not touched: its schedule keeps its
        beat. Raises ValueError if several jobs that are not over have the label.
        """
        job = _definition(
            label, tool_name, tool_input, trigger, group, timeout, max_attempts, backoff, idempotent, block, routing,
            priority, more,
        )
        for tried in range(_ENSURE_TRIES):
            found = list(self.jobs(label=label))
            living = [one for one in found if one.state not in ("finished", "cancelled")]
            if len(living) > 1:
                raise ValueError(f"{len(living)} jobs have the label {label!r}: which one is meant?")
            if not living:
                # Whoever ensures the same at the same time gets the same job, also after the last one has ended.
                ended = found[0].id if found else ""
                described = json.dumps([job, ended], sort_keys=True).encode()
                return self._create(job, "ensure-" + hashlib.sha256(described).hexdigest()[:40])
            differs = changes(job, living[0].raw)
            if not differs:
                return living[0]
            try:
                return self.update_job(living[0].id, differs, revision=living[0].revision)
            except Problem as problem:
                # Somebody else changed it meanwhile.
                if problem.status != 412 or tried + 1 == _ENSURE_TRIES:
                    raise
        raise AssertionError("the last try returns or raises")

    def job(self, job_id: str) -> Job:
        return job_of(self._request("GET", f"/v1/jobs/{_part(job_id)}"))

    def jobs(
        self,
        *,
        label: str | None = None,
        label_prefix: str | None = None,
        tag: str | Sequence[str] | None = None,
        search: str | None = None,
        state: JobState | None = None,
    ) -> Iterator[Job]:
        """Jobs, page by page: the newest first; by label with `label_prefix`, `search` or `tag`.

        Of several tags a job has all.
        """
        tags = tag if tag is None or isinstance(tag, str) else ",".join(tag) or None
        wanted = {"label": label, "label_prefix": label_prefix, "search": search, "tag": tags, "state": state}
        return (job_of(raw) for raw in self._pages("/v1/jobs", wanted))

    def update_job(self, job_id: str, changes: Mapping[str, Any], *, revision: int | None = None) -> Job:
        """Changes fields; None means the default. With `revision` only if nobody else changed the job since."""
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        return job_of(self._request("PATCH", f"/v1/jobs/{_part(job_id)}", dict(changes), headers))

    def cancel_job(self, job_id: str, reason: str | None = None) -> None:
        """Ends the job: it does not run any more."""
        query = f"?{urlencode({'reason': reason})}" if reason else ""
        self._request("DELETE", f"/v1/jobs/{_part(job_id)}{query}")

    def pause_job(self, job_id: str, reason: str | None = None) -> Job:
        body = {} if reason is None else {"reason": reason}
        return job_of(self._request("POST", f"/v1/jobs/{_part(job_id)}/pause", body))

    def resume_job(self, job_id: str) -> Job:
        return job_of(self._request("POST", f"/v1/jobs/{_part(job_id)}/resume"))

    def trigger_job(self, job_id: str, tool_input: Any = None, *, idempotency_key: str | None = None) -> str:
        """Asks for a run now, with another input if one is given; returns its id."""
        body = {} if tool_input is None else {"tool_input": tool_input}
        key = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        run_id: str = self._request("POST", f"/v1/jobs/{_part(job_id)}/trigger", body, key)["run_id"]
        return run_id

    def run(self, run_id: str) -> Run:
        return run_of(self._request("GET", f"/v1/runs/{_part(run_id)}"))

    def runs(
        self, *, job_id: str | None = None, status: RunStatus | None = None, since: str | datetime | None = None
    ) -> Iterator[Run]:
        """Runs, the newest first, page by page. Large results are left out: read the run."""
        wanted = {"job_id": job_id, "status": status, "since": None if since is None else time_text(since)}
        return (run_of(raw) for raw in self._pages("/v1/runs", wanted))

    def cancel_run(self, run_id: str, reason: str | None = None) -> Run:
        body = {} if reason is None else {"reason": reason}
        return run_of(self._request("POST", f"/v1/runs/{_part(run_id)}/cancel", body))

    def retry_run(self, run_id: str) -> str:
        """Runs a finished run once more; returns the id of the new one."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        new: str = self._request("POST", f"/v1/runs/{_part(run_id)}/retry", None, key)["run_id"]
        return new

    def wait(self, run_id: str, timeout: float | None = None) -> Run:
        """The run when it is over; raises TimeoutError if that takes more than `timeout` seconds."""
        for _ in self.follow_log(run_id, timeout):
            pass
        return self.run(run_id)

    def log(self, run_id: str) -> Iterator[LogLine]:
        """The lines that are there."""
        return (line_of(raw) for raw in self._pages(f"/v1/runs/{_part(run_id)}/logs", {}))

    def follow_log(self, run_id: str, timeout: float | None = None) -> Iterator[LogLine]:
        """The lines as they are written, until the run is over. Goes on where it was if the server is restarted."""
        deadline = None if timeout is None else time.monotonic() + timeout
        backoff, last = Backoff(), None
        path = f"/v1/runs/{_part(run_id)}/logs"
        while True:
            headers = {"Accept": "text/event-stream", **({} if last is None else {"Last-Event-ID": last})}
            try:
                with self.transport.stream(path, headers, _left(deadline, run_id)) as answer:
                    for event in events(answer):
                        backoff.reset()
                        last = event.id or last
                        if event.event == "end":
                            return
                        if event.event == "line":
                            yield line_of(json.loads(event.data))
                        _left(deadline, run_id)
            except OrdoError as error:
                if not is_passing(error):
                    raise
            time.sleep(min(backoff.pause(), _left(deadline, run_id)))

    def close(self) -> None:
        """Closes idle connections. The client may be used again."""
        self.transport.close()

    def _create(self, job: Mapping[str, Any], key: str) -> Job:
        return job_of(self._request("POST", "/v1/jobs", job, {"Idempotency-Key": key}))

    def _request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        return self.transport.request(method, path, body, headers=headers)

    def _pages(self, path: str, wanted: Mapping[str, str | None]) -> Iterator[Mapping[str, Any]]:
        query = {name: value for name, value in wanted.items() if value is not None}
        while True:
            page = self._request("GET", f"{path}?{urlencode(query)}")
            if not isinstance(page, Mapping) or "items" not in page:
                raise ProtocolError(f"{path} answered no page")
            yield from page["items"]
            if not page.get("next_cursor"):
                return
            query["cursor"] = page["next_cursor"]


def _definition(
    label: str,
    tool_name: str,
    tool_input: Any,
    trigger: Trigger | None,
    group: str | None,
    timeout: str | timedelta | None,
    max_attempts: int | None,
    backoff: str | timedelta | None,
    idempotent: bool | None,
    block: Block | Mapping[str, Any] | None,
    routing: Routing | None,
    priority: int | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    retry: dict[str, Any] = {}
    if max_attempts is not None:
        retry["max_attempts"] = max_attempts
    if backoff is not None:
        retry["backoff"] = duration_text(backoff)
    job: dict[str, Any] = {"label": label, "tool_name": tool_name, "trigger": trigger or manual()}
    named = {
        "tool_input": tool_input,
        "group": group,
        "timeout": None if timeout is None else duration_text(timeout),
        "retry": retry or None,
        "idempotent": idempotent,
        "block": block,
        "routing": routing,
        "priority": priority,
    }
    job.update((name, value) for name, value in named.items() if value is not None)
    job.update(more)
    return job


def _part(text: str) -> str:
    """One part of a path."""
    return quote(text, safe="")


def _left(deadline: float | None, run_id: str) -> float:
    """How long to wait at most; raises TimeoutError when that time is over."""
    if deadline is None:
        return _STREAM_SILENCE
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"run {run_id} is not over")
    return min(left, _STREAM_SILENCE)
