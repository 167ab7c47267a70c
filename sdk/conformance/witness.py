"""Where handlers leave evidence: outside of the worker, so that it survives whatever happens to the worker.

A handler posts what happens as JSON. What it says is recorded before it is answered; a post with `"event": "await"` is
answered when the scenario releases it, so that a scenario decides when a handler goes on.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Longer than a lease, its checks and a restart take on a busy machine.
PATIENCE = float(os.environ.get("CONFORMANCE_PATIENCE_S", "120"))

Fact = dict[str, Any]


class Late(AssertionError):
    """What a scenario waited for did not happen."""


class Witness:
    def __init__(self) -> None:
        self._facts: list[Fact] = []
        self._released: set[str] = set()
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def facts(self, **wanted: Any) -> list[Fact]:
        with self._changed:
            return [fact for fact in self._facts if wanted.items() <= fact.items()]

    def expect(self, what: str = "", count: int = 1, **wanted: Any) -> Fact:
        """Waits until that was said so often; returns the last of them."""

        def there() -> list[Fact]:
            return [fact for fact in self._facts if wanted.items() <= fact.items()]

        with self._changed:
            if not self._changed.wait_for(lambda: len(there()) >= count, PATIENCE):
                raise Late(f"{what or 'nobody said'} {wanted}; said was {self._facts[-20:]}")
            return there()[-1]

    def release(self, run_id: str, worker: str) -> None:
        """Lets the handler of this run in this worker go on."""
        with self._changed:
            self._released.add(f"{run_id} {worker}")
            self._changed.notify_all()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _hear(self, fact: Fact) -> None:
        with self._changed:
            self._facts.append(fact)
            self._changed.notify_all()
            if fact["event"] == "await":
                name = f"{fact['run_id']} {fact['worker']}"
                self._changed.wait_for(lambda: name in self._released)

    def _handler(self) -> Callable[..., BaseHTTPRequestHandler]:
        hear = self._hear

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hear(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    # The worker is gone: what it said is recorded.
                    pass

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 2048

    def handle_error(self, *_: Any) -> None:
        # A worker that was killed cuts its connections off.
        pass
