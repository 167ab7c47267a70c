"""How times and durations are written on the wire."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_PART = re.compile(r"([0-9]+)(ms|d|h|m|s)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration_ms(text: str) -> int:
    """The milliseconds of `1h30m` or `500ms`; ValueError for anything else."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number) * _UNIT_MS[unit] for number, unit in parts)


def duration_text(duration: str | timedelta) -> str:
    """A duration as the server reads it."""
    if isinstance(duration, str):
        return duration
    ms = round(duration / timedelta(milliseconds=1))
    if ms < 0:
        raise ValueError(f"a duration is not negative: {duration}")
    return f"{ms}ms"


def time_of(text: str) -> datetime:
    """A time with its zone."""
    # Python 3.10 does not read the Z.
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def time_text(time: str | datetime) -> str:
    """A time as the server reads it. One without a zone is refused: nobody knows which moment it is."""
    if isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
