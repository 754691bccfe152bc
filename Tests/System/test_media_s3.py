"""Files in an object store: what `test_media.py` says of files on a disk, and what becomes of them when the store or
media dies."""

import hashlib
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
import requests
from object_store import ObjectStore
from system import EXECUTABLES, System
from test_media import (  # noqa: F401
    expect_problem,
    png,
    test_a_file_that_nobody_finished_looking_into_is_looked_into_again,
    test_a_picture_is_looked_into,
    test_a_picture_that_cannot_be_read_is_refused,
    test_a_signed_address_is_for_one_file_and_one_part,
    test_no_acknowledged_byte_is_lost_or_sent_again,
    test_parts_of_a_file_are_read,
    test_what_a_client_of_tus_uploads_is_read_again,
    test_what_its_uploader_removes_is_gone_from_the_disk,
)
from uploads import PATIENCE, TUS, Uploader, eventually, metric, stored_files


class StoreSystem(System):
    """A system whose media has an object store, on ports that the system has reserved."""

    store: ObjectStore

    def up(self):
        super().up()
        self.store = ObjectStore(self.state / "store", self.http_port + 60)
        self.change("media", **self.store.settings(self.state / "media"))
        self.revive()

    def remove(self):
        if hasattr(self, "store"):
            self.store.kill()
        super().remove()

    def stored_files(self, name: str) -> list[str]:
        return super().stored_files(name) + [each for each in self.store.names() if each.startswith(name)]


@pytest.fixture(scope="module")
def single():
    system = StoreSystem(instances=1)
    try:
        system.up()
        yield system
    finally:
        system.remove()


@pytest.fixture
def uploader(single) -> Uploader:
    single.revive()
    return Uploader(single)


@pytest.fixture
def store(single) -> ObjectStore:
    return single.store


def collect(system: System, *options: str) -> str:
    return media(system, "collect", *options).stdout


def media(system: System, *arguments: str, fails: bool = False, **extra: str) -> subprocess.CompletedProcess:
    environment = system.environment_of("media", 0) | extra
    done = subprocess.run(
        [EXECUTABLES / "media", *arguments], env=environment, text=True, capture_output=True, timeout=PATIENCE
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def resident_megabytes(system: System) -> float:
    status = Path(f"/proc/{system.pid('media')}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def begun(uploader: Uploader, content: bytes) -> str:
    """The path of an upload that is complete, and may or may not be kept."""
    path = uploader.created(len(content))
    assert uploader.patch(path, 0, content).status_code == 204
    return path


def lacks_storage_alone(system: System) -> bool:
    try:
        answer = requests.get(system.address("media") + "/readyz", timeout=PATIENCE)
    except requests.ConnectionError:  # It has not begun to listen.
        return False
    return list(answer.json()["reasons"]) == ["storage"]


def state(uploader: Uploader, path: str) -> str:
    return uploader.call("GET", path).json()["state"]


def test_what_is_kept_is_in_the_store_and_nowhere_else(uploader, store):
    content = random.Random(1).randbytes(12_000_000)
    path = uploader.upload(content)
    name = path.rpartition("/")[2]
    [stored] = stored_files(uploader.system, path)
    assert stored.startswith(name) and stored.endswith(".content")
    assert store.content(stored) == content
    assert not store.pending()
    assert list((uploader.system.state / "media" / "staging").iterdir()) == []


def test_a_picture_and_its_thumbnails_are_in_the_store(uploader, store):
    path = uploader.upload(png(300, 200))
    names = eventually(lambda: len(n := stored_files(uploader.system, path)) == 3 and n, "the upload is removed")
    assert sorted(name.rpartition(".")[2] for name in names) == ["content", "large", "small"]
    facts = uploader.call("GET", path).json()
    [content] = [name for name in names if name.endswith(".content")]
    assert hashlib.sha256(store.content(content)).hexdigest() == facts["sha256"]
    part = uploader.call("GET", path + "/thumbnail?size=small", headers={"Range": "bytes=-7"})
    whole = uploader.call("GET", path + "/thumbnail?size=small")
    assert part.status_code == 206 and part.content == whole.content[-7:]


def test_what_is_forwarded_is_copied_by_the_store(uploader, store):
    other = Uploader(uploader.system)
    path = uploader.upload(png(300, 200))
    group, message = uploader.shared_with(other, path)
    forwarded = other.forward(message, group, group)
    assert forwarded.status_code == 201, forwarded.text
    copy = f"/v1/media/{forwarded.json()['attachments'][0]['id']}"
    for part in ("/content", "/thumbnail?size=small", "/thumbnail?size=large"):
        assert other.call("GET", copy + part).content == uploader.call("GET", path + part).content != b""
    assert len(stored_files(uploader.system, copy)) == 3
    uploader.take_back(message, group)
    eventually(lambda: not stored_files(uploader.system, path), "the first file is removed")
    assert other.call("GET", copy + "/content").status_code == 200
    other.take_back(forwarded.json()["id"], group)
    eventually(lambda: not stored_files(uploader.system, copy), "its copy is removed")


def test_a_large_file_takes_little_memory(uploader):
    """60 MB through parts and windows, by a process that was started for it."""
    system = uploader.system
    content = random.Random(4).randbytes(60_000_000)
    before = resident_megabytes(system)
    path = uploader.upload(content)
    assert uploader.call("GET", path + "/content").content == content
    part = uploader.call("GET", path + "/content", headers={"Range": "bytes=1000000-59999998"})
    assert part.content == content[1_000_000:59_999_999]
    assert resident_megabytes(system) - before < 30


@pytest.mark.kills
@pytest.mark.parametrize("delay", [0, 0.02, 0.05, 0.1, 0.2])
def test_media_may_die_while_it_keeps_a_file(single, store, delay):
    single.revive()
    uploader, content = Uploader(single), random.Random(5).randbytes(40_000_000)
    path = begun(uploader, content)
    time.sleep(delay)  # What is waited for is a moment in the middle, which nothing shows.
    single.kill("media")
    single.revive()
    uploader.ready(path)
    assert uploader.call("GET", path + "/content").content == content
    # What the dead process left is found, and what is needed is not.
    collect(single, "--older-than", "0s")
    assert len(stored_files(single, path)) == 1 and not store.pending()
    assert uploader.call("GET", path + "/content").content == content


@pytest.mark.kills
def test_nothing_is_lost_while_the_store_is_away(single, store):
    single.revive()
    uploader = Uploader(single)
    before, contents = uploader.upload(b"from before"), [random.Random(n).randbytes(200_000) for n in range(3)]
    store.kill()
    try:
        paths = [begun(uploader, content) for content in contents]
        expect_problem(uploader.call("GET", before + "/content"), 503, "unavailable")
        eventually(lambda: metric(single, "parley_media_postponed_total") > 0, "a file is tried in vain")
        eventually(lambda: metric(single, "parley_media_storage_up") == 0, "it is seen to be away")
        assert {state(uploader, path) for path in paths} == {"processing"}
        assert single.is_ready("media")
        # Neither is it lost when media dies meanwhile, nor what is to be removed kept.
        assert uploader.call("DELETE", before, headers=TUS).status_code == 204
        single.kill("media")
        single.start("media", 0)
    finally:
        store.start()
    single.revive()
    age(single, before)
    for path, content in zip(paths, contents, strict=True):
        uploader.ready(path)
        assert uploader.call("GET", path + "/content").content == content
    eventually(lambda: not stored_files(single, before), "what was removed meanwhile is gone")
    eventually(lambda: metric(single, "parley_media_storage_up") == 1, "it is seen to be back")


@pytest.mark.kills
def test_uploads_wait_for_the_store_up_to_a_bound(single, store):
    single.kill("media")
    single.start("media", 0, PARLEY_MEDIA_BACKLOG="1000")
    single.revive()
    uploader = Uploader(single)
    store.kill()
    try:
        waiting = begun(uploader, b"x" * 1000)
        eventually(lambda: metric(single, "parley_media_backlog_bytes") >= 1000, "it is seen that files wait")
        refused = uploader.create(1)
        expect_problem(refused, 503, "unavailable")
        assert int(refused.headers["Retry-After"]) > 0
    finally:
        store.start()
    uploader.ready(waiting)
    eventually(lambda: uploader.create(1).status_code == 201, "uploads begin again")
    single.kill("media")


@pytest.mark.kills
def test_media_dies_while_the_store_hangs_and_what_was_removed_is_gone_afterwards(single, store):
    single.revive()
    uploader = Uploader(single)
    path = uploader.upload(png(100, 100))
    store.freeze()
    try:
        assert uploader.call("DELETE", path, headers=TUS).status_code == 204
        expect_problem(uploader.call("GET", path), 404, "notFound")
        single.kill("media")
    finally:
        store.thaw()
    # The removal that was on its way may be done by the store that hung: one of three.
    assert len(stored_files(single, path)) >= 2
    age(single, path)
    single.revive()
    eventually(lambda: not stored_files(single, path), "the objects are removed")


@pytest.mark.kills
def test_a_restart_while_the_store_hangs_counts_against_no_file(single, store):
    """Or a few of them would have a file refused that is waiting to be kept."""
    single.revive()
    uploader, content = Uploader(single), b"kept in the end"
    store.freeze()
    try:
        path = begun(uploader, content)
        eventually(lambda: attempts(single, path) == "1", "somebody tries")
        os.kill(single.pid("media"), signal.SIGTERM)
        eventually(lambda: not single.is_up("media"), "media ends")
        assert attempts(single, path) == "0"
    finally:
        store.thaw()
    age(single, path)
    single.revive()
    assert uploader.call("GET", uploader.ready(path) + "/content").content == content


def attempts(system: System, path: str) -> str:
    return system.sql(f"SELECT attempts FROM media.objects WHERE id = '{path.rpartition('/')[2]}'")


def age(system: System, path: str):
    """Has the row be due now, and not two minutes after a process took it up that died."""
    row = f"id = '{path.rpartition('/')[2]}'"
    system.sql(f"UPDATE media.objects SET due_at = now() WHERE {row} AND due_at IS NOT NULL")


@pytest.mark.kills
def test_what_a_dead_process_kept_of_a_removed_file_goes_with_it(single, store):
    single.revive()
    uploader = Uploader(single)
    path = uploader.upload(b"of the version that counts")
    name = path.rpartition("/")[2]
    store.put(f"{name}.17.content", b"of a process that died before it noted it")
    assert uploader.call("DELETE", path, headers=TUS).status_code == 204
    eventually(lambda: not stored_files(single, path), "all versions are removed")


@pytest.mark.kills
def test_a_wrong_key_is_told_and_nothing_of_it_shown(single, store):
    single.kill("media")
    single.start("media", 0, PARLEY_MEDIA_S3_KEY_FILE=str(store.wrong_key_file))
    log = single.state / "logs" / "media-0.log"
    eventually(lambda: "SignatureDoesNotMatch" in log.read_text(), "the log says what the store says")
    reasons = requests.get(single.address("media") + "/readyz", timeout=PATIENCE)
    assert reasons.status_code == 503 and "storage" in reasons.json()["reasons"]
    assert "another-secret" not in log.read_text()
    single.kill("media")


@pytest.mark.kills
def test_the_certificate_of_the_store_is_checked(single, store):
    log = single.state / "logs" / "media-0.log"
    single.kill("media")
    single.start("media", 0, PARLEY_MEDIA_S3_ENDPOINT=store.tls_endpoint)
    eventually(lambda: "SSL peer certificate" in log.read_text(), "the log says that nobody vouches for it")
    assert not single.is_ready("media")
    single.kill("media")
    trust = {"PARLEY_MEDIA_S3_CA_FILE": str(store.certificate)}
    single.start("media", 0, PARLEY_MEDIA_S3_ENDPOINT=store.tls_endpoint, **trust)
    single.revive()
    uploader, content = Uploader(single), random.Random(6).randbytes(6_000_000)
    assert uploader.call("GET", uploader.upload(content) + "/content").content == content
    single.kill("media")


def test_collecting_knows_what_was_begun_in_parts(uploader, store):
    system = uploader.system
    path = uploader.upload(b"kept")
    orphan = f"ab{str(uuid.uuid4())[2:]}.7.content"
    store.put(orphan, b"nobody's")
    left = system.state / "media" / "staging" / f"{str(uuid.uuid4())}.7.small"
    left.write_bytes(b"of a process that died")
    initiate(store)
    assert store.pending()
    assert "0 files" in collect(system)
    said = collect(system, "--dry-run", "--older-than", "0s")
    assert orphan in said and left.name in said and "parts of" in said
    assert orphan in store.names() and left.exists() and store.pending()
    collect(system, "--older-than", "0s")
    assert orphan not in store.names() and not left.exists() and not store.pending()
    assert uploader.call("GET", path + "/content").content == b"kept"


def initiate(store: ObjectStore):
    """Begins an object in parts, by another client of S3."""
    digest = hashlib.sha256(b"").hexdigest()
    done = subprocess.run(
        ["curl", "--fail", "--silent", "--noproxy", "*", "--request", "POST", "--aws-sigv4", "aws:amz:us-east-1:s3",
         "--user", store.key_file.read_text().strip().replace("\n", ":"), "--header", f"x-amz-content-sha256: {digest}",
         f"{store.endpoint}/files/parley/objects/ab/{uuid.uuid4()}.7.content?uploads="],
        capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0


def test_what_a_row_is_about_to_name_is_not_collected(uploader, store):
    """However old it is: the moment between keeping a file and noting it, which is short, is held by hand."""
    path = uploader.upload(b"kept and not noted")
    row = f"WHERE id = '{path.rpartition('/')[2]}'"
    [name] = eventually(lambda: len(n := stored_files(uploader.system, path)) == 1 and n, "the upload is removed")
    version = name.split(".")[1]
    uploader.system.sql(f"UPDATE media.objects SET state = 2, version = NULL, due_at = now() + '1 day' {row}")
    collect(uploader.system, "--older-than", "0s")
    assert name in store.names()
    uploader.system.sql(f"UPDATE media.objects SET state = 3, version = {version} {row}")
    assert uploader.call("GET", path + "/content").content == b"kept and not noted"


@pytest.mark.kills
def test_a_try_in_vain_leaves_nothing(single, store):
    """Whatever it made of a picture goes, or a long outage would fill the disk."""
    single.revive()
    uploader = Uploader(single)
    store.kill()
    try:
        path = begun(uploader, png(300, 200))
        tries = metric(single, "parley_media_postponed_total")
        eventually(lambda: metric(single, "parley_media_postponed_total") > tries, "it is tried in vain")
        assert list((single.state / "media" / "staging").iterdir()) == []
        assert state(uploader, path) == "processing"
    finally:
        store.start()
    uploader.ready(path)


@pytest.mark.kills
def test_a_bucket_that_is_gone_refuses_and_loses_nothing(single, store):
    single.revive()
    uploader = Uploader(single)
    kept = uploader.upload(b"kept")
    single.kill("media")
    single.start("media", 0, PARLEY_MEDIA_STORAGE="s3://no-such-bucket/parley")
    try:
        eventually(lambda: "NoSuchBucket" in (single.state / "logs" / "media-0.log").read_text(), "the log says so")
        eventually(lambda: lacks_storage_alone(single), "everything else is there")
        waiting = begun(uploader, b"waits")
        expect_problem(uploader.call("GET", kept + "/content"), 503, "unavailable")
        eventually(lambda: metric(single, "parley_media_postponed_total") > 0, "it is tried in vain")
        assert state(uploader, waiting) == "processing"
    finally:
        single.kill("media")
    single.revive()
    assert uploader.call("GET", uploader.ready(waiting) + "/content").content == b"waits"
    assert uploader.call("GET", kept + "/content").content == b"kept"


@pytest.fixture
def moving():
    """A system whose files are in a directory yet."""
    system = StoreSystem(instances=1)
    try:
        system.up()
        files = f"file://{system.state / 'files'}"
        system.change("media", PARLEY_MEDIA_STORAGE=files, PARLEY_MEDIA_SPOOL=f"file://{system.state / 'spool'}")
        system.revive()
        yield system
    finally:
        system.remove()


def test_files_move_to_a_store_and_back(moving):
    """Beside the service; what is interrupted goes on; what is damaged is told and does not go."""
    single, store, files = moving, moving.store, moving.state / "files"
    uploader = Uploader(single)
    contents = {uploader.upload(content := random.Random(n).randbytes(n)): content for n in (0, 10, 12_000_000)}
    picture = uploader.upload(png(300, 200))
    gone = uploader.upload(b"to be removed")
    damaged = uploader.upload(b"as it was")
    [file] = [each for each in files.rglob("*.content") if damaged.rpartition("/")[2] in each.name]
    file.write_bytes(b"as it is.")
    target = "s3://files/moved"
    first = media(single, "copy", "--to", target, fails=True)
    assert file.name in first.stderr and "SHA-256" in first.stderr and "1 failed" in first.stdout
    assert file.name not in store.names("moved")
    file.write_bytes(b"as it was")
    # Goes on where another ended: what is there stays, what is missing comes.
    missing = next(name for name in store.names("moved") if name.endswith(".small"))
    store.remove(missing, "moved")
    second = media(single, "copy", "--to", target)
    assert second.stdout.startswith("2 copied"), second.stdout
    assert missing in store.names("moved")
    assert media(single, "copy", "--to", target).stdout.startswith("0 copied")
    # What is there and damaged, at its size, is found by its digest.
    name = next(name for name in store.names("moved") if name.startswith(damaged.rpartition("/")[2]))
    store.remove(name, "moved")
    store.put(name, b"as it is.", "moved")
    assert media(single, "copy", "--to", target).stdout.startswith("0 copied")
    assert media(single, "copy", "--to", target, "--verify").stdout.startswith("1 copied")
    assert store.content(name, "moved") == b"as it was"
    # The service stops, what came meanwhile follows, and it goes on with the store.
    late = uploader.upload(b"came late")
    unfinished = uploader.created(10)
    assert uploader.patch(unfinished, 0, b"01234").status_code == 204
    assert uploader.call("DELETE", gone, headers=TUS).status_code == 204
    single.kill("media")
    assert media(single, "copy", "--to", target).stdout.startswith("1 copied")
    single.change("media", PARLEY_MEDIA_STORAGE=target, PARLEY_MEDIA_SPOOL=f"file://{files}")
    single.revive()
    for path, content in (contents | {late: b"came late", damaged: b"as it was"}).items():
        assert uploader.call("GET", path + "/content").content == content
    assert uploader.call("GET", picture + "/thumbnail?size=large").content[8:12] == b"WEBP"
    assert uploader.patch(unfinished, 5, b"56789").status_code == 204
    uploader.ready(unfinished)
    back = single.state / "back"
    media(single, "copy", "--to", f"file://{back}")
    single.change("media", PARLEY_MEDIA_STORAGE=f"file://{back}")
    single.revive()
    for path, content in (contents | {unfinished: b"0123456789"}).items():
        assert uploader.call("GET", path + "/content").content == content
