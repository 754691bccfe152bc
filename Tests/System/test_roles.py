"""The roles of the database as deploy/database makes them: each can do what it is for, and no more."""

import pytest
from client import eventually, token
from deployed import DeployedSystem
from system import EXECUTABLES


@pytest.fixture(scope="module")
def deployed():
    system = DeployedSystem()
    try:
        system.up()
        yield system
    finally:
        system.remove()


async def test_everything_works_with_the_rights_of_the_services(deployed, people):
    alice, bob = people(deployed, 2)
    conversation = await alice.create_group(bob)
    session = await alice.connect()
    message = await alice.sent(conversation, "with few rights")
    path = f"/v1/conversations/{conversation}/messages/{message['id']}"
    assert (await bob.request("POST", f"/v1/conversations/{conversation}/receipts", {"readSeq": 2})).status == 202
    await session.next("status", where=lambda frame: frame.get("read", {}).get(bob.name) == 2)
    assert (await bob.request("PUT", f"{path}/tapback", {"kind": "love"})).status == 200
    assert (await alice.get("/v1/search", q="rights"))["results"][0]["message"]["id"] == message["id"]
    assert (await alice.request("DELETE", f"{path}?scope=everyone")).status == 204
    assert (await bob.request("PUT", "/v1/settings", {"readReceipts": False})).status == 200

    alice.token = token(alice.name, adm=True)

    async def is_erased() -> bool:
        return (await alice.request("DELETE", f"/v1/users/{bob.name}")).status == 200

    await eventually(is_erased)
    logs = "".join(log.read_text() for log in (deployed.state / "logs").glob("*-0.log"))
    assert "42501" not in logs and "permission denied" not in logs


async def test_when_a_large_room_has_everything_is_kept(deployed, people):
    everybody = people(deployed, 51)
    conversation = await everybody[0].create_group(*everybody[1:])
    message = await everybody[0].sent(conversation, "for all of you")
    path = f"/v1/conversations/{conversation}/receipts"
    for member in everybody[1:]:
        assert (await member.request("POST", path, {"readSeq": message["seq"]})).status == 202
    kept = f"SELECT count(*) FROM receipt.completions WHERE conversation_id = '{conversation}'"

    async def is_kept() -> bool:
        return int(deployed.psql("receipt", kept).stdout) > 0

    await eventually(is_kept)


async def test_the_role_for_maintenance_scrubs_beside_a_running_system(deployed, people):
    [alice] = people(deployed, 1)
    conversation = await alice.create_group()
    scrubbed = deployed.run(EXECUTABLES / "parley", "scrub", "--database", deployed.url("maintenance"))
    assert scrubbed.returncode == 0, scrubbed.stdout
    assert "store.messages: " in scrubbed.stdout and "receipt.horizons: " in scrubbed.stdout
    assert "media.objects: " in scrubbed.stdout
    assert (await alice.send(conversation, "still there")).status == 201


@pytest.mark.parametrize("role", ["store", "receipt", "media", "store_owner"])
def test_others_do_not_scrub(deployed, role):
    refused = deployed.run(EXECUTABLES / "parley", "scrub", "--patience", "1s", "--database", deployed.url(role))
    assert refused.returncode == 1
    assert "belongs to another role" in refused.stdout or "permission denied" in refused.stdout, refused.stdout


@pytest.mark.parametrize(
    "service, role, may",
    [
        ("store", "store_owner", True),
        ("receipt", "receipt_owner", True),
        ("store", "store", False),
        ("receipt", "receipt", False),
        ("receipt", "store_owner", False),
    ],
)
def test_only_the_owner_migrates_and_a_second_time_changes_nothing(deployed, service, role, may):
    again = deployed.run(EXECUTABLES / service, "migrate", PARLEY_DATABASE_URL=deployed.url(role))
    assert (again.returncode == 0) == may, again.stdout


@pytest.mark.kills
async def test_only_the_owner_tells_a_database_that_it_was_restored(deployed, people):
    [alice] = people(deployed, 1)
    before = (await alice.connect()).welcome["logId"]
    running = deployed.run(EXECUTABLES / "store", "restored", PARLEY_DATABASE_URL=deployed.url("store_owner"))
    assert running.returncode == 1 and "stop all services" in running.stdout
    deployed.stop()
    refused = deployed.run(EXECUTABLES / "store", "restored", PARLEY_DATABASE_URL=deployed.url("store"))
    assert refused.returncode == 1 and "permission denied" in refused.stdout
    told = deployed.run(EXECUTABLES / "store", "restored", PARLEY_DATABASE_URL=deployed.url("store_owner"))
    assert told.returncode == 0, told.stdout
    deployed.up()
    assert (await alice.connect()).welcome["logId"] != before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT body FROM store.messages",
        "SELECT count(*) FROM store.messages",
        "SELECT body FROM store.revisions",
        "SELECT texts FROM store.search_blocks",
        "SELECT title FROM store.conversations",
        "SELECT * FROM store.changes",
        "SELECT * FROM store.tapbacks",
    ],
)
def test_receipt_cannot_read_texts_or_titles(deployed, sql):
    assert deployed.psql("receipt", "SELECT count(*) FROM store.memberships").returncode == 0
    refused = deployed.psql("receipt", sql)
    assert refused.returncode != 0 and "permission denied" in refused.stdout, refused.stdout


@pytest.mark.parametrize("service, other", [("store", "receipt"), ("receipt", "store")])
async def test_a_service_ends_sessions_of_its_own_kind_alone(deployed, service, other):
    """By which it takes over from one that stands still: it sees what such a session waits for, and may end it."""
    writers = "FROM pg_stat_activity WHERE application_name = 'parley-{}-writer' AND usename = '{}'"
    own = f"SELECT pid {writers.format(service, service)} AND state_change IS NOT NULL"
    seen = deployed.psql(service, own)
    assert seen.returncode == 0 and seen.stdout, seen.stdout
    refused = deployed.psql(service, f"SELECT pg_terminate_backend(pid) {writers.format(other, other)}")
    assert refused.returncode != 0 and "terminate" in refused.stdout, refused.stdout
    ended = deployed.psql(service, f"SELECT pg_terminate_backend(pid) {writers.format(service, service)}")
    assert ended.returncode == 0 and "t" in ended.stdout.split(), ended.stdout

    async def is_back() -> bool:
        new = deployed.psql(service, own).stdout.split()
        return bool(new) and not {*new} & {*seen.stdout.split()}

    await eventually(is_back)


@pytest.mark.parametrize(
    "role, sql",
    [
        ("receipt", "UPDATE store.memberships SET role = 2"),
        ("receipt", "DELETE FROM store.user_settings"),
        ("store", "DELETE FROM receipt.horizons"),
        ("store", "SELECT count(*) FROM receipt.last_seen"),
        ("store", "INSERT INTO receipt.slots (slot) VALUES (1)"),
        ("store", "UPDATE store.deployment SET log_id = gen_random_uuid()"),
        ("store", "DELETE FROM store.migrations"),
        ("store", "DROP TABLE store.messages"),
        ("store", "CREATE TABLE store.mine (a integer)"),
        ("store", "CREATE TABLE public.mine (a integer)"),
        ("receipt", "CREATE SCHEMA mine"),
        ("store", "SELECT pg_read_file('/etc/passwd')"),
        ("store", "SELECT rolpassword FROM pg_authid"),
        ("store", "SELECT pg_switch_wal()"),
        ("store", "SET ROLE store_owner"),
        ("store_owner", "SELECT count(*) FROM receipt.horizons"),
        ("receipt_owner", "SELECT body FROM store.messages"),
        ("maintenance", "SELECT rolpassword FROM pg_authid"),
        ("maintenance", "CREATE ROLE mine"),
    ],
)
def test_a_role_has_only_the_rights_it_needs(deployed, role, sql):
    refused = deployed.psql(role, sql)
    assert refused.returncode != 0
    assert "permission denied" in refused.stdout or "must be owner" in refused.stdout, refused.stdout
