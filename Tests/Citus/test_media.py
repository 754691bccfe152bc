"""Files on a cluster: uploads of users of all shards by any process, who reads them, and what becomes of them when
services end and shards move."""

import base64
import subprocess
import threading
import time
import uuid

import pytest
from client import token
from serving import Serving, move, shards, user_in
from system import EXECUTABLES

import requests

TUS = {"Tus-Resumable": "1.0.0"}


@pytest.fixture(scope="module")
def serving(cluster):
    serving = Serving(cluster, media=2)
    serving.wait(lambda: all(cluster.system.is_ready("media", number) for number in (0, 1)))
    yield serving
    serving.stop()


class User:
    def __init__(self, serving: Serving, slots, media: int = 0):
        self.serving, self.media = serving, media
        self.name = user_in(slots, "uploader")

    def call(self, method: str, path: str, **options) -> requests.Response:
        """Of a process of media; again while there is none that can answer."""
        headers = {"Authorization": f"Bearer {token(self.name)}"} | options.pop("headers", {})
        deadline = time.monotonic() + 60
        while True:
            try:
                address = self.serving.address("media", self.media)
                answer = requests.request(method, address + path, headers=headers, timeout=30, **options)
            except requests.ConnectionError:
                answer = None
            if answer is not None and answer.status_code not in (423, 503) or time.monotonic() > deadline:
                return answer
            time.sleep(0.05)

    def create(self, size: int, name: str = "note.txt") -> str:
        metadata = f"filename {base64.b64encode(name.encode()).decode()}"
        answer = self.call("POST", "/v1/media", headers=TUS | {"Upload-Length": str(size), "Upload-Metadata": metadata})
        assert answer.status_code == 201, answer.text
        return answer.headers["Location"]

    def append(self, path: str, content: bytes):
        """As clients do: from where the upload is, again until all is there."""
        while True:
            head = self.call("HEAD", path, headers=TUS)
            assert head.status_code == 200, head.status_code
            offset = int(head.headers["Upload-Offset"])
            if offset == len(content):
                return
            kind = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
            self.call("PATCH", path, headers=TUS | kind, data=content[offset:])

    def upload(self, content: bytes) -> str:
        """The path of a file that is ready."""
        path = self.create(len(content))
        self.append(path, content)
        self.serving.wait(lambda: self.call("GET", path).json().get("state") == "ready")
        return path

    def content(self, path: str) -> tuple[int, bytes]:
        answer = self.call("GET", path + "/content")
        return answer.status_code, answer.content

    def share(self, conversation: str, path: str) -> dict:
        body = {"id": str(uuid.uuid4()), "attachments": [{"id": path.rpartition("/")[2]}]}
        status, message = self.serving.request(self.name, "POST", f"/v1/conversations/{conversation}/messages", body)
        assert status == 201, message
        return message


def test_two_services_share_the_shards_of_each_worker(serving):
    serving.wait(lambda: [serving.metric(n, "parley_media_slots", "media") for n in (0, 1)] == [128, 128])


def test_any_process_serves_the_files_of_every_shard(serving):
    for slot in shards(serving.cluster):
        content = f"of slot {slot}".encode()
        user = User(serving, {slot})
        path = user.upload(content)
        user.media = 1
        assert user.content(path) == (200, content)
        assert user.call("HEAD", path, headers=TUS).headers["Upload-Length"] == str(len(content))
        assert User(serving, {slot}).content(path)[0] == 404, "it is nobody else's"
    [[count, used]] = serving.cluster.sql(
        "SELECT (SELECT count(*) FROM media.objects WHERE state = 3), (SELECT sum(bytes) FROM media.usage)"
    )
    assert int(count) == len(shards(serving.cluster)) and int(used) > 0


def test_an_upload_is_taken_back(serving):
    user = User(serving, {9})
    path = user.create(100)
    assert user.call("DELETE", path, headers=TUS).status_code == 204
    assert user.call("HEAD", path, headers=TUS).status_code == 404
    name = path.rpartition("/")[2]
    serving.wait(lambda: serving.cluster.sql(f"SELECT count(*) FROM media.objects WHERE id = '{name}'") == [["0"]])


def test_who_may_see_the_message_reads_its_file_and_nobody_else(serving):
    places = shards(serving.cluster)
    slot = next(iter(places))
    elsewhere = {other for other, node in places.items() if node != places[slot]}
    alice, bob, mallory = User(serving, elsewhere), User(serving, elsewhere), User(serving, elsewhere)
    conversation = serving.make_conversation(slot, alice.name, bob.name)
    path = alice.upload(b"for bob")
    assert bob.content(path)[0] == 404, "not before it is sent"
    message = alice.share(conversation, path)
    assert message["attachments"][0]["id"] == path.rpartition("/")[2]
    assert bob.content(path) == (200, b"for bob")
    assert mallory.content(path)[0] == 404
    assert alice.call("DELETE", path, headers=TUS).status_code == 409, "a message carries it"
    signed = bob.call("POST", path + "/url").json()["url"]
    assert requests.get(serving.address("media", 1) + signed, timeout=30).content == b"for bob"
    # With the message the file goes.
    where = f"/v1/conversations/{conversation}/messages/{message['id']}?scope=everyone"
    assert serving.request(alice.name, "DELETE", where)[0] == 204
    serving.wait(lambda: alice.content(path)[0] == 404)
    name = path.rpartition("/")[2]
    serving.wait(lambda: serving.cluster.sql(f"SELECT count(*) FROM media.objects WHERE id = '{name}'") == [["0"]])
    assert files_named(serving, name) == []


def test_what_is_forwarded_is_a_copy(serving):
    places = shards(serving.cluster)
    slot = next(iter(places))
    alice, bob = (User(serving, {other for other, node in places.items() if node != places[slot]}) for _ in range(2))
    conversation = serving.make_conversation(slot, alice.name, bob.name)
    other = serving.make_conversation(next(slot for slot in places if places[slot] != places[0]), bob.name, "carol")
    message = alice.share(conversation, alice.upload(b"to be passed on"))
    body = {"id": str(uuid.uuid4()), "forward": {"conversationId": conversation, "messageId": message["id"]}}
    status, copy = serving.request(bob.name, "POST", f"/v1/conversations/{other}/messages", body)
    assert status == 201, copy
    path = f"/v1/media/{copy['attachments'][0]['id']}"
    assert path.rpartition("/")[2] != message["attachments"][0]["id"]
    assert bob.content(path) == (200, b"to be passed on")


def test_uploads_and_reads_go_on_when_a_service_ends(serving):
    user = User(serving, {3})
    content = bytes(300_000)
    path = user.create(len(content))
    kind = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    user.call("PATCH", path, headers=TUS | kind, data=content[:100_000])
    serving.kill("media", 0)
    user.media = 1
    user.append(path, content)
    # Whoever was about to look into files is gone; the other one takes the slots and does it.
    serving.wait(lambda: user.call("GET", path).json().get("state") == "ready")
    serving.wait(lambda: serving.slots("media") == 256)
    assert user.content(path) == (200, content)
    serving.start("media", 0)
    serving.wait(lambda: serving.metric(0, "parley_media_slots", "media") == 128)


def test_no_upload_is_lost_when_its_shard_moves(serving):
    slot = next(iter(shards(serving.cluster)))
    user = User(serving, {slot})
    user.upload(b"before")
    kept: list[tuple[str, bytes]] = []
    ended = threading.Event()

    def work():
        while not ended.is_set() or len(kept) < 3:
            content = str(uuid.uuid4()).encode()
            kept.append((user.upload(content), content))
            time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        time.sleep(0.3)
        for _ in range(2):
            move(serving.cluster, slot)
            time.sleep(0.5)
    finally:
        ended.set()
        thread.join()
    for number in (0, 1):
        user.media = number
        for path, content in kept:
            assert user.content(path) == (200, content)


def test_files_of_no_row_are_collected_and_the_others_stay(serving):
    user = User(serving, {5})
    path = user.upload(b"stays")
    folder = serving.cluster.system.state / "media"
    before = sorted(file for file in folder.rglob("*") if file.is_file())
    lost = "0b0b0b0b-0b0b-4b0b-8b0b-0b0b0b0b0b05"
    kept = next(file for file in before if path.rpartition("/")[2] in str(file))
    orphan = kept.with_name(kept.name.replace(path.rpartition("/")[2], lost))
    if orphan == kept:
        pytest.fail(f"{kept} does not have the name of its file")
    orphan.write_bytes(b"of nobody")
    said = command(serving, "collect", "--older-than", "0s")
    # Of a file that was looked into twice, because its shard moved meanwhile, it finds one as well.
    assert f"removes {orphan} 9" in said and "0 missing" in said, said
    after = {file for file in folder.rglob("*") if file.is_file()}
    assert orphan not in after and kept in after and after <= set(before)
    assert user.content(path) == (200, b"stays")


def test_all_files_are_copied_to_another_storage(serving):
    user = User(serving, {250})
    path = user.upload(b"to be copied")
    other = serving.cluster.system.state / "media-copy"
    said = command(serving, "copy", "--to", f"file://{other}", "--verify")
    [[count]] = serving.cluster.sql("SELECT count(*) FROM media.objects WHERE state = 3")
    assert f"{count} copied" in said and "0 failed" in said, said
    assert any(path.rpartition("/")[2] in str(file) for file in other.rglob("*"))


def command(serving, *arguments: str) -> str:
    environment = serving.cluster.environment("media") | {
        "PARLEY_MEDIA_STORAGE": f"file://{serving.cluster.system.state}/media"
    }
    done = subprocess.run(
        [EXECUTABLES / "media", *arguments], env=environment, text=True, timeout=120,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def files_named(serving, name: str) -> list:
    return [file for file in (serving.cluster.system.state / "media").rglob("*") if name in str(file)]
