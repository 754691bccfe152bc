"""Files: every outcome that the document describes for uploading and reading them."""

import base64
import hashlib
import re
import socket
import time

import pytest

from contract import DOCUMENT, METHODS, server_of
from database_gate import Gate
from files import TUS, Uploader, picture
from judged import PATIENCE
from people import Person, new_id

EMPTY = base64.b64encode(hashlib.sha256(b"").digest()).decode()
"""A digest that no body here has."""
CALLS = [
    ("POST", "/v1/media", TUS | {"Upload-Length": "3"}),
    ("HEAD", "/v1/media/{}", TUS),
    ("PATCH", "/v1/media/{}", TUS | {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}),
    ("DELETE", "/v1/media/{}", TUS),
    ("GET", "/v1/media/{}", {}),
    ("GET", "/v1/media/{}/content", {}),
    ("GET", "/v1/media/{}/thumbnail", {}),
    ("POST", "/v1/media/{}/url", {}),
]
"""Every call of media that takes a token, and the headers it must have."""


@pytest.fixture
def uploader(anna):
    with Uploader(anna) as uploader:
        yield uploader


def problem(response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_the_calls_tried_here_are_those_of_the_document():
    documented = {
        (method.upper(), path.replace("{mediaId}", "{}"))
        for path, item in DOCUMENT["paths"].items()
        if server_of(path) == "media"
        for method in METHODS
        if item.get(method, {}).get("security", [{"token": []}])  # Options are for everybody.
        and method in item
    }
    assert documented == {(method, path) for method, path, _ in CALLS}


def test_an_upload_says_where_it_is(uploader):
    file = uploader.create(6)
    assert uploader.http.head(f"/v1/media/{file}", headers=TUS).headers["Upload-Offset"] == "0"
    assert uploader.patch(file, 0, b"abc").headers["Upload-Offset"] == "3"
    wrong = uploader.patch(file, 0, b"abc")
    assert problem(wrong) == (409, "conflict") and wrong.headers["Upload-Offset"] == "3"
    assert uploader.http.get(f"/v1/media/{file}").json()["state"] == "uploading"
    assert problem(uploader.http.get(f"/v1/media/{file}/content")) == (409, "mediaNotReady")
    assert problem(uploader.http.get(f"/v1/media/{file}/thumbnail")) == (409, "mediaNotReady")
    assert problem(uploader.http.post(f"/v1/media/{file}/url")) == (409, "mediaNotReady")
    assert uploader.http.delete(f"/v1/media/{file}", headers=TUS).status_code == 204
    for method, path, headers in CALLS[1:]:
        assert uploader.http.request(method, path.format(file), headers=headers).status_code == 404


def test_an_upload_may_begin_with_its_bytes(uploader):
    response = uploader.post(6, content=b"abc")
    assert response.status_code == 201 and response.headers["Upload-Offset"] == "3"


def test_uploads_are_refused_for_what_is_wrong_with_them(uploader):
    file = uploader.create(6)
    other = {"Upload-Checksum": f"sha256 {EMPTY}"}
    assert problem(uploader.post(6, **{"Tus-Resumable": "0.2.2"})) == (412, "invalid")
    assert problem(uploader.patch(file, 0, b"abc", **{"Tus-Resumable": "0.2.2"})) == (412, "invalid")
    assert uploader.http.head(f"/v1/media/{file}").status_code == 412
    assert problem(uploader.http.delete(f"/v1/media/{file}")) == (412, "invalid")
    assert problem(uploader.post(6, content=b"abc", **{"Content-Type": "text/plain"})) == (415, "invalid")
    assert problem(uploader.patch(file, 0, b"abc", **{"Content-Type": "text/plain"})) == (415, "invalid")
    assert problem(uploader.post(10**12)) == (413, "tooLarge")
    assert problem(uploader.patch(file, 0, b"abcdefg")) == (413, "tooLarge")
    assert problem(uploader.post(6, content=b"abc", **other)) == (460, "invalid")
    assert problem(uploader.patch(file, 0, b"abc", **other)) == (460, "invalid")
    assert uploader.patch(file, 0, b"abcdef").status_code == 204


def test_a_name_that_is_no_user_is_refused_everywhere(new_person):
    with Uploader(new_person("backend", adm=True)) as backend:
        for method, path, headers in CALLS:
            refused = backend.http.request(
                method, path.format(new_id()), headers=headers | {"X-Parley-User": "not a name"}
            )
            assert refused.status_code == 400, path


def test_two_processes_do_not_write_one_upload(system, anna, uploader):
    file = uploader.create(6)
    host, port = system.address("media").removeprefix("http://").split(":")
    head = (
        f"PATCH /v1/media/{file} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {anna.token}\r\n"
        "Tus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\n"
        "Upload-Offset: 0\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n"
    )
    with system.sibling("media", "/healthz") as port_of_other, Uploader(anna, port_of_other) as other:
        # The other process may not have connected to the database yet. And it may have the file first, for a moment:
        # then the first one is refused.
        deadline = time.monotonic() + PATIENCE
        while True:
            with socket.create_connection((host, int(port))) as first:
                first.sendall(head.encode())
                assert first.recv(1000).startswith(b"HTTP/1.1 100 ")
                answer = other.patch(file, 0, b"")
            if answer.status_code not in (204, 503):
                break
            assert time.monotonic() < deadline, answer.text
        assert problem(answer) == (423, "conflict") and answer.headers["Retry-After"]


def test_the_content_of_a_file_is_read_in_parts_or_not_at_all(uploader):
    file = uploader.upload(picture())
    described = uploader.http.get(f"/v1/media/{file}").json()
    assert described["state"] == "ready" and [each["size"] for each in described["thumbnails"]] == ["small", "large"]
    for path in (f"/v1/media/{file}/content", f"/v1/media/{file}/thumbnail?size=large"):
        whole = uploader.http.get(path)
        part = uploader.http.get(path, headers={"Range": "bytes=2-5"})
        assert part.status_code == 206 and part.content == whole.content[2:6]
        known = uploader.http.get(path, headers={"If-None-Match": whole.headers["ETag"]})
        assert known.status_code == 304
        beyond = uploader.http.get(path, headers={"Range": f"bytes={len(whole.content)}-"})
        assert problem(beyond) == (416, "invalid")
        assert uploader.http.head(path).status_code == 200
    assert problem(uploader.http.get(f"/v1/media/{file}/thumbnail?size=huge")) == (400, "invalid")


def test_a_signed_address_needs_no_token(system, uploader):
    addresses = uploader.http.post(f"/v1/media/{uploader.upload(picture())}/url").json()
    with system.http(service="media") as anybody:
        for address in (addresses["url"], *addresses["thumbnailUrls"].values()):
            assert anybody.get(address).status_code == 200
            assert problem(anybody.get(address[:-1] + "0" if address[-1] != "0" else address[:-1] + "1")) == (
                403,
                "forbidden",
            )


def test_a_file_that_a_message_carries_goes_with_the_message(anna, ben, uploader):
    file = uploader.upload(b"the plan")
    group = anna.group(ben)
    message = anna.send(group, "as you asked", attachments=[{"id": file}])
    assert problem(uploader.http.delete(f"/v1/media/{file}", headers=TUS)) == (409, "conflict")
    assert anna.http.delete(f"/v1/conversations/{group}/messages/{message['id']}?scope=everyone").status_code == 204
    # To readers it is gone with the message; to its uploader as soon as the file is.
    deadline = time.monotonic() + PATIENCE
    while uploader.http.get(f"/v1/media/{file}").status_code != 404:
        assert time.monotonic() < deadline, "the file goes"


def test_who_asks_too_fast_is_told_when_to_come_back(system, anna):
    with (
        system.sibling("media", PARLEY_MEDIA_RATE_PER_SECOND="1", PARLEY_MEDIA_RATE_BURST="1") as port,
        Uploader(anna, port) as hasty,
    ):
        for method, path, headers in CALLS:
            # One request a second is admitted.
            answers = (hasty.http.request(method, path.format(new_id()), headers=headers) for _ in range(5))
            assert any(answer.status_code == 429 and answer.headers["Retry-After"] for answer in answers), path


def test_without_a_database_every_call_says_that_it_may_be_repeated(system, anna):
    if system.citus:
        pytest.skip("the gate is before the coordinator, which media needs to start alone")
    address = system.settings("media")["PARLEY_DATABASE_URL"]
    directory = re.search(r"host=(\S+)", address)[1]
    gate = Gate(directory)
    with system.sibling("media", PARLEY_DATABASE_URL=address.replace(directory, gate.directory)) as port:
        gate.close()
        alone = Person(system, anna.name, port=port)
        while alone.get("/readyz").status_code != 503:
            pass
        for method, path, headers in CALLS:
            answer = alone.http.request(method, path.format("0198c2a4-5d10-4c3e-9a41-3f0c5b7e2d90"), headers=headers)
            assert answer.status_code == 503 and answer.headers["Retry-After"], path
