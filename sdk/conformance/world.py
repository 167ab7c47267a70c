"""What a scenario has: the server, the witness, and workers that it starts and ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from daemon import Daemon
from languages import Language
from proxy import Proxy
from witness import PATIENCE, Late, Witness


class Process:
    """A worker of the language that is tested."""

    def __init__(self, name: str, command: list[str], env: dict[str, str], log: Path) -> None:
        self.name = name
        self._log = log
        self._said: list[str] = []
        self._changed = threading.Condition()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ORDO_", "PYTHON"))}
        self._child = subprocess.Popen(
            command,
            env={**inherited, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def expect(self, text: str) -> None:
        """Waits until it says so."""
        with self._changed:
            if not self._changed.wait_for(lambda: any(text in line for line in self._said), PATIENCE):
                raise Late(f"{self.name} never said {text!r}: {self.said()}")

    def said(self) -> str:
        with self._changed:
            return "".join(self._said[-30:])

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def signal_other_thread(self, number: signal.Signals) -> None:
        """Not to the main thread, which may be waiting for something else."""
        other = max(int(one.name) for one in Path(f"/proc/{self._child.pid}/task").iterdir())
        assert other != self._child.pid, f"{self.name} has one thread only"
        if ctypes.CDLL(None, use_errno=True).tgkill(self._child.pid, other, number) != 0:
            raise OSError(ctypes.get_errno(), "tgkill")

    def ends(self) -> int:
        """Waits for its end; returns how it ended."""
        try:
            code = self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.name} does not end: {self.said()}") from None
        self._listener.join()
        return code

    def leaves(self) -> None:
        """It ends by itself, in order."""
        code = self.ends()
        assert code == 0, f"{self.name} ended with {code}: {self.said()}"

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()

    def _listen(self) -> None:
        assert self._child.stderr is not None
        with self._log.open("a") as log:
            for line in self._child.stderr:
                log.write(line)
                log.flush()
                with self._changed:
                    self._said.append(line)
                    self._changed.notify_all()


class World:
    """One scenario in one language. Its jobs and workers have a group of their own."""

    def __init__(self, scenario: str, language: Language, daemon: Daemon, folder: Path) -> None:
        self.language = language
        self.daemon = daemon
        self.group = f"{language.name}-{scenario}"
        self.witness = Witness()
        self._folder = folder
        self._processes: list[Process] = []
        self._proxies: list[Proxy] = []

    def worker(self, name: str, *, capacity: int = 4, grace_ms: int = 30_000, server: str = "", token: str = "") -> Process:
        """A worker that has registered, unless it is given a token of its own."""
        env = {
            "ORDO_SERVER": server or self.daemon.url,
            "ORDO_TOKEN": token or self.daemon.token,
            "WITNESS": self.witness.url,
            "WORKER_NAME": name,
            "WORKER_GROUP": self.group,
            "WORKER_CAPACITY": str(capacity),
            "WORKER_GRACE_MS": str(grace_ms),
        }
        process = self.start(name, self.language.worker, env)
        if not token:
            process.expect("is registered for")
        return process

    def start(self, name: str, command: list[str], env: dict[str, str]) -> Process:
        process = Process(name, command, env, self._folder / f"{self.group}-{name}.log")
        self._processes.append(process)
        return process

    def proxy(self) -> Proxy:
        proxy = Proxy(self.daemon.url)
        self._proxies.append(proxy)
        return proxy

    def once(self, tool: str, tool_input: Any = None, **job: Any) -> str:
        """A job for these workers, and one run of it."""
        definition = {"label": f"{self.group} {tool}", "group": self.group, "tool_name": tool, **job}
        if tool_input is not None:
            definition["tool_input"] = tool_input
        return self.daemon.once(**definition)

    def begun(self, run_id: str, worker: str, count: int = 1) -> Any:
        return self.witness.expect("never begun:", count, event="begun", run_id=run_id, worker=worker)

    def alive(self) -> list[str]:
        """The workers of this scenario that have not said that they leave. One that has may be shown for a moment more."""
        return [one["id"] for one in self.daemon.executors(self.group) if one["state"] == "alive"]

    def effects(self, run_id: str) -> list[Any]:
        return self.witness.facts(event="effect", run_id=run_id)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for proxy in self._proxies:
            proxy.close()
        self.witness.close()
