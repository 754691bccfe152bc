"""Files: uploads that are interrupted anywhere, what is read of them, and who may."""

import base64
import contextlib
import hashlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import uuid
import zlib
from io import BytesIO
from pathlib import Path

import pytest
import requests
from client import token
from system import EXECUTABLES, System
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError
from uploads import BODY, PATIENCE, TUS, Uploader, eventually, metric, stored_files


@pytest.fixture
def uploader(single) -> Uploader:
    single.revive()
    return Uploader(single)


def expect_problem(response: requests.Response, status: int, code: str):
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == code and response.json()["status"] == status


@pytest.mark.parametrize("size", [0, 1, 70_000, 9_000_001])
def test_what_a_client_of_tus_uploads_is_read_again(uploader, size):
    content = random.Random(size).randbytes(size)
    client = TusClient(uploader.base + "/v1/media", headers={"Authorization": f"Bearer {token(uploader.name)}"})
    tus = client.uploader(file_stream=BytesIO(content), chunk_size=1_000_000, metadata={"filename": "ä b.bin"})
    tus.upload()
    path = uploader.ready(tus.url.removeprefix(uploader.base))
    facts = uploader.call("GET", path).json()
    assert facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert (facts["name"], facts["size"], facts["type"]) == ("ä b.bin", size, "application/octet-stream")
    read = uploader.call("GET", path + "/content")
    assert read.status_code == 200 and read.content == content
    assert read.headers["Content-Disposition"] == "attachment; filename*=UTF-8''%C3%A4%20b.bin"
    assert read.headers["X-Content-Type-Options"] == "nosniff" and "sandbox" in read.headers["Content-Security-Policy"]


def test_an_upload_with_its_checksums_arrives(uploader):
    content = random.Random(1).randbytes(300_000)
    client = TusClient(uploader.base + "/v1/media", headers={"Authorization": f"Bearer {token(uploader.name)}"})
    tus = client.uploader(file_stream=BytesIO(content), chunk_size=100_000, upload_checksum=True)
    tus.upload()
    path = uploader.ready(tus.url.removeprefix(uploader.base))
    assert uploader.call("GET", path + "/content").content == content


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(3))
def test_no_acknowledged_byte_is_lost_or_sent_again(single, seed):
    """Bodies end anywhere, and media is killed in between: the upload goes on where it was acknowledged, or behind."""
    single.revive()
    chance = random.Random(seed)
    content = chance.randbytes(chance.randint(3_000_000, 24_000_000))
    uploader = Uploader(single)
    path = uploader.created(len(content))
    acknowledged = 0
    for _ in range(6):
        offset = uploader.offset(path)
        assert acknowledged <= offset <= len(content)
        if chance.random() < 0.5 and offset < len(content):
            end = min(len(content), offset + chance.randint(1, 3_000_000))
            response = uploader.patch(path, offset, content[offset:end])
            assert response.status_code == 204 and int(response.headers["Upload-Offset"]) == end
            acknowledged = end
            offset = end
        sent = chance.randint(0, len(content) - offset)
        connection = uploader.begin_patch(path, offset, content[offset : offset + sent], len(content) - offset)
        if chance.random() < 0.6:
            single.kill("media")
            connection.close()
            single.revive()
        else:
            connection.close()
    if uploader.offset(path) < len(content):
        tus = TusClient(uploader.base + "/v1/media", headers={"Authorization": f"Bearer {token(uploader.name)}"})
        rest = tus.uploader(file_stream=BytesIO(content), url=uploader.base + path, chunk_size=2_000_000)
        rest.upload()
    uploader.ready(path)
    assert uploader.call("GET", path).json()["sha256"] == hashlib.sha256(content).hexdigest()
    assert uploader.call("GET", path + "/content").content == content


def test_a_client_that_comes_back_takes_its_upload_over(uploader):
    content = random.Random(2).randbytes(500_000)
    path = uploader.created(len(content))
    abandoned = uploader.begin_patch(path, 0, content[:200_000], len(content))
    try:
        [file] = eventually(lambda: stored_files(uploader.system, path), "the upload has a file")
        folder = uploader.system.state / "media" / "incoming" / file[:2]
        eventually(lambda: (folder / file).stat().st_size == 200_000, "all that was sent is written")
        offset = uploader.offset(path)
        assert offset == 200_000
        assert uploader.patch(path, offset, content[offset:]).status_code == 204
    finally:
        abandoned.close()
    uploader.ready(path)
    assert uploader.call("GET", path + "/content").content == content


def test_a_stranger_does_not_disturb_an_upload(uploader):
    content = random.Random(3).randbytes(500_000)
    path = uploader.created(len(content))
    with uploader.begin_patch(path, 0, content[:200_000], len(content)) as connection:
        folder = uploader.system.state / "media" / "incoming"
        [file] = eventually(lambda: stored_files(uploader.system, path), "the upload has a file")
        eventually(lambda: (folder / file[:2] / file).stat().st_size == 200_000, "all that was sent is written")
        stranger = Uploader(uploader.system)
        assert stranger.patch(path, 200_000, content[200_000:]).status_code == 404
        for method in ("HEAD", "DELETE"):
            assert stranger.call(method, path, headers=TUS).status_code == 404
        connection.sendall(content[200_000:])
        assert connection.recv(1000).startswith(b"HTTP/1.1 204 ")
    uploader.ready(path)
    assert uploader.call("GET", path + "/content").content == content


def test_a_body_of_another_digest_is_not_kept(uploader):
    path = uploader.created(10)
    wrong = base64.b64encode(hashlib.sha256(b"something else").digest()).decode()
    response = uploader.patch(path, 0, b"0123456789", **{"Upload-Checksum": f"sha256 {wrong}"})
    expect_problem(response, 460, "invalid")
    assert uploader.offset(path) == 0
    right = base64.b64encode(hashlib.sha256(b"9876543210").digest()).decode()
    assert uploader.patch(path, 0, b"9876543210", **{"Upload-Checksum": f"sha256 {right}"}).status_code == 204
    uploader.ready(path)
    assert uploader.call("GET", path + "/content").content == b"9876543210"


def test_a_part_of_a_body_with_a_checksum_is_not_kept(uploader):
    path = uploader.created(10)
    digest = base64.b64encode(hashlib.sha256(b"0123456789").digest()).decode()
    host, port = uploader.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = (
            f"PATCH {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token(uploader.name)}\r\n"
            f"Tus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\n"
            f"Upload-Checksum: sha256 {digest}\r\nContent-Length: 10\r\n\r\n01234"
        )
        connection.sendall(head.encode())
        assert uploader.offset(path) == 0
    assert uploader.patch(path, 0, b"0123456789").status_code == 204


def test_uploads_say_what_they_are(uploader):
    options = uploader.call("OPTIONS", "/v1/media")
    assert options.status_code == 204 and options.headers["Tus-Version"] == "1.0.0"
    assert "creation-with-upload" in options.headers["Tus-Extension"]
    assert options.headers["Tus-Max-Size"] == "100000000"
    metadata = "filename aGVsbG8udHh0,is_private"
    created = uploader.create(4, metadata)
    assert created.headers["Tus-Resumable"] == "1.0.0" and created.headers["Upload-Expires"].endswith(" GMT")
    assert re.fullmatch(r"/v1/media/[0-9a-f-]{36}", created.headers["Location"])
    head = uploader.call("HEAD", created.headers["Location"], headers=TUS)
    assert head.headers["Upload-Metadata"] == metadata and head.headers["Upload-Length"] == "4"
    assert head.headers["Cache-Control"] == "no-store"
    with_body = uploader.call("POST", "/v1/media", headers=TUS | BODY | {"Upload-Length": "4"}, data=b"abcd")
    assert with_body.status_code == 201 and with_body.headers["Upload-Offset"] == "4"
    overridden = uploader.call(
        "POST", created.headers["Location"], data=b"wxyz",
        headers=TUS | BODY | {"Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"},
    )  # fmt: skip
    assert overridden.status_code == 204


def test_what_is_wrong_with_an_upload_is_said(uploader):
    expect_problem(uploader.call("POST", "/v1/media", headers={"Upload-Length": "4"}), 412, "invalid")
    expect_problem(uploader.create(100_000_001), 413, "tooLarge")
    expect_problem(uploader.call("POST", "/v1/media", headers=TUS), 400, "invalid")
    expect_problem(uploader.create(4, "filename not*base64"), 400, "invalid")
    path = uploader.created(4)
    expect_problem(uploader.patch(path, 2, b"ab"), 409, "conflict")
    expect_problem(uploader.patch(path, 0, b"ab", **{"Content-Type": "text/plain"}), 415, "invalid")
    expect_problem(uploader.patch(path, 0, b"ab", **{"Upload-Checksum": "md5 abcd"}), 400, "invalid")
    expect_problem(uploader.patch(path, 0, b"abcde"), 413, "tooLarge")
    assert uploader.patch(path, 0, b"abcd").status_code == 204
    expect_problem(uploader.patch(path, 4, b""), 409, "conflict")
    expect_problem(uploader.call("GET", path + "/thumbnail?size=huge"), 400, "invalid")
    assert uploader.call("PUT", path).status_code == 405


def png(width: int, height: int) -> bytes:
    rows = b"".join(
        b"\0" + bytes((x * 3 % 256, y * 5 % 256, 90)[c] for x in range(width) for c in range(3)) for y in range(height)
    )
    return png_of(width, height, rows)


def png_of(width: int, height: int, rows: bytes, level: int = 6) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"tEXt", b"Comment\0where it was") + chunk(
        b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b"")  # fmt: skip


def test_a_picture_is_looked_into(uploader):
    path = uploader.upload(png(640, 480), "sun.txt")
    facts = uploader.call("GET", path).json()
    assert (facts["type"], facts["width"], facts["height"]) == ("image/png", 640, 480)
    assert {thumbnail["size"] for thumbnail in facts["thumbnails"]} == {"small", "large"} and facts["thumbhash"]
    content = uploader.call("GET", path + "/content")
    assert content.headers["Content-Type"] == "image/png" and b"where it was" not in content.content
    assert content.headers["Content-Disposition"].startswith("inline;")
    assert hashlib.sha256(content.content).hexdigest() == facts["sha256"] and len(content.content) == facts["size"]
    signed = uploader.call("POST", path + "/url").json()
    for size in ("small", "large"):
        thumbnail = uploader.call("GET", f"{path}/thumbnail?size={size}")
        assert thumbnail.headers["Content-Type"] == "image/webp" and thumbnail.content[8:12] == b"WEBP"
        assert (
            requests.get(uploader.base + signed["thumbnailUrls"][size], timeout=PATIENCE).content == thumbnail.content
        )
    assert [name for name in stored_files(uploader.system, path) if "." not in name] == []


def test_a_picture_that_cannot_be_read_is_refused(uploader):
    whole = png(64, 64)
    path = uploader.created(len(whole) // 2)
    assert uploader.patch(path, 0, whole[: len(whole) // 2]).status_code == 204
    facts = eventually(lambda: (f := uploader.call("GET", path).json())["state"] == "refused" and f, "it is refused")
    assert facts["reason"] == "unreadable"
    expect_problem(uploader.call("GET", path + "/content"), 404, "notFound")
    expect_problem(uploader.call("POST", path + "/url"), 409, "mediaNotReady")


def noise(side: int = 1_500) -> bytes:
    """A picture that it takes a while to look into."""
    rows = b"".join(b"\0" + random.randbytes(3 * side) for _ in range(side))
    return png_of(side, side, rows, level=0)


def inspectors(process: int) -> list[int]:
    """The children of a process by the name of the inspector: the server of media, or the processes for files of that.
    The dead that nobody has waited for are among them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name, rest = (folder / "stat").read_text().rsplit(")", 1)
            if name.endswith("(media-inspector") and int(rest.split()[1]) == process:
                found.append(int(folder.name))
    return found


def inspecting(single) -> list[int]:
    """The processes that are looking into files."""
    return [child for server in inspectors(single.pid("media")) for child in inspectors(server)]


def state(uploader: Uploader, path: str) -> str:
    return uploader.call("GET", path).json()["state"]


def begin_inspections(uploader: Uploader, *contents: bytes) -> list[str]:
    paths = [uploader.created(len(content)) for content in contents]
    for path, content in zip(paths, contents, strict=True):
        assert uploader.patch(path, 0, content).status_code == 204
    return paths


@pytest.mark.kills
def test_a_file_that_ends_its_process_is_refused_alone(uploader):
    [hostile] = begin_inspections(uploader, noise(3_000))
    [process] = eventually(lambda: inspecting(uploader.system), "it is looked into")
    os.kill(process, signal.SIGSTOP)  # It is not to end before.
    others = begin_inspections(uploader, png(64, 64), png(65, 64))
    os.kill(process, signal.SIGSEGV)
    os.kill(process, signal.SIGCONT)
    eventually(lambda: state(uploader, hostile) == "refused", "it is refused")
    assert uploader.call("GET", hostile).json()["reason"] == "unreadable"
    for path in others:
        uploader.ready(path)


@contextlib.contextmanager
def media_with(system: System, **settings: str):
    system.revive()
    system.kill("media")
    system.start("media", 0, **settings)
    system.revive()
    try:
        yield Uploader(system)
    finally:
        system.kill("media")
        system.revive()


@pytest.mark.kills
def test_a_file_that_takes_too_long_is_refused_alone(single):
    """Its process does nothing any more, and ends by nothing that it does itself."""
    with media_with(single, PARLEY_MEDIA_INSPECTOR_SECONDS="1", PARLEY_MEDIA_INSPECTORS="2") as uploader:
        [hanging] = begin_inspections(uploader, noise(2_000))
        [process] = eventually(lambda: inspecting(single), "it is looked into")
        os.kill(process, signal.SIGSTOP)
        uploader.upload(png(64, 64))
        eventually(lambda: state(uploader, hanging) == "refused", "it is refused")
        assert uploader.call("GET", hanging).json()["reason"] == "tooSlow"
        eventually(lambda: not inspecting(single), "its process has ended")


@pytest.mark.kills
def test_a_file_is_not_refused_because_no_process_could_be_made(single, tmp_path):
    """The server drops the first file, as where it cannot fork, and does as it should from then on."""
    lazy = tmp_path / "lazy-inspector"
    lazy.write_text(
        f"#!{sys.executable}\n"
        "import os, socket, sys\n"
        "_, dropped, _, _ = socket.recv_fds(socket.socket(fileno=os.dup(0)), 1, 2)\n"
        "for descriptor in dropped: os.close(descriptor)\n"
        f"os.execv('{EXECUTABLES / 'media-inspector'}', ['media-inspector', *sys.argv[1:]])\n"
    )
    lazy.chmod(0o755)
    with media_with(single, PARLEY_MEDIA_INSPECTOR=str(lazy)) as uploader:
        uploader.upload(png(64, 64))


@pytest.mark.kills
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_when_the_server_of_inspectors_dies_no_file_is_refused(uploader, how):
    """Its processes end with it, another one is started, and nothing is left of the first."""
    uploader.upload(png(8, 8))
    media = uploader.system.pid("media")
    [server] = inspectors(media)
    assert sockets(server) == 1, "it has nothing of media but the socket between them"
    paths = begin_inspections(uploader, *(noise(2_000) for _ in range(4)))
    eventually(lambda: inspecting(uploader.system), "one is looked into")
    os.kill(server, how)
    for path in paths:
        uploader.ready(path)
    [successor] = inspectors(media)
    assert successor != server and not Path(f"/proc/{server}").exists()


def test_looking_into_files_leaves_nothing_behind(uploader):
    media = uploader.system.pid("media")
    uploader.upload(png(8, 8))
    eventually(lambda: not inspecting(uploader.system), "the first is done")
    before = descriptors(media)
    for number in range(20):
        content = png(number + 1, 8)
        [path] = begin_inspections(uploader, content[: len(content) // 2] if number % 2 else content)
        eventually(lambda path=path: state(uploader, path) in ("ready", "refused"), "it is looked into")
    eventually(lambda: not inspecting(uploader.system), "no process is left")
    eventually(lambda: descriptors(media) <= before, "no descriptor is left")


def descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def sockets(process: int) -> int:
    return sum(os.readlink(each).startswith("socket:") for each in Path(f"/proc/{process}/fd").iterdir())


@pytest.mark.kills
def test_a_file_that_nobody_finished_looking_into_is_looked_into_again(single):
    """media dies as soon as the upload is complete; the next one finds it."""
    single.revive()
    uploader, content = Uploader(single), png(200, 200)
    path = uploader.created(len(content))
    assert uploader.patch(path, 0, content).status_code == 204
    single.kill("media")
    single.revive()
    uploader.ready(path)
    assert uploader.call("GET", path).json()["width"] == 200


def test_a_stranger_cannot_tell_a_file_from_none(uploader):
    path = uploader.upload(b"secret")
    stranger = Uploader(uploader.system)
    missing = f"/v1/media/{uuid.uuid4()}"
    for method, suffix in [("GET", ""), ("GET", "/content"), ("GET", "/thumbnail"), ("POST", "/url")]:
        answers = [stranger.call(method, each + suffix) for each in (path, missing, "/v1/media/none")]
        assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    for method in ("HEAD", "DELETE"):
        answers = [stranger.call(method, each, headers=TUS) for each in (path, missing)]
        assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert [stranger.patch(each, 0, b"abc").status_code for each in (path, missing)] == [404, 404]
    anonymous = requests.get(uploader.base + path + "/content", timeout=PATIENCE)
    expect_problem(anonymous, 401, "unauthenticated")


CALLS = {
    "POST /v1/media": 201,
    "HEAD": 200,
    "GET": 200,
    "GET /content": 200,
    "GET /thumbnail": 404,
    "POST /url": 200,
    "PATCH": 409,
    "DELETE": 204,
}
"""What becomes of the calls of a file's uploader. It has no thumbnail, and is complete."""


@pytest.mark.parametrize("call", CALLS)
def test_who_may_do_what_with_a_file(uploader, call):
    method, _, suffix = call.partition(" ")
    path = suffix if suffix == "/v1/media" else uploader.upload(b"some text") + suffix
    admin = token(f"backend-{uuid.uuid4()}", adm=True)
    posing = token(f"stranger-{uuid.uuid4()}")
    stranger = 201 if suffix == "/v1/media" else 404
    cast = [
        ({}, 401),
        ({"Authorization": "Bearer none"}, 401),
        ({"Authorization": f"Bearer {token(uploader.name, secret='another secret of more than 32 bytes')}"}, 401),
        ({"Authorization": f"Bearer {token(uploader.name, lifetime=-3600)}"}, 401),
        ({"Authorization": f"Bearer {posing}", "X-Parley-User": uploader.name}, 403),
        ({"Authorization": f"Bearer {posing}"}, stranger),
        ({"Authorization": f"Bearer {admin}"}, stranger),
        ({"Authorization": f"Bearer {admin}", "X-Parley-User": uploader.name}, CALLS[call]),
    ]
    body = {"Upload-Offset": "9"} | BODY if method == "PATCH" else {}
    headers = TUS | body | ({"Upload-Length": "9"} if suffix == "/v1/media" else {})
    for who, status in cast:
        answer = requests.request(method, uploader.base + path, headers=headers | who, timeout=PATIENCE)
        assert answer.status_code == status, (who, answer.text)
        assert status != 401 or answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_parts_of_a_file_are_read(uploader):
    content = random.Random(3).randbytes(2_000_000)
    path = uploader.upload(content)
    whole = uploader.call("GET", path + "/content")
    tag = whole.headers["ETag"]
    for first, last in [(0, 0), (1_000_000, 1_999_999), (70_000, 1_500_000)]:
        part = uploader.call("GET", path + "/content", headers={"Range": f"bytes={first}-{last}"})
        assert part.status_code == 206 and part.content == content[first : last + 1]
        assert part.headers["Content-Range"] == f"bytes {first}-{last}/2000000"
    assert uploader.call("GET", path + "/content", headers={"Range": "bytes=-5"}).content == content[-5:]
    beyond = uploader.call("GET", path + "/content", headers={"Range": "bytes=2000000-"})
    assert beyond.status_code == 416 and beyond.headers["Content-Range"] == "bytes */2000000"
    assert uploader.call("GET", path + "/content", headers={"If-None-Match": tag}).status_code == 304
    stale = uploader.call("GET", path + "/content", headers={"Range": "bytes=0-1", "If-Range": '"other"'})
    assert stale.status_code == 200 and len(stale.content) == len(content)
    head = uploader.call("HEAD", path + "/content")
    assert head.headers["Content-Length"] == "2000000" and not head.content


def test_a_signed_address_is_for_one_file_and_one_part(uploader):
    path, other = uploader.upload(b"mine"), uploader.upload(b"other")
    signed = uploader.call("POST", path + "/url").json()
    assert requests.get(uploader.base + signed["url"], timeout=PATIENCE).content == b"mine"
    query = signed["url"].partition("?")[2]
    expires = int(re.search(r"expires=(\d+)", query)[1])
    for changed in (
        f"{other}/content?{query}",
        f"{path}/thumbnail?{query}",
        f"{path}/content?{query.replace(str(expires), str(expires + 60))}",
        f"{path}/content?{query[:-1]}{'0' if query[-1] != '0' else '1'}",
    ):
        expect_problem(requests.get(uploader.base + changed, timeout=PATIENCE), 403, "forbidden")
    assert uploader.call("DELETE", path, headers=TUS).status_code == 204
    expect_problem(requests.get(uploader.base + signed["url"], timeout=PATIENCE), 404, "notFound")


def test_what_its_uploader_removes_is_gone_from_the_disk(uploader):
    ready, unfinished = uploader.upload(b"content"), uploader.created(10)
    uploader.patch(unfinished, 0, b"01234")
    assert stored_files(uploader.system, ready) and stored_files(uploader.system, unfinished)
    for path in (ready, unfinished):
        assert uploader.call("DELETE", path, headers=TUS).status_code == 204
        expect_problem(uploader.call("GET", path), 404, "notFound")
        eventually(lambda: not stored_files(uploader.system, path), "the bytes are removed")  # noqa: B023
    expect_problem(uploader.call("DELETE", ready, headers=TUS), 404, "notFound")


@pytest.mark.kills
def test_a_user_has_room_for_so_much_a_day_and_no_more(single):
    with media_with(single, PARLEY_MEDIA_BYTES_PER_DAY="1000", PARLEY_MEDIA_UNFINISHED="2") as uploader:
        uploader.upload(b"x" * 600)
        refused = uploader.create(401)
        expect_problem(refused, 429, "rateLimited")
        assert 0 < int(refused.headers["Retry-After"]) <= 86_400
        uploader.created(100)
        uploader.created(100)
        expect_problem(uploader.create(1), 429, "rateLimited")
        Uploader(single).created(1000)


@pytest.mark.kills
def test_a_small_file_counts_for_a_20_000th_of_a_day(single):
    with media_with(single, PARLEY_MEDIA_BYTES_PER_DAY="100000") as uploader:
        uploader.created(1)  # Counts for five.
        expect_problem(uploader.create(99_996), 429, "rateLimited")
        uploader.created(99_990)
        uploader.created(2)
        expect_problem(uploader.create(1), 429, "rateLimited")


@pytest.mark.kills
def test_a_copy_counts_as_what_its_user_has_uploaded_and_is_made_once(single):
    with media_with(single, PARLEY_MEDIA_BYTES_PER_DAY="1000") as uploader:
        other = Uploader(single)
        group, message = uploader.shared_with(other, uploader.upload(b"x" * 600))
        first = other.forward(message, group, group)
        assert first.status_code == 201
        again = other.forward(message, group, group, id=first.json()["id"])
        assert again.status_code == 200 and again.json() == first.json()
        expect_problem(other.forward(message, group, group), 429, "rateLimited")
        assert other.create(400).status_code == 201 and other.create(1).status_code == 429
        # The bytes are on the disk once, until the last message with them is gone.
        [copy] = first.json()["attachments"]
        [file] = stored_files(single, f"/v1/media/{copy['id']}")
        path = single.state / "media" / "objects" / file[:2] / file
        assert path.stat().st_nlink == 2
        uploader.take_back(message, group)
        eventually(lambda: path.stat().st_nlink == 1, "the first file is removed")
        assert other.call("GET", f"/v1/media/{copy['id']}/content").content == b"x" * 600
        other.take_back(first.json()["id"], group)
        eventually(lambda: not path.exists(), "its copy is removed")


@pytest.mark.kills
def test_copies_are_among_what_a_user_may_have_in_progress(single):
    with media_with(single, PARLEY_MEDIA_STREAMS_PER_USER="1") as uploader:
        other = Uploader(single)
        group, message = uploader.shared_with(other, uploader.upload(b"plan"))
        path = other.created(10)
        connection = other.begin_patch(path, 0, b"01234", 10)
        eventually(lambda: metric(single, "parley_media_uploads") == 1, "the upload is in progress")
        assert other.call("GET", path + "/content").status_code == 429
        expect_problem(other.forward(message, group, group), 429, "rateLimited")
        connection.close()
        eventually(lambda: other.forward(message, group, group).status_code == 201, "the upload has ended")


def test_collecting_leaves_what_is_needed(uploader):
    path, unfinished = uploader.upload(b"kept"), uploader.created(10)
    uploader.patch(unfinished, 0, b"01234")
    folder = uploader.system.state / "media" / "incoming" / "ab"
    orphan = folder / f"ab{str(uuid.uuid4())[2:]}"
    orphan.write_bytes(b"nobody's")
    young = uploader.system.state / "media" / "objects" / "ab" / f"ab{str(uuid.uuid4())[2:]}.7.content"
    young.write_bytes(b"of a process that is about to note it")
    environment = uploader.system.environment_of("media", 0)

    def collect(*options: str) -> str:
        done = subprocess.run(
            [EXECUTABLES / "media", "collect", *options], env=environment, text=True, capture_output=True,
            timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "0 files" in collect()
    assert orphan.name in collect("--dry-run", "--older-than", "0s") and orphan.exists()
    assert orphan.name in collect("--older-than", "0s") and not orphan.exists() and not young.exists()
    assert uploader.call("GET", path + "/content").content == b"kept"
    assert uploader.offset(unfinished) == 5


def test_errors_of_the_client_library_are_of_the_service(uploader):
    """tuspy says what media says."""
    client = TusClient(uploader.base + "/v1/media", headers={"Authorization": "Bearer none"})
    with pytest.raises(TusCommunicationError) as refused:
        client.uploader(file_stream=BytesIO(b"abc")).upload()
    assert refused.value.status_code == 401
