"""`ordo serve` in a folder of its own, with the programs that a story starts beside it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

READY = "ordo is ready at "
#: For whatever must happen: generous, because machines that test are busy.
PATIENCE_S = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(what: str, look: Callable[[], Any]) -> Any:
    """Asks until the answer is true: what happens in another process can be waited for by looking only."""
    end = time.monotonic() + PATIENCE_S
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        threading.Event().wait(0.1)


class Server:
    def __init__(self, ordo: Path, folder: Path) -> None:
        folder.mkdir()
        self.ordo_binary, self.folder = ordo, folder
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.programs: list[subprocess.Popen[bytes]] = []

    def start(self, configuration: str = "") -> Server:
        if configuration:
            (self.folder / "ordo.toml").write_text(configuration)
        seen = self.log.stat().st_size if self.log.exists() else 0
        listen = self.url.removeprefix("http://")
        with self.log.open("ab") as log:
            command = [str(self.ordo_binary), "serve", "--listen", listen]
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self._env(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

        def is_ready() -> bool:
            if self.process is None or self.process.poll() is not None:
                raise AssertionError("ordo serve ended before it was ready\n" + self.tail())
            return READY in self.log.read_bytes()[seen:].decode(errors="replace")

        eventually("the server is ready", is_ready)
        return self

    def kill(self) -> None:
        """As if the machine lost its power."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def ordo(self, *args: str) -> Any:
        """What a command of the command line prints as JSON."""
        done = subprocess.run(
            [str(self.ordo_binary), *args, "--output", "json"],
            cwd=self.folder,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"ordo {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def api(self, method: str, path: str, body: Any = None) -> Any:
        token = (self.folder / ".ordo/token").read_text().strip()
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def spawn(self, name: str, command: list[str], **env: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            program = subprocess.Popen(
                command, cwd=self.folder, env={**self._env(), **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.programs.append(program)
        return program

    def tail(self) -> str:
        files = sorted(self.folder.glob("*.log"))
        return "".join(f"--- {file.name}\n{file.read_text(errors='replace')[-1500:]}\n" for file in files)

    def close(self) -> None:
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.wait()
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    @staticmethod
    def _env() -> dict[str, str]:
        """Settings of whoever runs the tests are not the daemon's."""
        return {name: value for name, value in os.environ.items() if not name.startswith("ORDO_")}
