"""What a user of openapi-python-client does first: create a job, trigger it, read its run."""

import os
import time

from ordo_python_client import AuthenticatedClient
from ordo_python_client.api.jobs import create_job, read_job, trigger_job
from ordo_python_client.api.runs import read_run
from ordo_python_client.models import (
    Job,
    ManualTrigger,
    ManualTriggerType,
    NewJob,
    Problem,
    Run,
    RunBegun,
    RunStatusCompleted,
    RunStatusPending,
    RunStatusRunning,
    TriggerJob,
)
from ordo_python_client.types import UNSET

client = AuthenticatedClient(base_url=os.environ["ORDO_URL"], token=os.environ["ORDO_TOKEN"])
trigger = ManualTrigger(type_=ManualTriggerType.MANUAL)
job = create_job.sync(client=client, body=NewJob(label="python-client", tool_name="noop", trigger=trigger))
assert isinstance(job, Job), job
again = read_job.sync(job.id, client=client)
assert isinstance(again, Job) and isinstance(again.trigger, ManualTrigger) and again.priority == 5, again
begun = trigger_job.sync(job.id, client=client, body=TriggerJob(tool_input=UNSET))
assert isinstance(begun, RunBegun), begun
deadline = time.monotonic() + 30
while True:
    run = read_run.sync(begun.run_id, client=client)
    assert isinstance(run, Run), run
    if not isinstance(run.status, (RunStatusPending, RunStatusRunning)):
        break
    assert time.monotonic() < deadline, run
assert isinstance(run.status, RunStatusCompleted), run.status
refused = create_job.sync(client=client, body=NewJob(label="x", tool_name="nonsense", trigger=trigger))
assert isinstance(refused, Problem) and refused.code == "unknown_tool", refused
