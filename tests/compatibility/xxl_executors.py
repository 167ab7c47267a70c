"""Executors made with pyxxl, unchanged, register with Ordo as if it were XXL-JOB's admin, and run its jobs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from server import Server, eventually, free_port

APP = "demo"
TOKEN = "test-token-7c1f"
CONFIGURATION = f"""\
[xxl.groups.{APP}]
access_token = "{TOKEN}"
allow = ["127.0.0.0/8"]
"""
OVER = ("completed", "failed", "cancelled", "skipped")


class Fleet:
    """Executors beside a server, and what their handlers did."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, admin: str | None = None, port: int | None = None) -> int:
        port = port or free_port()
        worker = Path(__file__).with_name("xxl_worker.py")
        admin = admin or f"{self.server.url}/xxl-job-admin/api/"
        command = [sys.executable, str(worker), admin, APP, TOKEN, str(port), str(self.server.folder)]
        self.processes[port] = self.server.spawn(f"executor-{port}", command)
        return port

    def three(self) -> list[int]:
        ports = [self.start() for _ in range(3)]
        eventually("three executors are there", lambda: len(self.there()) == 3)
        return ports

    def there(self) -> list[Any]:
        listed = self.server.ordo("executors")
        return [one for one in listed if one["group"] == APP and one["state"] == "alive"]

    def witness(self, what: str = "") -> list[Any]:
        file = self.server.folder / "witness.jsonl"
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [line for line in lines if line["what"].startswith(what)]

    def job(self, label: str, handler: str, params: str = "", **more: Any) -> str:
        body = {
            "label": label,
            "group": APP,
            "tool_name": "xxl",
            "tool_input": {"handler": handler, "params": params},
            "trigger": {"type": "manual"},
            **more,
        }
        created: str = self.server.api("POST", "/v1/jobs", body)["id"]
        return created

    def trigger(self, job: str) -> str:
        run: str = self.server.api("POST", f"/v1/jobs/{job}/trigger", {})["run_id"]
        return run

    def run(self, run: str) -> Any:
        return self.server.api("GET", f"/v1/runs/{run}")

    def over(self, run: str) -> Any:
        eventually(f"{run} is over", lambda: self.run(run)["status"]["type"] in OVER)
        return self.run(run)

    def runs(self, job: str) -> list[Any]:
        items: list[Any] = self.server.api("GET", f"/v1/runs?job_id={job}&limit=200")["items"]
        return items

    def lines(self, run: str) -> list[str]:
        lines: list[str] = []
        cursor = ""
        while True:
            page = self.server.api("GET", f"/v1/runs/{run}/logs?limit=200{cursor}")
            lines += [line["text"] for line in page["items"]]
            if not page["next_cursor"]:
                return lines
            cursor = f"&cursor={page['next_cursor']}"


def xxl_executors_run_under_every_routing(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    ports = fleet.three()
    alone, in_turn = {"first", "last", "consistent_hash"}, {"round", "lru"}
    for routing in ["first", "last", "round", "random", "consistent_hash", "lfu", "lru", "failover", "busyover"]:
        job = fleet.job(f"by {routing}", "quick", routing, routing=routing)
        for _ in range(6):
            ended = fleet.over(fleet.trigger(job))
            assert ended["status"]["type"] == "completed", (routing, ended)
        seen = Counter(line["port"] for line in fleet.witness("quick") if line["params"] == routing)
        assert sum(seen.values()) == 6, (routing, seen)
        if routing in alone:
            assert len(seen) == 1, (routing, seen)
        if routing in in_turn:
            assert set(seen.values()) == {2} and set(seen) == set(ports), (routing, seen)


def xxl_executors_share_a_broadcast(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    ports = fleet.three()
    job = fleet.job("all of them", "quick", "x", routing="sharding_broadcast")
    ended = fleet.over(fleet.trigger(job))
    assert ended["status"]["type"] == "completed", ended
    seen = fleet.witness("quick")
    assert {line["port"] for line in seen} == set(ports), seen
    assert sorted((line["index"], line["total"]) for line in seen) == [(0, 3), (1, 3), (2, 3)], seen


def xxl_executors_log_result_and_failure(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    fleet.start()
    eventually("an executor is there", fleet.there)
    run = fleet.trigger(fleet.job("words", "talkative"))
    ended = fleet.over(run)
    assert ended["status"] == {"type": "completed", "result": "said"} or ended["status"]["result"] == "said", ended
    numbers = [int(found[1]) for line in fleet.lines(run) if (found := re.search(r" line (\d+)$", line))]
    assert numbers == list(range(2500)), f"{len(numbers)} lines"
    failed = fleet.over(fleet.trigger(fleet.job("no luck", "fails")))
    assert failed["status"]["type"] == "failed" and "it cannot be done" in json.dumps(failed["status"]), failed
    missing = fleet.over(fleet.trigger(fleet.job("nobody", "no such handler")))
    assert missing["status"]["type"] == "failed" and "not found" in json.dumps(missing["status"]), missing
    retried = fleet.over(fleet.trigger(fleet.job("again", "fails", retry={"max_attempts": 2, "backoff": "10ms"})))
    assert retried["status"]["type"] == "failed", retried
    assert len(fleet.witness("fails")) == 3, "once, and twice"


def xxl_executors_keep_to_every_block_strategy(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    fleet.three()
    gate = lambda name: (server.folder / name).touch()  # noqa: E731
    begun = lambda name: [line for line in fleet.witness("slow begins") if line["params"] == name]  # noqa: E731

    job = fleet.job("serial", "slow", "serial-gate", block="serial", routing="round")
    first, second = fleet.trigger(job), fleet.trigger(job)
    eventually("the first begins", lambda: begun("serial-gate"))
    assert fleet.run(second)["status"]["type"] == "pending" and len(begun("serial-gate")) == 1
    gate("serial-gate")
    assert [fleet.over(run)["status"]["type"] for run in (first, second)] == ["completed", "completed"]

    job = fleet.job("discard", "slow", "discard-gate", block="discard", routing="round")
    first = fleet.trigger(job)
    eventually("it begins", lambda: begun("discard-gate"))
    second = fleet.trigger(job)
    assert fleet.over(second)["status"]["type"] == "skipped"
    gate("discard-gate")
    assert fleet.over(first)["status"]["type"] == "completed" and len(begun("discard-gate")) == 1

    job = fleet.job("cover", "slow", "cover-gate", block="cover", routing="first")
    first = fleet.trigger(job)
    eventually("it begins", lambda: begun("cover-gate"))
    second = fleet.trigger(job)
    assert fleet.over(first)["status"]["type"] == "cancelled"
    eventually("the other begins", lambda: len(begun("cover-gate")) == 2)
    gate("cover-gate")
    assert fleet.over(second)["status"]["type"] == "completed"
    assert len(fleet.witness("slow killed")) == 1


def xxl_executors_are_told_to_end_a_run(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    fleet.start()
    eventually("an executor is there", fleet.there)
    run = fleet.trigger(fleet.job("endless", "slow", "never"))
    eventually("it begins", lambda: fleet.witness("slow begins"))
    eventually("its log is read while it runs", lambda: any("slow line 1" in line for line in fleet.lines(run)))
    server.ordo("run", "cancel", run)
    ended = fleet.over(run)
    assert ended["status"]["type"] == "cancelled", ended
    assert fleet.witness("slow killed")


def xxl_runs_survive_a_server_that_is_killed(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    fleet.three()
    job = fleet.job("long", "slow", "gate", routing="round", block="concurrent")
    runs = [fleet.trigger(job) for _ in range(3)]
    eventually("all begin", lambda: len(fleet.witness("slow begins")) == 3)
    eventually("logs come", lambda: all(fleet.lines(run) for run in runs))
    server.kill()
    (server.folder / "gate").touch()
    eventually("they end while nobody listens", lambda: len(fleet.witness("slow ends")) == 3)
    server.start()
    for run in runs:
        ended = fleet.over(run)
        assert ended["status"]["type"] == "completed", ended
        numbers = [int(found[1]) for line in fleet.lines(run) if (found := re.search(r"slow line (\d+)$", line))]
        assert numbers == list(range(1, len(numbers) + 1)), "no line is missing or doubled"
        assert json.dumps(ended["status"]).count(f"{len(numbers)} lines") == 1, (ended, numbers)
    assert len(fleet.witness("slow begins")) == 3, "nothing ran twice"


def xxl_runs_of_an_executor_that_dies_go_elsewhere(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    fleet.three()
    retry = {"max_attempts": 2, "backoff": "10ms"}
    run = fleet.trigger(fleet.job("moves on", "slow", "gate", idempotent=True, retry=retry))
    seen = eventually("it begins", lambda: fleet.witness("slow begins"))
    fleet.processes[seen[0]["port"]].kill()
    again = eventually("it begins elsewhere", lambda: fleet.witness("slow begins")[1:])
    assert again[0]["port"] != seen[0]["port"]
    (server.folder / "gate").touch()
    assert fleet.over(run)["status"]["type"] == "completed"


def _say(server: Server, path: str, token: str | None, body: Any) -> Any:
    request = urllib.request.Request(f"{server.url}/xxl-job-admin/api/{path}", method="POST")
    request.data = json.dumps(body).encode()
    if token is not None:
        request.add_header("XXL-JOB-ACCESS-TOKEN", token)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def xxl_strangers_are_refused(server: Server) -> None:
    server.start(CONFIGURATION)
    fleet = Fleet(server)
    port = fleet.start()
    eventually("an executor is there", fleet.there)
    here = {"registryGroup": "EXECUTOR", "registryKey": APP, "registryValue": "http://127.0.0.1:9"}
    inside = {**here, "registryValue": "http://169.254.169.254/"}
    for token, body in [(None, here), ("wrong", here), (TOKEN, {**here, "registryKey": "other"}), (TOKEN, inside)]:
        assert _say(server, "registry", token, body)["code"] == 500, (token, body)
    gone = {**here, "registryValue": f"http://127.0.0.1:{port}"}
    assert _say(server, "registryRemove", "wrong", gone)["code"] == 500
    run = fleet.trigger(fleet.job("mine", "slow", "gate"))
    log = eventually("it begins", lambda: fleet.witness("slow begins"))[0]["log"]
    assert _say(server, "callback", "wrong", [{"logId": log, "handleCode": 200}])["code"] == 500
    assert fleet.run(run)["status"]["type"] == "running"
    assert len(fleet.there()) == 1
    (server.folder / "gate").touch()
    assert fleet.over(run)["status"]["type"] == "completed"


ALL = [
    xxl_executors_run_under_every_routing,
    xxl_executors_share_a_broadcast,
    xxl_executors_log_result_and_failure,
    xxl_executors_keep_to_every_block_strategy,
    xxl_executors_are_told_to_end_a_run,
    xxl_runs_survive_a_server_that_is_killed,
    xxl_runs_of_an_executor_that_dies_go_elsewhere,
    xxl_strangers_are_refused,
]
