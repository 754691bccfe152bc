"""Files in containers: through the proxy, past an inspector that is shut in twice, into a volume."""

import uuid
from contextlib import suppress

import pytest
import requests
from client import token
from project import Project, eventually
from uploads import Uploader, picture


class Person(Uploader):
    """All services are at one origin, which shows a certificate of its own."""

    def __init__(self, project: Project, name: str):
        super().__init__(project, f"{name}-{uuid.uuid4()}")
        self.http.trust_env = False  # An authority that this machine names is not meant.
        self.http.verify = str(project.certificate)
        self.http.headers["Authorization"] = f"Bearer {token(self.name, secret=project.secret.read_text().strip())}"

    @property
    def base(self) -> str:
        return self.system.origin


@pytest.fixture
def people(project: Project):
    return Person(project, "alice"), Person(project, "bob")


def test_a_picture_is_uploaded_looked_into_and_read_by_the_other(project: Project, people):
    alice, bob = people
    path = alice.upload(picture(640, 480), "noise.png")
    facts = alice.call("GET", path).json()
    assert (facts["type"], facts["width"], facts["height"]) == ("image/png", 640, 480), facts
    group = {"id": str(uuid.uuid4()), "kind": "group", "members": [bob.name]}
    # A system that has just started says to come again until its stores have taken their slots.
    eventually(lambda: alice.call("POST", "/v1/conversations", json=group).status_code in (200, 201))
    assert bob.call("GET", f"{path}/content").status_code == 404

    message = {"id": str(uuid.uuid4()), "attachments": [{"id": facts["id"]}]}
    assert alice.call("POST", f"/v1/conversations/{group['id']}/messages", json=message).status_code == 201
    content = bob.call("GET", f"{path}/content")
    assert (
        content.status_code == 200 and content.content.startswith(b"\x89PNG") and len(content.content) == facts["size"]
    )
    small = bob.call("GET", f"{path}/thumbnail?size=small")
    assert (small.status_code, small.headers["Content-Type"]) == (200, "image/webp")

    [media] = project.containers("media")
    project.kill(media)
    eventually(lambda: read(bob, path) == content.content, 60, "the file after a crash")


def read(person: Person, path: str) -> bytes | None:
    with suppress(requests.ConnectionError):  # Of the process that was killed.
        return person.call("GET", f"{path}/content").content
