"""The Kubernetes manifests: every field known to the schemas, every reference to something that is there."""

from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from services import SERVICES

DIRECTORY = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
OVERLAY = DIRECTORY / "overlays" / "example"
VERSIONS = ("1.30", "1.33")


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error, as it is to the API server."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is given twice: {node.start_mark}"
        return super().construct_mapping(node, deep)


def documents(path: Path) -> list[dict]:
    return [document for document in yaml.load_all(path.read_text(), StrictLoader) if document]


def kustomization(directory: Path) -> dict:
    (found,) = documents(directory / "kustomization.yaml")
    return found


def resources(directory: Path) -> list[dict]:
    """What a kustomization lists, other kustomizations included."""
    found = []
    for name in kustomization(directory)["resources"]:
        path = directory / name
        found += resources(path) if path.is_dir() else documents(path)
    return found


ALL = resources(OVERLAY)


def name(resource: dict) -> tuple[str, str]:
    return resource["kind"], resource["metadata"]["name"]


def of(kind: str) -> list[dict]:
    return [resource for resource in ALL if resource["kind"] == kind]


def pods() -> list[dict]:
    return [resource["spec"]["template"] for resource in ALL if resource["kind"] in ("Deployment", "Job")]


def containers(pod: dict) -> list[dict]:
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def matches(selector: dict, pod: dict) -> bool:
    return selector.items() <= pod["metadata"]["labels"].items()


def generated_secrets() -> dict[str, set[str]]:
    def key(file: str) -> str:
        return file.split("=")[0] if "=" in file else file.split("/")[-1]

    return {each["name"]: {key(file) for file in each["files"]} for each in kustomization(OVERLAY)["secretGenerator"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("resource", ALL, ids=lambda resource: "/".join(name(resource)))
def test_every_field_is_known(resource, version):
    kubernetes_validate.validate(resource, version, strict=True)


def test_an_unknown_field_would_be_found():
    (deployment, *_) = of("Deployment")
    broken = deployment | {"spec": deployment["spec"] | {"replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[0], strict=True)


def test_every_file_is_listed_once():
    for directory in (DIRECTORY / "base", OVERLAY):
        listed = kustomization(directory)["resources"]
        patches = [patch["path"] for patch in kustomization(directory).get("patches", [])]
        files = {path.name for path in directory.glob("*.yaml")} - {"kustomization.yaml"}
        assert {entry for entry in listed + patches if not (directory / entry).is_dir()} == files
    names = [name(resource) for resource in ALL]
    assert len(names) == len(set(names))


def test_patches_are_of_resources_that_are_there():
    for patch in kustomization(OVERLAY)["patches"]:
        for document in documents(OVERLAY / patch["path"]):
            assert name(document) in map(name, ALL)


def test_selectors_select_pods():
    for kind in ("Deployment", "PodDisruptionBudget"):
        for resource in of(kind):
            selector = resource["spec"]["selector"]["matchLabels"]
            assert sum(matches(selector, pod) for pod in pods()) == 1, name(resource)
    for service in of("Service"):
        (pod,) = [pod for pod in pods() if matches(service["spec"]["selector"], pod)]
        ports = {port["name"]: port["containerPort"] for container in containers(pod) for port in container["ports"]}
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]
    for autoscaler in of("HorizontalPodAutoscaler"):
        target = autoscaler["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in map(name, ALL)
    for policy in of("NetworkPolicy"):
        selector = policy["spec"]["podSelector"].get("matchLabels", {})
        assert any(matches(selector, pod) for pod in pods()), name(policy)


def test_references_are_to_what_is_there():
    maps = {map["metadata"]["name"]: set(map["data"]) for map in of("ConfigMap")}
    secrets = generated_secrets()
    for pod in pods():
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for container in containers(pod):
            for mount in container["volumeMounts"]:
                assert mount["name"] in volumes
            for source in container.get("envFrom", []):
                assert source["configMapRef"]["name"] in maps
            for variable in container.get("env", []):
                reference = variable.get("valueFrom", {})
                if found := reference.get("configMapKeyRef"):
                    assert found["key"] in maps[found["name"]]
                if found := reference.get("secretKeyRef"):
                    assert found["key"] in secrets[found["name"]]
        for source in volumes["secrets"]["projected"]["sources"]:
            secret = source["secret"]
            wanted = {item["key"] for item in secret.get("items", [])}
            assert wanted <= secrets[secret["name"]]


def test_images_are_named_where_they_are_from():
    replaced = {image["name"] for image in kustomization(OVERLAY)["images"]}
    assert {container["image"] for pod in pods() for container in containers(pod)} == replaced


def test_the_ingress_reaches_the_edges():
    (ingress,) = of("Ingress")
    services = {service["metadata"]["name"]: service for service in of("Service")}
    for path in ingress["spec"]["rules"][0]["http"]["paths"]:
        backend = path["backend"]["service"]
        assert backend["port"]["name"] in [port["name"] for port in services[backend["name"]]["spec"]["ports"]]
        behind = {"/v1/socket": "fanout", "/v1/media": "media"}
        assert backend["name"] == behind.get(path["path"], "ingest")


def test_the_bus_is_where_the_services_look_for_it():
    (bus,) = [map["data"] for map in of("ConfigMap") if map["metadata"]["name"] == "parley-bus"]
    services = {service["metadata"]["name"]: service["spec"] for service in of("Service")}
    for role in SERVICES:
        host, port = bus[f"PARLEY_BUS_{role.upper()}"].removeprefix("tcp://").split(":")
        assert services[host]["clusterIP"] == "None" and services[host]["publishNotReadyAddresses"]
        assert services[host]["ports"][0]["port"] == int(port)


def test_each_role_finds_its_own_secrets_only():
    for deployment in of("Deployment"):
        role = deployment["metadata"]["name"]
        sources = deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]
        names = {source["secret"]["name"] for source in sources}
        own = {"parley-bus-public", f"parley-bus-{role}"}
        own |= {f"parley-database-{role}"} if role in ("store", "receipt", "media") else set()
        own |= {"parley-jwt"} if role in ("ingest", "fanout", "media") else set()
        assert names == own


def test_pods_have_no_rights():
    for pod in pods():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        for container in containers(pod):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_network_policies_let_roles_hear_whom_they_listen_to():
    """Who may connect to a bus port is who has an egress rule for it, and the other way round."""
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in of("NetworkPolicy")}

    def roles(peers: list[dict]) -> set[str]:
        return {peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in peers}

    admitted = {role: roles(policies[role]["ingress"][0]["from"]) for role in SERVICES}
    wanted = {
        role: set().union(*(roles(rule["to"]) for rule in policies[role]["egress"] if "to" in rule))
        for role in SERVICES
    }
    for role in SERVICES:
        assert admitted[role] == {other for other in SERVICES if role in wanted[other]}
    assert wanted["ingest"] == {"store", "receipt", "media"}
    assert policies["nothing-else"]["podSelector"] == {}
