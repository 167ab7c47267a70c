"""A way to the server that fails on purpose: what a worker sends is recorded, and a rule may spoil it.

A rule is asked for every request with the method, the path and how often that path was asked before. It answers `PASS`,
`CUT` (closed without an answer, and never sent on), `DEAF` (sent on, and the answer thrown away), or an answer of its own.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Union
from urllib.parse import urlsplit

PASS, CUT, DEAF = "pass", "cut", "deaf"
Answer = tuple[int, Any]
Rule = Callable[[str, str, int, Any], Union[str, Answer]]


def through(_method: str, _path: str, _before: int, _body: Any) -> str:
    return PASS


class Exchange:
    """What was asked, what the server said to it, and what the worker heard of that."""

    def __init__(self, method: str, path: str, body: Any) -> None:
        self.method, self.path, self.body = method, path, body
        self.status: int | None = None
        self.answer: Any = None


class Proxy:
    def __init__(self, upstream: str) -> None:
        self._upstream = urlsplit(upstream)
        self.rule: Rule = through
        self._exchanges: list[Exchange] = []
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def exchanges(self, path: str) -> list[Exchange]:
        with self._changed:
            return [one for one in self._exchanges if one.path == path]

    def expect(self, path: str, patience: float, holds: Callable[[Exchange], bool]) -> Exchange:
        """Waits for an exchange that is over."""

        def found() -> Exchange | None:
            over = (one for one in self._exchanges if one.path == path and one.status is not None)
            return next(filter(holds, over), None)

        with self._changed:
            one = self._changed.wait_for(found, patience)
            if one is None:
                seen = [(other.path, other.status, other.answer) for other in self._exchanges[-10:]]
                raise AssertionError(f"no such exchange on {path}: {seen}")
            return one

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        raw = request.rfile.read(length)
        exchange = Exchange(request.command, request.path, json.loads(raw) if raw else None)
        with self._changed:
            before = sum(one.path == request.path for one in self._exchanges)
            self._exchanges.append(exchange)
        verdict = self.rule(request.command, request.path, before, exchange.body)
        if verdict == CUT:
            request.close_connection = True
            return self._over(exchange, 0, None)
        if isinstance(verdict, tuple):
            status, answer = verdict
        else:
            status, answer = self._forward(request, raw)
        # A rule that changed meanwhile holds for the answer of a long poll too.
        if verdict == DEAF or self.rule(request.command, request.path, before, exchange.body) == CUT:
            request.close_connection = True
            return self._over(exchange, status, answer)
        said = json.dumps(answer).encode()
        self._over(exchange, status, answer)
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(said)))
        request.end_headers()
        request.wfile.write(said)

    def _forward(self, request: BaseHTTPRequestHandler, raw: bytes) -> Answer:
        connection = http.client.HTTPConnection(self._upstream.hostname or "", self._upstream.port, timeout=90)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "connection"}
        connection.request(request.command, request.path, raw or None, headers)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, json.loads(said) if said else None

    def _over(self, exchange: Exchange, status: int, answer: Any) -> None:
        with self._changed:
            exchange.status, exchange.answer = status, answer
            self._changed.notify_all()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        serve = self._serve

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                serve(self)

            do_DELETE = do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        # Whoever asked is gone.
        pass
