"""The files of a deployment: valid by the schemas of their formats, and safe as they promise."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from ruamel.yaml import YAML

from rejoinder.cli.ranking.serve import serve
from rejoinder.retrieval.url import parse_url
from tests.retrieval.servers import download_wheel

DEPLOY = Path(__file__).parent.parent / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = sorted(KUBERNETES.glob("[!k]*.yaml"))
SCHEMAS = "kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict"
PASSWORD = "open-sesame"


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def check_compose(path: Path) -> str:
    """Return what is wrong with a compose file; empty if nothing is."""
    program = Path(sys.executable).parent / "check-jsonschema"
    command = [str(program), "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout if done.returncode else ""


def check_manifest(resource: Any) -> None:
    """Raise a ValidationError if a resource is not one of Kubernetes, or has unknown fields."""
    folder = download_wheel("kubernetes-validate==1.37.0") / SCHEMAS
    group, _, version = resource["apiVersion"].rpartition("/")
    kind = "-".join(filter(None, [resource["kind"].lower(), group.split(".")[0], version]))
    schemas = [
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in (kind, "_definitions")
    ]
    registry: Registry[Any] = [Resource.from_contents(each) for each in schemas] @ Registry()
    jsonschema.Draft202012Validator(schemas[0], registry=registry).validate(resource)


def test_the_compose_file_follows_its_schema(tmp_path: Path) -> None:
    assert check_compose(COMPOSE) == ""

    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text(encoding="utf-8").replace("read_only:", "readonly:"))
    assert "readonly" in check_compose(wrong)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_follow_the_schemas_of_kubernetes(path: Path) -> None:
    check_manifest(read(path))


def test_a_manifest_with_an_unknown_field_is_refused() -> None:
    resource = read(KUBERNETES / "rejoinder-deployment.yaml")
    resource["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}

    with pytest.raises(jsonschema.ValidationError, match="readynessProbe"):
        check_manifest(resource)


def test_the_kustomization_has_all_manifests_and_makes_their_secrets() -> None:
    kustomization = read(KUBERNETES / "kustomization.yaml")
    made = {each["name"] for each in kustomization["secretGenerator"]}
    used = {
        name
        for path in MANIFESTS
        for name in re.findall(r"secretName: (\S+)|secretKeyRef:\s+name: (\S+)", path.read_text())
        for name in filter(None, name)
    }

    assert sorted(kustomization["resources"]) == [path.name for path in MANIFESTS]
    assert made == used == {"opensearch", "rejoinder"}


def get_container(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the specification of a pod, and its only container."""
    (path,) = (
        each for each in MANIFESTS if re.match(rf"{name}-(deployment|statefulset)", each.stem)
    )
    pod = read(path)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod, container


def list_servers() -> Iterator[tuple[list[str], dict[str, str], set[str]]]:
    """Yield arguments, environment and the known nodes of both forms of a server."""
    compose = read(COMPOSE)["services"]
    environment = {
        key: re.sub(r"\$\{OPENSEARCH_PASSWORD:[^}]*\}", PASSWORD, value)
        for key, value in compose["rejoinder"]["environment"].items()
    }
    nodes = {f"{name}:9200" for name in compose if name.startswith("opensearch")}
    yield compose["rejoinder"]["command"], environment, nodes

    _, container = get_container("rejoinder")
    environment = {
        item["name"]: item["value"].replace("$(OPENSEARCH_PASSWORD)", PASSWORD)
        for item in container["env"]
        if "value" in item
    }
    engine = read(KUBERNETES / "opensearch-statefulset.yaml")["spec"]
    places = range(engine["replicas"])
    nodes = {f"opensearch-{place}.{engine['serviceName']}:9200" for place in places}
    yield container["args"], environment, nodes


@pytest.mark.parametrize("server", [*list_servers()], ids=["compose", "kubernetes"])
def test_servers_are_started_with_options_that_exist(
    server: tuple[list[str], dict[str, str], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (command, *arguments), environment, nodes = server
    names = {f"REJOINDER_SERVE_{option.name}".upper() for option in serve.params}
    given = {key: value for key, value in environment.items() if key.startswith("REJOINDER_")}
    for key, value in given.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setitem(given, "REJOINDER_SERVE_KEYS", __file__)
    monkeypatch.setenv("REJOINDER_SERVE_KEYS", __file__)

    options = serve.make_context(command, arguments).params

    assert command == "serve"
    assert given.keys() <= names
    assert (options["host"], options["port"], options["workers"]) == ("0.0.0.0", 8080, 1)
    url = parse_url(options["retriever"])
    assert (url.engine, url.user, url.password) == ("opensearch", "admin", PASSWORD)
    assert set(url.hosts) == nodes
    assert len(nodes) == 2


def test_no_file_has_a_password() -> None:
    for path in DEPLOY.rglob("*.yaml"):
        for password in re.findall(r"://\w+:([^@\s]+)@", path.read_text(encoding="utf-8")):
            assert password in ("PASSWORD", "$(OPENSEARCH_PASSWORD)") or password.startswith("${")


@pytest.mark.parametrize("name", ["rejoinder", "opensearch"])
def test_pods_have_no_rights_and_ask_for_what_they_need(name: str) -> None:
    pod, container = get_container(name)
    security = container["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert not security["allowPrivilegeEscalation"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()


def test_servers_write_nowhere_but_to_their_temporary_folder() -> None:
    pod, container = get_container("rejoinder")
    compose = read(COMPOSE)["services"]["rejoinder"]
    user = pod["securityContext"]["runAsUser"]

    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    assert (compose["read_only"], compose["tmpfs"]) == (True, ["/tmp"])
    assert compose["user"] == f"{user}:{user}"
    containerfile = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert f"USER {user}" in containerfile
    assert re.search(r'"/source\[[^]]*opensearch', containerfile)
