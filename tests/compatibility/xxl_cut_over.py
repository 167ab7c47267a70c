"""A job moves from XXL-JOB to Ordo while its executors move one after the other: every occurrence runs once.

XXL-JOB's admin is a stand-in here: it takes registrations, and fires one job every other second until the cut-over. The
executors are real, and are moved as people do it: stopped, and started with another address of the admin.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
import urllib.request
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from server import Server, eventually, free_port
from xxl_executors import APP, CONFIGURATION, TOKEN, Fleet

PERIOD_S = 2
JOB_ID = 7
DUMP = f"""\
-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
INSERT INTO `xxl_job_group` (`id`,`app_name`,`title`,`address_type`,`address_list`) VALUES (3,'{APP}','Demo',0,NULL);
INSERT INTO `xxl_job_info` (`id`,`job_group`,`job_desc`,`author`,`alarm_email`,`schedule_type`,`schedule_conf`,
  `misfire_strategy`,`executor_route_strategy`,`executor_handler`,`executor_param`,`executor_block_strategy`,
  `executor_timeout`,`executor_fail_retry_count`,`glue_type`,`child_jobid`,`trigger_status`) VALUES
  ({JOB_ID},3,'often','XXL','','CRON','0/{PERIOD_S} * * * * ?','FIRE_ONCE_NOW','ROUND','quick','p','SERIAL_EXECUTION',
   60,0,'BEAN','8',1),
  (8,3,'after it','XXL','','NONE','','DO_NOTHING','FIRST','quick','child','SERIAL_EXECUTION',60,0,'BEAN','',0),
  (9,3,'by script','XXL','','NONE','','DO_NOTHING','FIRST','','','SERIAL_EXECUTION',60,0,'GLUE_SHELL','',0);
"""


class Admin:
    """As much of XXL-JOB's admin as executors see."""

    def __init__(self) -> None:
        self.executors: list[str] = []
        self.fired: list[int] = []
        self.until: float | None = None
        admin = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.endswith("registry") and body["registryValue"] not in admin.executors:
                    admin.executors.append(body["registryValue"])
                if self.path.endswith("registryRemove") and body["registryValue"] in admin.executors:
                    admin.executors.remove(body["registryValue"])
                answer = b'{"code": 200, "msg": null}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/xxl-job-admin/api/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.firing = threading.Thread(target=self._fire, daemon=True)

    def _fire(self) -> None:
        due = (int(time.time()) // PERIOD_S + 1) * PERIOD_S
        while self.until is None or due < self.until:
            threading.Event().wait(max(0.0, due - time.time()))
            self._run(due)
            due += PERIOD_S

    def _run(self, due: int) -> None:
        address = self.executors[len(self.fired) % len(self.executors)]
        body = {
            "jobId": JOB_ID,
            "executorHandler": "quick",
            "executorParams": "p",
            "executorBlockStrategy": "SERIAL_EXECUTION",
            "executorTimeout": 60,
            "logId": due,
            "logDateTime": due * 1000,
            "glueType": "BEAN",
            "broadcastIndex": 0,
            "broadcastTotal": 1,
        }
        request = urllib.request.Request(f"{address.rstrip('/')}/run", method="POST", data=json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        request.add_header("XXL-JOB-ACCESS-TOKEN", TOKEN)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.loads(answer.read())["code"] == 200
        self.fired.append(due)


def xxl_cut_over_misses_and_doubles_nothing(server: Server) -> None:
    server.start(CONFIGURATION)
    dump = server.folder / "dump.sql"
    dump.write_text(DUMP)
    admin, fleet = Admin(), Fleet(server)
    ports = [fleet.start(admin.url) for _ in range(3)]
    eventually("three executors are there", lambda: len(admin.executors) == 3)
    admin.firing.start()
    eventually("XXL-JOB fires", lambda: len(fleet.witness("quick")) >= 2)

    imported = _import(server, "--tz", "UTC")
    assert [item["action"] for item in imported] == ["new", "new", "refused"], imported
    assert "GLUE_SHELL" in imported[2]["reason"], imported
    jobs = {job["label"]: job for job in server.ordo("job", "list")}
    often, child = jobs[f"{APP}/quick-7"], jobs[f"{APP}/quick-8"]
    assert often["state"] != "active", "held until the cut-over"
    shown = server.api("GET", f"/v1/jobs/{child['id']}")
    assert shown["after"]["jobs"] == [often["id"]], shown

    def move(port: int) -> None:
        fleet.processes[port].terminate()
        fleet.processes[port].wait()
        fleet.start(port=port)

    move(ports[0])
    eventually("the first has moved", lambda: len(fleet.there()) == 1)
    # Between two occurrences, some time ahead.
    cut_over = (int(time.time()) // PERIOD_S + 8) * PERIOD_S + 1
    at = datetime.fromtimestamp(cut_over, UTC).isoformat()
    admin.until = cut_over
    _import(server, "--tz", "UTC", "--cut-over", at)
    admin.firing.join()
    ended = lambda: [run for run in fleet.runs(often["id"]) if run["status"]["type"] == "completed"]  # noqa: E731
    eventually("Ordo fires", lambda: len(ended()) >= 2)
    move(ports[1])
    move(ports[2])
    eventually("all have moved", lambda: len(fleet.there()) == 3)
    eventually("Ordo fires on", lambda: len(ended()) >= 8)
    children = lambda: [run for run in fleet.runs(child["id"]) if run["status"]["type"] == "completed"]  # noqa: E731
    eventually("its child runs after it", lambda: len(children()) >= 2)
    server.ordo("job", "pause", often["id"])
    eventually("all is over", lambda: all(run["status"]["type"] in ("completed", "skipped") for run in fleet.runs(often["id"])))

    here = sorted(_second(run["scheduled_for"]) for run in ended())
    everything = admin.fired + here
    assert everything == list(range(everything[0], everything[-1] + 1, PERIOD_S)), (admin.fired, here)
    assert admin.fired[-1] < cut_over < here[0], (admin.fired[-1], cut_over, here[0])
    ran = [line for line in fleet.witness("quick") if line["job"] == JOB_ID]
    assert len(ran) == len(everything) == len({line["log"] for line in ran}), (len(ran), len(everything))


def _import(server: Server, *more: str) -> Any:
    """One row is refused, so the command fails; what it did is printed all the same."""
    done = subprocess.run(
        [str(server.ordo_binary), "import", "xxl", "dump.sql", *more, "--output", "json"],
        cwd=server.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def _second(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


ALL = [xxl_cut_over_misses_and_doubles_nothing]
