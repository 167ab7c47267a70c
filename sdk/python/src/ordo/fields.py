"""The fields of a job that `create_job` and `ensure_job` take by the server's names for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

Misfire = Literal["fire_once_now", "do_nothing"]
Severity = Literal["sev1", "sev2", "sev3", "sev4", "sev5"]


class FireAll(TypedDict, total=False):
    """The newest `cap` of the missed times inside `window`, each a run of its own."""

    cap: int
    window: str


class FireAllMisfire(TypedDict):
    fire_all: FireAll


class Retention(TypedDict, total=False):
    """How much history a job keeps: at most `runs`, none older than `age`."""

    runs: int
    age: str


class IncidentPolicy(TypedDict, total=False):
    severity: Severity
    #: How many times in a row it must have happened.
    after: int
    resolve_on_recovery: bool
    escalation: str


class Reaction(TypedDict):
    incident: IncidentPolicy


class ConcurrencyKey(TypedDict):
    """At most `max` runs with the same key at once. A key is `label`, or a JSON pointer into the input."""

    key: str
    max: int


class RateLimit(TypedDict):
    key: str
    limit: int
    per: str


class _UniqueKey(TypedDict):
    key: str
    window: str


class UniqueKey(_UniqueKey, total=False):
    on_conflict: Literal["refuse", "merge"]


class _After(TypedDict):
    jobs: Sequence[str]


class After(_After, total=False):
    mode: Literal["all", "any"]
    on: Literal["success", "failure", "either"]


class JobFields(TypedDict, total=False):
    """What a job may have besides the arguments of `create_job`. Times and durations are text: `"90s"`."""

    description: str
    description_url: str
    #: Words to find it by: `nightly`, `team:billing`.
    tags: Sequence[str]
    misfire: Misfire | FireAllMisfire
    retention: Retention
    on_failure: Reaction
    on_missed: Reaction
    expire_after: str
    concurrency_key: ConcurrencyKey
    rate_limit: RateLimit
    unique_key: UniqueKey
    #: The ids of jobs whose ends it follows.
    after: str | Sequence[str] | After
    held: bool
