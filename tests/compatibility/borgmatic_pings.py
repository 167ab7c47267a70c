"""borgmatic backs up with borg and reports to what it takes for Healthchecks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

from server import Server, eventually

CONFIGURATION = """\
source_directories:
    - {source}
source_directories_must_exist: true
repositories:
    - path: {repository}
healthchecks:
    ping_url: {url}
    send_logs: true
    create_slug: {create}
"""


class Backup:
    """A folder to back up, and borgmatic that pings this address."""

    def __init__(self, server: Server, url: str, *, create: bool = False) -> None:
        self.folder = server.folder / "backup"
        (self.folder / "home").mkdir(parents=True, exist_ok=True)
        self.source = self.folder / "source"
        self.source.mkdir(exist_ok=True)
        (self.source / "letter.txt").write_text("kept\n")
        repository = self.folder / "repository"
        self.file = self.folder / "borgmatic.yaml"
        values = {"source": self.source, "repository": repository, "url": url, "create": str(create).lower()}
        self.file.write_text(CONFIGURATION.format(**values))
        if not repository.exists():
            self.run("repo-create", "--encryption", "none")

    def run(self, *action: str) -> int:
        program = Path(sys.executable).with_name("borgmatic")
        home = str(self.folder / "home")
        env = {"PATH": os.environ["PATH"], "HOME": home, "XDG_CACHE_HOME": home, "BORG_BASE_DIR": home}
        with (self.folder.parent / "borgmatic.log").open("ab") as log:
            done = subprocess.run(
                [str(program), "--config", str(self.file), "--verbosity", "1", *action],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        return done.returncode


def _badge(server: Server, path: str) -> str:
    with urllib.request.urlopen(server.url + path.removesuffix(".svg") + ".json", timeout=30) as answer:
        return str(json.loads(answer.read())["status"])


def borgmatic_reports_its_backups(server: Server) -> None:
    server.start()
    made = server.ordo("monitor", "add", "nightly", "--every", "1d", "--grace", "1h")
    backup = Backup(server, server.url + made["ping_path"])
    assert backup.run("create") == 0
    shown = server.ordo("monitor", "show", "nightly")
    signals = [ping["signal"] for ping in shown["pings"]]
    assert shown["status"] == "up" and {"start", "success"} <= set(signals), signals
    assert next(ping for ping in shown["pings"] if ping["signal"] == "success")["took_ms"] >= 0
    assert "repository" in shown["last_said"], shown["last_said"]
    assert _badge(server, shown["badge_path"]) == "up"

    (backup.source / "letter.txt").unlink()
    backup.source.rmdir()
    assert backup.run("create") != 0
    shown = server.ordo("monitor", "show", "nightly")
    assert shown["status"] == "failing" and shown["last_ping"]["signal"] == "fail", shown
    assert "source" in shown["last_said"], shown["last_said"]
    assert _badge(server, shown["badge_path"]) == "down"
    open_ones = lambda: server.ordo("incident", "list", "--status", "open")  # noqa: E731
    eventually("an incident opens", open_ones)

    backup = Backup(server, server.url + made["ping_path"])
    assert backup.run("create") == 0
    eventually("the incident is resolved", lambda: not open_ones())


def borgmatic_adds_its_own_monitor_by_name(server: Server) -> None:
    server.start()
    key = server.ordo("token", "add", "wrappers", "--role", "pinger")["token"]
    backup = Backup(server, f"{server.url}/ping/{key}/by-name", create=True)
    assert backup.run("create") == 0
    shown = server.ordo("monitor", "show", "by-name")
    assert (shown["status"], shown["every"], shown["grace"]) == ("up", "1d", "1h"), shown
    # Some wrappers only knock.
    knock = urllib.request.Request(f"{server.url}/ping/{key}/by-name", method="HEAD")
    with urllib.request.urlopen(knock, timeout=30) as answer:
        assert answer.status == 200 and answer.headers["Ping-Body-Limit"] == "65536", dict(answer.headers)


ALL = [borgmatic_reports_its_backups, borgmatic_adds_its_own_monitor_by_name]
