"""What the server answers, as Python sees it.

Invariant: fields that this version does not know are kept in `raw`, never refused: a newer server may say more.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ordo.wire import time_of

RunStatus = Literal["pending", "running", "completed", "failed", "cancelled", "skipped"]
JobState = Literal["active", "paused", "held", "finished", "cancelled"]


@dataclass(frozen=True)
class FieldError:
    """One field of a request that was refused."""

    field: str
    message: str


@dataclass(frozen=True)
class Shard:
    """Which share of a broadcast, from 0, of how many."""

    index: int
    total: int


@dataclass(frozen=True)
class AttemptError:
    """Why one attempt did not succeed."""

    attempt: int
    at: datetime
    reason: str


@dataclass(frozen=True)
class HookPayload:
    """One call of a webhook, as it came."""

    hook: str
    delivery: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)

    def header(self, name: str) -> str | None:
        """The first header of that name; case does not matter."""
        return next((value for one, value in self.headers if one.lower() == name.lower()), None)


@dataclass(frozen=True)
class LogLine:
    """One line of a run's log."""

    id: str
    at: datetime
    stream: str
    text: str
    attempt: int


@dataclass(frozen=True)
class Run:
    """One firing of a job. `result` of a completed run, `reason` of one that failed, was cancelled or skipped."""

    id: str
    job_id: str
    label: str
    status: RunStatus
    result: Any
    reason: str | None
    attempt: int
    executor: str | None
    scheduled_for: datetime | None
    fired_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    parent_id: str | None
    shard: Shard | None
    errors: tuple[AttemptError, ...]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def is_over(self) -> bool:
        return self.status not in ("pending", "running")


@dataclass(frozen=True)
class Job:
    """A job as it stands. `raw` has every field of the server's answer."""

    id: str
    label: str
    state: JobState
    tool_name: str
    tool_input: Any
    trigger: Mapping[str, Any]
    group: str
    tags: tuple[str, ...]
    schedule: str
    next_tick_at: datetime | None
    revision: int
    raw: Mapping[str, Any] = field(repr=False)


def run_of(raw: Mapping[str, Any]) -> Run:
    status: Mapping[str, Any] = raw["status"]
    return Run(
        id=raw["id"],
        job_id=raw["job_id"],
        label=raw["label"],
        status=status["type"],
        result=status.get("result"),
        reason=_reason(status.get("reason")),
        attempt=raw["attempt"],
        executor=raw.get("executor"),
        scheduled_for=_time(raw.get("scheduled_for")),
        fired_at=time_of(raw["fired_at"]),
        started_at=_time(raw.get("started_at")),
        finished_at=_time(raw.get("finished_at")),
        parent_id=raw.get("parent_id"),
        shard=shard_of(raw.get("shard")),
        errors=tuple(AttemptError(one["attempt"], time_of(one["at"]), one["reason"]) for one in raw.get("errors", [])),
        raw=raw,
    )


def job_of(raw: Mapping[str, Any]) -> Job:
    return Job(
        id=raw["id"],
        label=raw["label"],
        state=raw["state"],
        tool_name=raw["tool_name"],
        tool_input=raw["tool_input"],
        trigger=raw["trigger"],
        group=raw["group"],
        tags=tuple(raw.get("tags", ())),
        schedule=raw["schedule"],
        next_tick_at=_time(raw.get("next_tick_at")),
        revision=raw["revision"],
        raw=raw,
    )


def line_of(raw: Mapping[str, Any]) -> LogLine:
    return LogLine(raw["id"], time_of(raw["at"]), raw["stream"], raw["text"], raw["attempt"])


def shard_of(raw: Mapping[str, Any] | None) -> Shard | None:
    return None if raw is None else Shard(raw["index"], raw["total"])


def payload_of(raw: Mapping[str, Any] | None) -> HookPayload | None:
    if raw is None:
        return None
    body: str = raw["body"]
    decoded = base64.b64decode(body) if raw["encoding"] == "base64" else body.encode()
    return HookPayload(raw["hook"], raw["delivery"], tuple((name, value) for name, value in raw["headers"]), decoded)


def _time(text: str | None) -> datetime | None:
    return None if text is None else time_of(text)


def _reason(reason: Any) -> str | None:
    return reason if reason is None or isinstance(reason, str) else json.dumps(reason)
