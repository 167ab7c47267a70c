"""Server-sent events, read line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    event: str
    data: str
    id: str | None


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream. One that was cut off in the middle is left out."""
    name, data, last = "message", list[str](), None
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if data:
                yield Event(name, "\n".join(data), last)
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            last = value
