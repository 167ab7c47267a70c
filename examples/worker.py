#!/usr/bin/env python3
"""The protocol of executors in plain Python, without a package: registers, fetches work, runs it, reports.

It survives a restart of the server, stops what is cancelled or no longer its own, and leaves in order on SIGTERM. A worker
of your own is five lines with the package in sdk/python; this shows what happens underneath.

    ORDO_TOKEN=$(cat .ordo/token) python3 examples/worker.py http://127.0.0.1:7070
    ordo job add greet --group python --tool greet --input '{"name": "Ada", "seconds": 3}'
"""
import json, os, random, re, signal, sys, threading, time, urllib.error, urllib.request

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7070"
OFFER = {"name": f"python-{os.getpid()}", "group": "python", "tools": ["greet"], "capacity": 4}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
leaving = threading.Event()
held = {}  # (run_id, token) -> Attempt: what is named in heartbeats
lock = threading.Lock()


class Forgotten(Exception):
    """The server does not know this executor any more: what it runs is lost, and it registers again."""


class Attempt:
    def __init__(self, run):
        self.run, self.key = run, (run["run_id"], run["token"])
        self.stop = threading.Event()  # cancelled, lost or out of time
        self.lost = self.late = False


def call(method, path, body=None):
    """One request, JSON in and out; tried again until the server has answered it."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("ORDO_TOKEN", "")}
    sent = None if body is None else json.dumps(body).encode()
    pause = 0.1
    while True:
        try:
            request = urllib.request.Request(SERVER + path, sent, headers, method=method)
            with urllib.request.urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            problem = refused.read().decode(errors="replace")
            if refused.code == 404 and "executor_not_found" in problem:
                raise Forgotten from None
            if refused.code < 500 and refused.code not in (408, 409, 429):
                sys.exit(f"{method} {path}: {refused.code} {problem}")
        except OSError as error:  # no server, or one that was restarted meanwhile
            print(f"{SERVER} cannot be reached: {error}", file=sys.stderr)
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(pause * 2, 3)  # well below a lease, so that nobody is missed


def greet(attempt):
    """The work itself: its result is kept with the run; an exception is a failure. It stops when it is told to.

    A run that a webhook brought about has what came in run["payload"]: hook, delivery, headers ([name, value] pairs),
    body and its encoding ("text", or "base64" for what is no text). run["traceparent"] goes along with calls to others.
    """
    run = attempt.run
    if attempt.stop.wait(run["tool_input"].get("seconds", 0)):
        raise InterruptedError("told to stop")
    return {"greeting": f"Hello {run['tool_input'].get('name', 'world')}, attempt {run['attempt']}"}


def work(attempt):
    who = {"run_id": attempt.run["run_id"], "token": attempt.run["token"]}  # the token says which attempt speaks
    timeout = threading.Timer(seconds(attempt.run["timeout"]), out_of_time, [attempt])
    timeout.daemon = True
    timeout.start()
    call("POST", "/v1/runs/logs", {"chunks": [{**who, "seq": 0, "lines": [{"text": "working"}]}]})
    try:
        status = {"type": "completed", "result": greet(attempt)}
    except Exception as error:
        stopped = attempt.stop.is_set() and not attempt.late
        status = {"type": "cancelled"} if stopped else {"type": "failed", "reason": "timed out" if attempt.late else str(error)}
    timeout.cancel()
    waiting = [{**who, "status": status}]
    while waiting and not attempt.lost:  # 409 says that it was not ours any more
        results = call("POST", "/v1/runs/report", {"reports": waiting})["results"]
        waiting = [report for report, result in zip(waiting, results) if result["status"] >= 500]
    with lock:
        held.pop(attempt.key, None)


def out_of_time(attempt):
    attempt.late = True
    attempt.stop.set()


def seconds(duration):
    """The seconds of "1h30m" or "500ms"."""
    return sum(int(number) * UNITS[unit] for number, unit in re.findall("([0-9]+)(ms|s|m|h|d)", duration))


def lose(attempts):
    """No longer ours, somebody else may have them: stop, and do not report."""
    for attempt in attempts:
        attempt.lost = True
        attempt.stop.set()
        with lock:
            held.pop(attempt.key, None)


def beat(me, over):
    """Whoever is silent for longer than its lease is lost, and its runs are given to others."""
    try:
        while not over.wait(me["heartbeat_ms"] / 1000):
            with lock:
                named = list(held.values())
            runs = [{"run_id": one.run["run_id"], "token": one.run["token"]} for one in named]
            reply = call("POST", f"/v1/executors/{me['id']}/heartbeat", {"runs": runs})
            for one in named:
                if one.run["run_id"] in reply["cancel"]:
                    one.stop.set()
            lose(one for one in named if one.run["run_id"] in reply["lost"])
            if reply.get("drain"):  # somebody wants this worker to finish what it has and go
                leaving.set()
    except Forgotten:
        over.set()


def live(me):
    """From a registration until the worker leaves; raises Forgotten if the server does not know it any more."""
    over = threading.Event()
    threading.Thread(target=beat, args=(me, over), daemon=True).start()
    try:
        while not leaving.is_set() and not over.is_set():
            free = OFFER["capacity"] - len(held)  # also when it is full: what is to end comes the same way, at once
            polled = call("POST", f"/v1/executors/{me['id']}/poll", {"max": max(free, 1), "wait_ms": 1000})
            with lock:
                ending = [one for one in held.values() if one.run["run_id"] in polled.get("cancel", [])]
            for one in ending:
                one.stop.set()
            for run in polled["runs"]:  # whatever is answered counts as begun
                attempt = Attempt(run)
                with lock:
                    held[attempt.key] = attempt
                threading.Thread(target=work, args=(attempt,), daemon=True).start()
            if polled.get("drain"):
                leaving.set()
        while held and not over.is_set():  # what was begun is finished
            time.sleep(0.05)
        if over.is_set():
            raise Forgotten
    finally:
        over.set()
    call("DELETE", f"/v1/executors/{me['id']}")


signal.signal(signal.SIGTERM, lambda *_: leaving.set())
signal.signal(signal.SIGINT, lambda *_: leaving.set())
ready = False
while not leaving.is_set():
    me = call("POST", "/v1/executors", OFFER)
    if not ready:
        print("ready", flush=True)
        ready = True
    try:
        live(me)
    except Forgotten:
        lose(list(held.values()))
