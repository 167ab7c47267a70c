"""Holds the manifests and the chart to the schemas of Kubernetes. manifests.py ROOT [VERSION]"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

KUBERNETES = sys.argv[2] if len(sys.argv) > 2 else "1.30"
root = pathlib.Path(sys.argv[1])
chart = root / "deploy/helm/ordo"


def merged(below, above):
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {key: merged(below[key], above[key]) if key in below and key in above else {**below, **above}[key] for key in {**below, **above}}


def documents(text, where):
    found = [document for document in yaml.safe_load_all(text) if document]
    for document in found:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    kinds = ", ".join(document["kind"] for document in found)
    print(f"passed: {where}: {kinds}")
    return found


def rendered(more):
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    values = merged(yaml.safe_load((chart / "values.yaml").read_text()), more)
    given = {"Values": values, "Release": {"Name": "mine"}, "Chart": {"AppVersion": about["appVersion"], "Name": about["name"]}}
    if shutil.which("helm"):
        command = ["helm", "template", "mine", str(chart), "--values", "-"]
        return subprocess.run(command, input=json.dumps(more), capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.json"
        file.write_text(json.dumps(given))
        command = ["go", "run", str(root / "tests/dist/chart.go"), str(chart), str(file)]
        return subprocess.run(command, capture_output=True, text=True)


def chart_documents(name, more):
    answer = rendered(more)
    assert answer.returncode == 0, answer.stderr
    return documents(answer.stdout, f"the chart, {name}")


def container(found, kind):
    return next(one for one in found if one["kind"] == kind)["spec"]["template"]["spec"]["containers"][0]


version = json.loads(json.dumps(yaml.safe_load((chart / "Chart.yaml").read_text())))["version"]
for manifest in sorted((root / "deploy/kubernetes").glob("*.yaml")):
    found = documents(manifest.read_text(), manifest.name)
    images = [container([one], one["kind"])["image"] for one in found if one["kind"] in ("StatefulSet", "Deployment")]
    assert images == [f"ordo:{version}"], images

if not shutil.which("helm") and not shutil.which("go"):
    print("skipped: the chart needs helm or go to be rendered")
    sys.exit(0)
alone = chart_documents("one node", {})
assert container(alone, "StatefulSet")["image"] == f"ordo:{version}"
shared = chart_documents("three nodes on a database", {
    "replicas": 3, "database": {"secret": "ordo-store"}, "keySecret": "ordo-key", "config": "[time]\nzones = 'bundled'\n",
    "ingress": {"enabled": True, "host": "ordo.example.com", "className": "nginx", "tlsSecret": "tls"},
})
names = [variable["name"] for variable in container(shared, "Deployment")["env"]]
assert "ORDO_STORE__PATH" in names and "ORDO_SECRETS__KEY_FILE" in names, names
refused = rendered({"replicas": 3})
assert refused.returncode != 0 and "needs a database" in refused.stderr, refused
print("passed: the chart refuses several nodes without a database")
