"""What docs/scaling.md has others run: the manifest for KubeRay, against what its types ask for, as operators
drop what they do not know and say nothing; and the script for Slurm.
"""

import os
import re
import shutil
import subprocess
from copy import deepcopy
from functools import reduce
from importlib.metadata import requires
from operator import getitem
from pathlib import Path

import pytest
import srsly
from packaging.requirements import Requirement

jsonschema = pytest.importorskip("jsonschema")
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"

NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
#: `resource.Quantity` of Kubernetes.
QUANTITY = {
    "type": ["string", "integer"],
    "pattern": r"^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$",
}
COUNT = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}


def fields(required="", **types):
    """An object with these fields alone: those that are required, and others."""
    return {
        "type": "object",
        "required": required.split(),
        "properties": types,
        "additionalProperties": False,
    }


AMOUNTS = fields(**dict.fromkeys(("cpu", "memory", "ephemeral-storage"), QUANTITY))
CONTAINER = fields(
    "name image", name=NAME, image={"type": "string"}, resources=fields(requests=AMOUNTS, limits=AMOUNTS)
)
POD = fields(
    "spec", spec=fields("containers", containers={"type": "array", "minItems": 1, "items": CONTAINER})
)
GROUP = {"rayStartParams": STRINGS, "template": POD}
#: Of `RayJob` in ray.io/v1 what the manifest has, with all that any version of it requires. Fields of which
#: versions differ are not stated.
RAY_JOB = fields(
    "apiVersion kind metadata spec",
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=fields("name", name=NAME),
    spec=fields(
        "entrypoint rayClusterSpec",
        entrypoint={"type": "string"},
        shutdownAfterJobFinishes={"type": "boolean"},
        rayClusterSpec=fields(
            "headGroupSpec",
            rayVersion={"type": "string"},
            headGroupSpec=fields("rayStartParams template", **GROUP),
            workerGroupSpecs={
                "type": "array",
                "items": fields(
                    "groupName minReplicas maxReplicas rayStartParams template",
                    groupName=NAME,
                    **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), COUNT),
                    **GROUP,
                ),
            },
        ),
    ),
)


def block(language):
    """The only code of a language on the page."""
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf8"), re.MULTILINE | re.DOTALL
    )
    return found


@pytest.fixture(scope="module")
def manifest():
    return srsly.yaml_loads(block("yaml"))


def fields_of(value, *path):
    """Where the fields are that have names of their own: what `ray start` is told are a map's keys."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        if path[-1:] != ("rayStartParams",):
            if isinstance(key, str):
                yield *path, key
            yield from fields_of(value[key], *path, key)


def damaged(manifest, *path, value):
    """A copy with another value somewhere, or without it."""
    copy = deepcopy(manifest)
    inner = reduce(getitem, path[:-1], copy)
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


def test_the_manifest_has_the_fields_and_types_of_a_ray_job(manifest):
    jsonschema.Draft202012Validator.check_schema(RAY_JOB)
    jsonschema.validate(manifest, RAY_JOB)
    fields = list(fields_of(manifest))
    assert len(fields) > 30
    for path in fields:
        copy = deepcopy(manifest)
        inner = reduce(getitem, path[:-1], copy)
        inner[path[-1].swapcase()] = inner.pop(path[-1])
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(copy, RAY_JOB)
    cluster = ("spec", "rayClusterSpec")
    for path, value in (
        ((*cluster, "headGroupSpec", "rayStartParams", "num-cpus"), 0),
        ((*cluster, "workerGroupSpecs", 0, "replicas"), "8"),
        ((*cluster, "workerGroupSpecs", 0, "maxReplicas"), None),
        (
            (*cluster, "headGroupSpec", "template", "spec", "containers", 0, "resources", "limits", "memory"),
            "4 GB",
        ),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(damaged(manifest, *path, value=value), RAY_JOB)


def test_the_manifest_agrees_with_itself_and_with_the_extra(manifest):
    spec = manifest["spec"]
    cluster = spec["rayClusterSpec"]
    (versions,) = {
        str(each.specifier)
        for each in map(Requirement, requires("spacy-hpyp"))
        if each.name == "ray" and each.marker
    }
    assert cluster["rayVersion"] in Requirement(f"ray{versions}").specifier
    cores = 0
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"] == cluster["headGroupSpec"]["template"]["spec"]["containers"][0]["image"]
        cores += group["replicas"] * int(container["resources"]["requests"]["cpu"])
    assert f"--workers {cores}" in spec["entrypoint"]
    # Workers are where there are cores: none is beside the command.
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "job.sh"
    path.write_text(block("bash"), encoding="utf8")
    return path


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_the_script_for_slurm_has_nothing_that_shells_warn_of(script):
    subprocess.run(["shellcheck", script], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_for_slurm_starts_a_head_and_the_other_nodes_and_then_parses(script, tmp_path):
    subprocess.run(["bash", "-n", script], check=True)
    for name in ("srun", "sleep", "python"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/log"\n')
    (tmp_path / "scontrol").write_text(
        '#!/bin/sh\n[ "$*" = "show hostnames n[1-4]" ] && printf "n1\\nn2\\nn3\\nn4\\n"\n'
    )
    for name in ("srun", "sleep", "python", "scontrol"):
        (tmp_path / name).chmod(0o755)
    told = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n[1-4]"}
    subprocess.run(["bash", "-u", script], check=True, env=told)
    ran = (tmp_path / "log").read_text().splitlines()
    (head,) = (line for line in ran if "--head" in line)
    (others,) = (line for line in ran if "ray start --address=n1:6379" in line)
    settings = dict(re.findall(r"--(\S+)=(\S+)", re.search(r"#SBATCH .*", script.read_text())[0]))
    number, cores = int(settings["nodes"]) - 1, settings["cpus-per-task"]
    assert re.search(rf"--nodes=1 --ntasks=1 .*-w n1 ray start --head .*--num-cpus={cores} ", head)
    assert re.search(
        rf"--nodes={number} --ntasks={number} .*--exclude=n1 ray start .*--num-cpus={cores} ", others
    )
    # Steps of a job do not have its cores by themselves.
    assert f"export SRUN_CPUS_PER_TASK={cores}\n" in script.read_text()
    assert re.search(r"hpyp parse .* --ray n1:6379$", ran[-1])
