"""One request at a time over connections that are kept open. Standard library only.

Invariant: the token goes to the server it was given for. Redirects are not followed.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ordo.errors import Problem, ProtocolError, Unreachable
from ordo.model import FieldError
from ordo.version import VERSION

#: How many idle connections are kept.
_IDLE_MAX = 8


class Transport:
    """Speaks JSON with one server. May be used by many threads."""

    def __init__(self, server: str, token: str | None, ca_file: str | None, timeout: float) -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{server!r} is no address of a server: http://HOST:PORT or https://HOST")
        self.server = server.rstrip("/")
        self.timeout = timeout
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        self._headers = {"Accept": "application/json", "User-Agent": f"ordo-sdk-python/{VERSION}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The answer of the server; raises Problem if it refused.

        A kept connection that turns out to be closed is replaced once. What must not happen twice carries an
        idempotency key.
        """
        text = None if body is None else json.dumps(body, allow_nan=False).encode()
        kept = self._take()
        if kept is not None:
            try:
                return self._exchange(kept, method, path, text, headers, timeout)
            except _Closed:
                pass
        try:
            return self._exchange(self._connection(), method, path, text, headers, timeout)
        except _Closed as error:
            raise Unreachable(f"{self.server} closed the connection without an answer") from error

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read as it comes, on a connection of its own."""
        connection = self._connection()
        try:
            answer = self._send(connection, "GET", path, None, headers, timeout)
            if answer.status != 200:
                raise _refusal(answer, answer.read())
            yield answer
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.server} cannot be reached: {error}") from error
        finally:
            connection.close()

    def close(self) -> None:
        """Closes idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_MAX:
                return self._idle.append(connection)
        connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=self.timeout)
        return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> Any:
        try:
            answer = self._send(connection, method, path, body, headers, timeout)
            read = answer.read()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            connection.close()
            raise _Closed from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"{self.server} cannot be reached: {error or type(error).__name__}") from error
        if answer.will_close:
            connection.close()
        else:
            self._keep(connection)
        if not 200 <= answer.status < 300:
            raise _refusal(answer, read)
        try:
            return json.loads(read) if read else None
        except ValueError as error:
            raise ProtocolError(f"{self.server}{path} answered no JSON", answer.status) from error

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> http.client.HTTPResponse:
        allowed = self.timeout if timeout is None else timeout
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(allowed)
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        connection.request(method, self._prefix + path, body, sent)
        return connection.getresponse()


class _Closed(Exception):
    """The connection was closed before anything was answered."""


def _refusal(answer: http.client.HTTPResponse, body: bytes) -> Problem | ProtocolError:
    try:
        said = json.loads(body)
        errors = tuple(FieldError(one["field"], one["message"]) for one in said.get("errors") or [])
        return Problem(answer.status, said["code"], said["title"], said["detail"], errors)
    except (ValueError, KeyError, TypeError, AttributeError):
        to = answer.getheader("Location")
        detail = f" and leads to {to}: name that server instead" if to else ", not as Ordo does"
        return ProtocolError(f"the server answered {answer.status}{detail}", answer.status)
