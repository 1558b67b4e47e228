"""The manifest for KubeRay in docs/scaling.md, against what its types ask for: operators drop what they do not know, and say nothing."""

import re
from copy import deepcopy
from importlib.metadata import requires
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
    return {"type": "object", "required": required.split(), "properties": types, "additionalProperties": False}


AMOUNTS = fields(**dict.fromkeys(("cpu", "memory", "ephemeral-storage"), QUANTITY))
CONTAINER = fields(
    "name image", name=NAME, image={"type": "string"}, resources=fields(requests=AMOUNTS, limits=AMOUNTS)
)
POD = fields("spec", spec=fields("containers", containers={"type": "array", "minItems": 1, "items": CONTAINER}))
GROUP = {"rayStartParams": STRINGS, "template": POD}
#: Of `RayJob` in ray.io/v1 what the manifest has, with all that any version of it requires. Fields of which versions differ are not stated.
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


@pytest.fixture(scope="module")
def manifest():
    (found,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf8"), re.MULTILINE | re.DOTALL)
    return srsly.yaml_loads(found)


def damaged(manifest, *path, value):
    """A copy with another value somewhere, or without it."""
    inner = copy = deepcopy(manifest)
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


def test_the_manifest_has_the_fields_and_types_of_a_ray_job(manifest):
    jsonschema.Draft202012Validator.check_schema(RAY_JOB)
    jsonschema.validate(manifest, RAY_JOB)
    cluster = ("spec", "rayClusterSpec")
    for path, value in (
        ((*cluster, "headGroupSpec", "rayStartParams", "num-cpus"), 0),
        ((*cluster, "workerGroupSpecs", 0, "replicas"), "8"),
        ((*cluster, "workerGroupSpecs", 0, "maxReplicas"), None),
        ((*cluster, "workerGroupSpecs", 0, "max_replicas"), 8),
        ((*cluster, "headGroupSpec", "template", "spec", "containers", 0, "resources", "limits", "memory"), "4 GB"),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(damaged(manifest, *path, value=value), RAY_JOB)


def test_the_manifest_agrees_with_itself_and_with_the_extra(manifest):
    spec = manifest["spec"]
    cluster = spec["rayClusterSpec"]
    (versions,) = {
        str(each.specifier) for each in map(Requirement, requires("spacy-hpyp")) if each.name == "ray" and each.marker
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
