"""ParleyKit can be built for Apple platforms: without the transport for Linux, none of its modules sees the reactor,
OpenSSL's TLS or anything else of the services. That no module imports what it does not declare, every build checks."""

import functools
import json
import re
import subprocess

from repository import REPOSITORY, text

MODULES = {
    "ParleyDigest", "ParleyFoundationTransport", "ParleyKit", "ParleyPresentation", "ParleyStorage", "ParleySync",
    "ParleyTransport",
}  # fmt: skip
BENEATH = {"Models", "CSQLite"}
# The digest of the platform: CryptoKit where there is one.
ON_LINUX_ALONE = {"CCrypto"}


@functools.cache
def package() -> dict:
    command = ["swift", "package", "dump-package"]
    return json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout)


def test_an_application_has_every_module_with_something_public():
    exported = re.findall("@_exported import (\\w+)", text("Clients/ParleyKit/ParleyKit/Exports.swift"))
    libraries = {each["name"]: each["targets"] for each in package()["products"] if "library" in each["type"]}
    modules = {
        folder.name
        for folder in (REPOSITORY / "Clients/ParleyKit").iterdir()
        for file in folder.glob("**/*.swift")
        if re.search("^ *public ", file.read_text(), re.MULTILINE)
    }
    assert modules - set(exported) == {target for targets in libraries.values() for target in targets}
    assert set(re.findall(r"^\| `(\w+)` \|", text("docs/parleykit.md"), re.MULTILINE)) == set(libraries)


def test_the_kit_sees_nothing_of_the_services():
    targets = {target["name"]: target for target in package()["targets"]}
    waiting, seen = ["ParleyKit", *(MODULES & set(targets))], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [dependency for dependency, on_linux in dependencies(targets[name]) if not on_linux]
            assert {dependency for dependency, on_linux in dependencies(targets[name]) if on_linux} <= ON_LINUX_ALONE
    assert seen <= MODULES | BENEATH


def dependencies(target: dict) -> list[tuple[str, bool]]:
    """The names of the modules that it declares, and whether for Linux alone."""
    found = []
    for dependency in target["dependencies"]:
        name, condition = dependency["byName"]
        found.append((name, (condition or {}).get("platformNames") == ["linux"]))
    return found
