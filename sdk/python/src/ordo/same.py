"""Whether a job already is what was asked for.

Invariant: only what was named is compared. The server fills in defaults and writes durations in their shortest form;
neither is a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ordo.wire import duration_ms, time_of


def changes(wanted: Mapping[str, Any], have: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that differ. An input is a decision as a whole: what is not in it is not wanted. Tags have no order."""
    differs = {}
    for name, value in wanted.items():
        if name == "tool_input":
            same = value == have.get(name)
        elif name == "tags":
            same = set(value or ()) == set(have.get(name) or ())
        else:
            same = is_same(value, have.get(name))
        if not same:
            differs[name] = value
    return differs


def is_same(wanted: Any, have: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(have, Mapping) and all(is_same(value, have.get(name)) for name, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        if not isinstance(have, Sequence) or isinstance(have, str) or len(wanted) != len(have):
            return False
        return all(is_same(one, other) for one, other in zip(wanted, have))
    if wanted == have:
        return True
    return isinstance(wanted, str) and isinstance(have, str) and _moment(wanted) == _moment(have)


def _moment(text: str) -> int | datetime | str:
    """A duration or a time by its value; any other text as it is."""
    try:
        return duration_ms(text)
    except ValueError:
        pass
    try:
        time = time_of(text)
    except ValueError:
        return text
    return time if time.tzinfo else text
