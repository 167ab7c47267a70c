"""The real server on a store of its own, and what a scenario asks of it as its admin.

Nothing here uses the packages that are tested. Ends of runs are heard from the server's own events, not looked for.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from witness import PATIENCE, Late

READY = "ordo is ready at "
OVER = ("completed", "failed", "cancelled", "skipped")


class Refused(AssertionError):
    def __init__(self, status: int, answer: Any) -> None:
        super().__init__(f"{status}: {answer}")
        self.status = status


class Daemon:
    def __init__(self, ordo: Path, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.url = ""
        self._ordo = ordo
        self._child: subprocess.Popen[str] | None = None
        self._events: list[dict[str, Any]] = []
        #: Which streams had an event of a kind, about any run (None) and about each.
        self._streams: dict[tuple[str, str | None], set[str]] = {}
        self._position: str | None = None
        self._heard = threading.Condition()
        self._closed = threading.Event()
        self.start()
        self.token = (folder / ".ordo/token").read_text().strip()
        threading.Thread(target=self._follow, daemon=True).start()

    def start(self) -> None:
        """Starts it; a second time on the port of the first."""
        listen = urlsplit(self.url).netloc or "127.0.0.1:0"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
        self._child = subprocess.Popen(
            [str(self._ordo), "serve", "--listen", listen],
            cwd=self.folder,
            env={**inherited, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._child.stderr is not None
        said = []
        for line in self._child.stderr:
            said.append(line)
            if line.startswith(READY):
                self.url = line.removeprefix(READY).strip()
                break
        else:
            raise AssertionError("ordo serve ended before it was ready:\n" + "".join(said))
        log = (self.folder / "serve.log").open("a")
        threading.Thread(target=_drain, args=(self._child.stderr, log), daemon=True).start()

    def kill(self) -> None:
        """`kill -9`."""
        assert self._child is not None
        self._child.kill()
        self._child.wait()

    def close(self) -> None:
        self._closed.set()
        assert self._child is not None
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            try:
                self._child.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        connection = self._connect()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        read = json.loads(said) if said else None
        if not 200 <= answer.status < 300:
            raise Refused(answer.status, read)
        return read

    def job(self, **job: Any) -> str:
        created: str = self.call("POST", "/v1/jobs", {"trigger": {"type": "manual"}, **job})["id"]
        return created

    def trigger(self, job_id: str, tool_input: Any = None) -> str:
        body = {} if tool_input is None else {"tool_input": tool_input}
        run_id: str = self.call("POST", f"/v1/jobs/{job_id}/trigger", body)["run_id"]
        return run_id

    def once(self, **job: Any) -> str:
        """A job and one run of it; returns the run."""
        return self.trigger(self.job(**job))

    def run(self, run_id: str) -> Any:
        return self.call("GET", f"/v1/runs/{run_id}")

    def over(self, run_id: str) -> Any:
        """The run when it has ended."""
        while True:
            with self._heard:
                before = len(self._events)
            run = self.run(run_id)
            if run["status"]["type"] in OVER:
                return run
            stream = f"ordo-job-{run['job_id']}"
            with self._heard:
                if not self._heard.wait_for(lambda: self._says(stream, before), PATIENCE):
                    raise Late(f"{run_id} is not over: {run}")

    def completed(self, run_id: str) -> Any:
        """The result of the run."""
        run = self.over(run_id)
        assert run["status"]["type"] == "completed", run
        return run["status"].get("result")

    def events(self, kind: str, run_id: str) -> list[dict[str, Any]]:
        with self._heard:
            return [one for one in self._events if one["type"] == kind and one["data"].get("run_id") == run_id]

    def executors(self, group: str) -> list[Any]:
        """Those that are there."""
        listed = self.call("GET", "/v1/executors")["items"]
        return [one for one in listed if one["group"] == group and one["state"] in ("alive", "draining")]

    def lines(self, run_id: str) -> list[str]:
        """The whole log of a run."""
        lines, cursor = [], ""
        while True:
            page = self.call("GET", f"/v1/runs/{run_id}/logs?limit=200{cursor}")
            lines += [line["text"] for line in page["items"]]
            if not page["next_cursor"]:
                return lines
            cursor = f"&cursor={page['next_cursor']}"

    def expect_events(self, kind: str, streams: set[str], run_id: str | None = None) -> None:
        """Waits until an event of this kind came for each of the streams, about that run if one is named."""

        def missing() -> set[str]:
            return streams - self._streams.get((kind, run_id), set())

        with self._heard:
            if not self._heard.wait_for(lambda: not missing(), PATIENCE):
                raise Late(f"{len(missing())} of {len(streams)} streams have no {kind}")

    def _says(self, stream: str, since: int) -> bool:
        return any(one["stream"] == stream for one in self._events[since:])

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)

    def _follow(self) -> None:
        """Hears every event of the server; goes on where it was when the server is started again."""
        while not self._closed.is_set():
            try:
                self._listen()
            except (OSError, http.client.HTTPException):
                pass
            self._closed.wait(0.1)

    def _listen(self) -> None:
        connection = self._connect()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"}
        if self._position is not None:
            headers["Last-Event-ID"] = self._position
        path = "/v1/events" if self._position is not None else "/v1/events?after=0"
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise AssertionError(f"following the events: {answer.status} {answer.read()!r}")
        for raw in answer:
            field, _, value = raw.decode().rstrip("\r\n").partition(":")
            if field == "id":
                self._position = value.strip()
            elif field == "data":
                event = json.loads(value)
                with self._heard:
                    if "stream" in event:
                        self._events.append(event)
                        for about in {None, event["data"].get("run_id")}:
                            self._streams.setdefault((event["type"], about), set()).add(event["stream"])
                    self._heard.notify_all()


def _drain(said: Any, log: Any) -> None:
    with log:
        for line in said:
            log.write(line)
            log.flush()
