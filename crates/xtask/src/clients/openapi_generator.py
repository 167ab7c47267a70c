"""What a user of openapi-generator (python) does first: create a job, trigger it, read its run."""

import importlib
import os
import pkgutil
import time

import ordo_openapi_generator as ordo
from ordo_openapi_generator import models

for module in pkgutil.walk_packages(ordo.__path__, "ordo_openapi_generator."):
    importlib.import_module(module.name)

configuration = ordo.Configuration(host=os.environ["ORDO_URL"], access_token=os.environ["ORDO_TOKEN"])
with ordo.ApiClient(configuration) as client:
    jobs, runs = ordo.JobsApi(client), ordo.RunsApi(client)
    trigger = models.Trigger(models.ScheduledTrigger(type="scheduled", cron="0 2 * * *", timezone="Europe/Berlin"))
    job = jobs.create_job(
        models.NewJob(label="openapi-generator", tool_name="noop", trigger=trigger, block=models.Block(models.BlockName.SERIAL))
    )
    assert jobs.read_job(job.id).trigger.actual_instance.cron == "0 2 * * *"
    begun = jobs.trigger_job(job.id)
    deadline = time.monotonic() + 30
    while True:
        run = runs.read_run(begun.run_id)
        if run.status.actual_instance.type not in ("pending", "running"):
            break
        assert time.monotonic() < deadline, run
    assert run.status.actual_instance.type == "completed", run
    assert any(one.id == run.id for one in runs.list_runs(job_id=job.id).items)
    try:
        jobs.create_job(models.NewJob(label="x", tool_name="nonsense", trigger=trigger))
        raise AssertionError("an unknown tool was taken")
    except ordo.ApiException as refused:
        assert refused.status == 422, refused
