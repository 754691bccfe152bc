"""The Kubernetes manifests: every field known to the schemas, every reference to something that is there."""

import copy
import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from services import SERVICES

REPOSITORY = Path(__file__).resolve().parents[2]
DIRECTORY = REPOSITORY / "deploy" / "kubernetes"
OVERLAYS = ("example", "citus")
VERSIONS = ("1.30", "1.33")


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error, as it is to the API server."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is given twice: {node.start_mark}"
        return super().construct_mapping(node, deep)


def documents(path: Path) -> list[dict]:
    return [document for document in yaml.load_all(path.read_text(), StrictLoader) if document]


def name(resource: dict) -> tuple[str, str]:
    return resource["kind"], resource["metadata"]["name"]


class Kustomization:
    """A directory, with the kustomizations that it lists, and its patches applied."""

    def __init__(self, directory: Path):
        self.directory = directory
        ((self.content),) = documents(directory / "kustomization.yaml")
        self.bases: list[Kustomization] = []
        self.resources: list[dict] = []
        for entry in self.content["resources"]:
            path = (directory / entry).resolve()
            if path.is_dir():
                base = Kustomization(path)
                self.bases.append(base)
                self.resources += copy.deepcopy(base.resources)
            else:
                self.resources += documents(path)
        for patch in self.patches:
            self._apply(patch)

    @property
    def patches(self) -> list[dict]:
        return self.content.get("patches", [])

    def all(self, key: str) -> list[dict]:
        """What it and its bases have under a key."""
        return [item for base in self.bases for item in base.all(key)] + self.content.get(key, [])

    def _apply(self, patch: dict):
        for document in documents(self.directory / patch["path"]):
            if isinstance(document, list):
                for operation in document:
                    add(self._named(patch["target"]["kind"], patch["target"]["name"]), operation)
            else:
                merge(self._named(*name(document)), document)

    def _named(self, *wanted: str) -> dict:
        [found] = [resource for resource in self.resources if name(resource) == wanted]
        return found


def merge(target: dict, patch: dict):
    """As a patch of Kubernetes is applied, as far as ours go: without lists."""
    for key, value in patch.items():
        if isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            assert not isinstance(value, list)
            target[key] = value


def add(target: dict, operation: dict):
    """An operation of RFC 6902."""
    assert operation.keys() == {"op", "path", "value"} and operation["op"] == "add"
    *way, last = operation["path"].split("/")[1:]
    for step in way:
        target = target[int(step)] if isinstance(target, list) else target[step]
    if isinstance(target, list):
        target.insert(len(target) if last == "-" else int(last), operation["value"])
    else:
        target[last] = operation["value"]


BUILT = {overlay: Kustomization(DIRECTORY / "overlays" / overlay) for overlay in OVERLAYS}


@pytest.fixture(params=OVERLAYS)
def built(request) -> Kustomization:
    return BUILT[request.param]


def of(built: Kustomization, kind: str) -> list[dict]:
    return [resource for resource in built.resources if resource["kind"] == kind]


def pods(built: Kustomization) -> list[dict]:
    kinds = ("Deployment", "StatefulSet", "Job")
    return [resource["spec"]["template"] for resource in built.resources if resource["kind"] in kinds]


def containers(pod: dict) -> list[dict]:
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def matches(selector: dict, pod: dict) -> bool:
    return selector.items() <= pod["metadata"]["labels"].items()


def generated_secrets(built: Kustomization) -> dict[str, set[str]]:
    def key(file: str) -> str:
        return file.split("=")[0] if "=" in file else file.split("/")[-1]

    return {each["name"]: {key(file) for file in each["files"]} for each in built.all("secretGenerator")}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(each, id="/".join((overlay, *name(each))))
        for overlay in OVERLAYS
        for each in BUILT[overlay].resources
    ],
)
def test_every_field_is_known(resource, version):
    kubernetes_validate.validate(resource, version, strict=True)


def test_an_unknown_field_would_be_found():
    (deployment, *_) = of(BUILT["example"], "Deployment")
    broken = deployment | {"spec": deployment["spec"] | {"replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[0], strict=True)


def test_every_file_is_listed_once(built):
    for each in (built, *built.bases):
        listed = [*each.content["resources"], *(patch["path"] for patch in each.patches)]
        files = {path.name for path in each.directory.glob("*.yaml")} - {"kustomization.yaml"}
        assert {entry for entry in listed if not (each.directory / entry).is_dir()} == files
    names = [name(resource) for resource in built.resources]
    assert len(names) == len(set(names))


def test_selectors_select_pods(built):
    for kind in ("Deployment", "StatefulSet", "PodDisruptionBudget"):
        for resource in of(built, kind):
            selector = resource["spec"]["selector"]["matchLabels"]
            assert sum(matches(selector, pod) for pod in pods(built)) == 1, name(resource)
    for service in of(built, "Service"):
        (pod,) = [pod for pod in pods(built) if matches(service["spec"]["selector"], pod)]
        ports = {port["name"]: port["containerPort"] for container in containers(pod) for port in container["ports"]}
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]
    for autoscaler in of(built, "HorizontalPodAutoscaler"):
        target = autoscaler["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) in map(name, built.resources)
    for policy in of(built, "NetworkPolicy"):
        selector = policy["spec"]["podSelector"].get("matchLabels", {})
        assert any(matches(selector, pod) for pod in pods(built)), name(policy)


def test_references_are_to_what_is_there(built):
    maps = {map["metadata"]["name"]: set(map["data"]) for map in of(built, "ConfigMap")}
    secrets = generated_secrets(built)
    claims = {
        claim["metadata"]["name"] for each in of(built, "StatefulSet") for claim in each["spec"]["volumeClaimTemplates"]
    }
    for pod in pods(built):
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for volume in volumes.values():
            assert volume.get("secret", {}).get("secretName") in {None, *secrets}
        for container in containers(pod):
            for mount in container["volumeMounts"]:
                assert mount["name"] in {*volumes, *claims}
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


def test_images_are_named_where_they_are_from(built):
    replaced = {image["name"] for image in built.all("images")}
    assert {container["image"] for pod in pods(built) for container in containers(pod)} == replaced


def test_the_ingress_reaches_the_edges(built):
    (ingress,) = of(built, "Ingress")
    services = {service["metadata"]["name"]: service for service in of(built, "Service")}
    for path in ingress["spec"]["rules"][0]["http"]["paths"]:
        backend = path["backend"]["service"]
        assert backend["port"]["name"] in [port["name"] for port in services[backend["name"]]["spec"]["ports"]]
        behind = {"/v1/socket": "fanout", "/v1/media": "media"}
        assert backend["name"] == behind.get(path["path"], "ingest")


def test_the_bus_is_where_the_services_look_for_it(built):
    (bus,) = [map["data"] for map in of(built, "ConfigMap") if map["metadata"]["name"] == "parley-bus"]
    services = {service["metadata"]["name"]: service["spec"] for service in of(built, "Service")}
    for role in SERVICES:
        host, port = bus[f"PARLEY_BUS_{role.upper()}"].removeprefix("tcp://").split(":")
        assert services[host]["clusterIP"] == "None" and services[host]["publishNotReadyAddresses"]
        assert services[host]["ports"][0]["port"] == int(port)


def test_each_role_finds_its_own_secrets_only(built):
    for deployment in of(built, "Deployment"):
        role = deployment["metadata"]["name"]
        sources = deployment["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]
        names = {source["secret"]["name"] for source in sources}
        own = {"parley-bus-public", f"parley-bus-{role}"}
        own |= {f"parley-database-{role}"} if role in ("store", "receipt", "media") else set()
        own |= {"parley-jwt"} if role in ("ingest", "fanout", "media") else set()
        assert names == own


def test_pods_have_no_rights(built):
    for pod in pods(built):
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        for container in containers(pod):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_network_policies_let_roles_hear_whom_they_listen_to(built):
    """Who may connect to a bus port is who has an egress rule for it, and the other way round."""
    policies = {policy["metadata"]["name"]: policy["spec"] for policy in of(built, "NetworkPolicy")}

    def roles(peers: list[dict]) -> set[str]:
        return {peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in peers}

    admitted = {role: roles(policies[role]["ingress"][0]["from"]) for role in SERVICES}
    wanted = {
        role: set().union(*(roles(rule["to"]) for rule in policies[role]["egress"] if "to" in rule))
        for role in SERVICES
    }
    for role in SERVICES:
        assert admitted[role] == {other for other in SERVICES if role in wanted[other]}
    said = (REPOSITORY / "Shared/Wire/Role.swift").read_text().split("var listensTo", 1)[1].split("var ", 1)[0]
    assert wanted == {role: set(re.findall(r"\w+", list)) for role, list in re.findall(r"case \.(\w+): \[(.+)\]", said)}
    assert policies["nothing-else"]["podSelector"] == {}


# MARK: A cluster


def cluster() -> tuple[dict, list[dict], dict]:
    """The nodes, the steps of the migration, and what every process is told."""
    [nodes] = of(BUILT["citus"], "StatefulSet")
    [job] = of(BUILT["citus"], "Job")
    [told] = [map["data"] for map in of(BUILT["citus"], "ConfigMap") if map["metadata"]["name"] == "parley"]
    return nodes, job["spec"]["template"]["spec"]["initContainers"], told


def test_nodes_join_by_the_names_that_their_service_gives_them():
    nodes, steps, told = cluster()
    names = [f"{name(nodes)[1]}-{number}.{nodes['spec']['serviceName']}" for number in range(nodes["spec"]["replicas"])]
    given = {variable["name"]: variable.get("value") for variable in steps[0]["env"]}
    assert [told["databaseHost"], *given["PARLEY_WORKERS"].split()] == names
    [container] = nodes["spec"]["template"]["spec"]["containers"]
    own = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert own["PARLEY_NODE"] == f"$(POD_NAME).{nodes['spec']['serviceName']}"
    # Each of these names is one address of the service.
    [service] = [each for each in of(BUILT["citus"], "Service") if name(each)[1] == nodes["spec"]["serviceName"]]
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]


def test_nodes_join_before_tables_are_distributed():
    _, steps, _ = cluster()
    assert [(step["name"], step.get("args")) for step in steps] == [
        ("join", None), *((service, ["migrate", "--citus"]) for service in ("store", "receipt", "media")),
    ]  # fmt: skip
    [alone] = of(BUILT["example"], "Job")
    assert {tuple(step["args"]) for step in alone["spec"]["template"]["spec"]["initContainers"]} == {("migrate",)}


def test_nodes_are_reached_by_nodes_and_by_who_has_a_role():
    [policy] = [each["spec"] for each in of(BUILT["citus"], "NetworkPolicy") if name(each)[1] == "database"]
    [rule] = policy["ingress"]
    admitted = {peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in rule["from"]}
    reaching = {
        policy["metadata"]["name"]
        for policy in of(BUILT["citus"], "NetworkPolicy")
        for rule in policy["spec"].get("egress", [])
        if 5432 in [port["port"] for port in rule["ports"]]
    }
    assert admitted == reaching == {"store", "receipt", "media", "migrate", "database"}


def test_nodes_have_the_passwords_of_all_roles():
    made = (REPOSITORY / "deploy/database/roles.sql").read_text()
    roles = set(re.findall(r"'(\w+)'", re.search(r"unnest\(ARRAY\[.*\]", made)[0]))
    assert {f"{role}.password" for role in roles} < generated_secrets(BUILT["citus"])["parley-database-node"]
    for script in ("serve-database", "join-nodes"):
        for listed in re.findall(r"for role in (.*); do", (REPOSITORY / "deploy/image/database" / script).read_text()):
            assert set(listed.split()) == roles
