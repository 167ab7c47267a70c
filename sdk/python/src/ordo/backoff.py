"""How long to wait before trying again: doubling, with jitter, so that many clients do not return in step."""

from __future__ import annotations

import random

_FIRST = 0.1
#: Well below a lease, so that a worker is back before it is missed.
_MOST = 3.0


class Backoff:
    def __init__(self) -> None:
        self._next = _FIRST

    def pause(self) -> float:
        """Seconds to wait now."""
        pause = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, _MOST)
        return pause

    def reset(self) -> None:
        self._next = _FIRST
