"""An executor as a user of XXL-JOB writes one with pyxxl. What its handlers did is written to a file, one line each.

    python xxl_worker.py ADMIN_URL APP TOKEN PORT FOLDER
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from pyxxl import ExecutorConfig, PyxxlRunner
from pyxxl.ctx import g

admin, app_name, token, port, folder = sys.argv[1:6]
FOLDER = Path(folder)
(FOLDER / f"logs-{port}").mkdir(exist_ok=True)
runner = PyxxlRunner(
    ExecutorConfig(
        xxl_admin_baseurl=admin,
        executor_app_name=app_name,
        access_token=token,
        executor_listen_host="127.0.0.1",
        executor_listen_port=int(port),
        executor_log_path=str(FOLDER / f"pyxxl-{port}.log"),
        log_local_dir=str(FOLDER / f"logs-{port}"),
        # The server is away for a moment in some stories.
        http_retry_times=60,
        http_retry_duration=1,
        dotenv_try=False,
    )
)


def note(what: str) -> None:
    data = g.xxl_run_data
    line = {
        "what": what,
        "port": int(port),
        "job": data.jobId,
        "log": data.logId,
        "params": data.executorParams,
        "index": data.broadcastIndex,
        "total": data.broadcastTotal,
        "at": time.time(),
    }
    with (FOLDER / "witness.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


@runner.register(name="quick")
async def quick() -> str:
    note("quick")
    g.logger.info("hello from %s with %s", port, g.xxl_run_data.executorParams)
    return "done"


@runner.register(name="slow")
async def slow() -> str:
    """Until a file with the name of its parameter is there."""
    note("slow begins")
    gate = FOLDER / str(g.xxl_run_data.executorParams)
    lines = 0
    try:
        while not gate.exists():
            lines += 1
            g.logger.info("slow line %s", lines)
            await asyncio.sleep(0.2)
    except asyncio.CancelledError:
        note("slow killed")
        raise
    note("slow ends")
    return f"{lines} lines"


@runner.register(name="talkative")
async def talkative() -> str:
    for number in range(2500):
        g.logger.info("line %s", number)
    return "said"


@runner.register(name="fails")
async def fails() -> None:
    note("fails")
    raise ValueError("it cannot be done")


print(os.getpid(), flush=True)
runner.run_executor()
