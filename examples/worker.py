#!/usr/bin/env python3
"""An Ordo executor in plain Python: registers, fetches work, runs it, reports. Standard library only.

    ORDO_TOKEN=$(cat .ordo/token) python3 examples/worker.py http://127.0.0.1:7070
    ordo job add greet --group python --tool greet --input '{"name": "Ada"}'
"""
import json, os, signal, sys, threading, time, urllib.error, urllib.request

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7070"
OFFER = {"name": f"python-{os.getpid()}", "group": "python", "tools": ["greet"], "capacity": 4}
running, leaving = {}, threading.Event()  # run_id -> token


def call(method, path, body=None):
    """One request, JSON in and out."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("ORDO_TOKEN", "")}
    request = urllib.request.Request(SERVER + path, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)


def greet(run):
    """The work itself: its result is kept with the run; an exception is a failure.

    A run that a webhook brought about has what came in run["payload"]: hook, delivery, headers ([name, value] pairs),
    body and its encoding ("text", or "base64" for what is no text). run["traceparent"] goes along with calls to others.
    """
    return {"greeting": f"Hello {run['tool_input'].get('name', 'world')}, attempt {run['attempt']}"}


def work(run):
    who = {"run_id": run["run_id"], "token": run["token"]}  # the token says which attempt speaks
    call("POST", "/v1/runs/logs", {"chunks": [who | {"seq": 0, "lines": [{"text": "working"}]}]})
    try:
        status = {"type": "completed", "result": greet(run)}
    except Exception as error:
        status = {"type": "failed", "reason": str(error)}
    call("POST", "/v1/runs/report", {"reports": [who | {"status": status}]})
    running.pop(run["run_id"], None)


def beat(me):
    """Whoever is silent for longer than its lease is lost, and its runs are given to others."""
    while not leaving.wait(me["heartbeat_ms"] / 1000):
        held = [{"run_id": run_id, "token": token} for run_id, token in list(running.items())]
        reply = call("POST", f"/v1/executors/{me['id']}/heartbeat", {"runs": held})  # also returns what to cancel
        if reply.get("drain"):  # somebody wants this worker to finish what it has and go
            leaving.set()


me = call("POST", "/v1/executors", OFFER)
signal.signal(signal.SIGTERM, lambda *_: leaving.set())
threading.Thread(target=beat, args=(me,), daemon=True).start()
print("ready", flush=True)
while not leaving.is_set():
    free = OFFER["capacity"] - len(running)
    for run in call("POST", f"/v1/executors/{me['id']}/poll", {"max": max(free, 1), "wait_ms": 1000})["runs"]:
        running[run["run_id"]] = run["token"]
        threading.Thread(target=work, args=(run,)).start()
while running:  # what was begun is finished
    time.sleep(0.05)
call("DELETE", f"/v1/executors/{me['id']}")
