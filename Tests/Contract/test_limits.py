"""Every limit of `GET /v1/limits`: what lies at it passes, one more does not."""

import base64
import json
import re
import time
from email.utils import parsedate_to_datetime

import httpx
import pytest

from contract import DOCUMENT, PATH
from judged import PATIENCE
from people import Person, new_id, open_socket, soon

SHARES = {
    "sessionsPerUser", "framesPerSecond", "frameBurst", "receiptsPerSecond",
    "costPerSecond", "costBurst", "costInFlight", "bytesInFlight", "costs", "conversationsPerUser",
    "mediaBytesPerDay", "megapixels", "profileWriters",
    "messageRequests", "waitingRequests",
}  # fmt: skip
"""Of one user, at a time or for a while, what is found in a file, and what is no number: tested elsewhere."""

PAGES = {
    "conversationsPerPage": "/v1/conversations?limit=",
    "membersPerPage": "/v1/conversations/{group}/members?limit=",
    "messagesPerPage": "/v1/conversations/{group}/messages?limit=",
    "changesPerPage": "/v1/conversations/{group}/changes?after=0&limit=",
    "pagesPerDigest": "/v1/conversations/{group}/digest?limit=",
}
TESTED = set(PAGES)


def beyond(limit: str):
    """Marks the test of a limit."""
    TESTED.add(limit)
    return lambda test: test


@pytest.fixture
def group(anna, ben) -> str:
    return anna.group(ben)


def send(person, group: str, **fields):
    return person.post(f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "Hello"} | fields)


def padded(body: dict, size: int) -> bytes:
    """The body as JSON of so many bytes."""
    fits = json.dumps(body | {"padding": ""})
    return (fits[:-2] + "x" * (size - len(fits)) + '"}').encode()


def test_the_web_client_begins_with_the_limits_that_it_is_told_later(anna):
    source = (PATH.parents[2] / "Clients/web/core/limits.ts").read_text()
    usual = source.split("const usual = {")[1].split("};")[0]
    known = {name: int(number.replace("_", "")) for name, number in re.findall(r"(\w+): ([\d_]+),", usual)}
    limits = anna.get("/v1/limits").json()
    assert known and known == {name: limits[name] for name in known}
    [named] = re.findall(r"namedMembers = (\d+)", source)
    assert int(named) == limits["readingLifetimeMembers"]


def test_every_limit_is_tested_here_or_is_a_share():
    described = set(DOCUMENT["components"]["schemas"]["Limits"]["properties"])
    assert TESTED | SHARES == described - {
        "socketUrl",
        "newAccount",
        "retentionDays",
    }  # test_new_accounts.py, test_retention.py


@beyond("textBytes")
def test_the_text_of_a_message(anna, group, limits):
    assert send(anna, group, text="x" * limits["textBytes"]).status_code == 201
    assert send(anna, group, text="x" * (limits["textBytes"] - 1) + "ä").status_code == 413


@beyond("devicesPerUser")
def test_devices_that_are_ended_one_by_one(system, limits):
    person = Person(system, f"devices-{new_id()[-8:]}", dev="phone")
    paths = [f"/v1/devices/device{number}" for number in range(limits["devicesPerUser"] + 1)]
    answers = [person.http.delete(path) for path in paths]
    assert [answer.status_code for answer in answers] == [204] * limits["devicesPerUser"] + [409]
    assert person.http.delete("/v1/devices").status_code == 204, "which includes them"
    assert person.http.delete(paths[-1]).status_code == 204


@beyond("blockedUsers")
def test_blocks(new_person, limits):
    blocker = new_person("blocker")
    paths = [f"/v1/blocks/user{number}" for number in range(limits["blockedUsers"] + 1)]
    answers = [blocker.http.put(path) for path in paths]
    assert [answer.status_code for answer in answers] == [204] * limits["blockedUsers"] + [409]
    assert blocker.http.delete(paths[0]).status_code == 204
    assert blocker.http.put(paths[-1]).status_code == 204


def put_profile(person, **fields):
    return person.http.put("/v1/profile", json=fields).status_code


@beyond("invitationsPerConversation")
def test_invitations(anna, group, limits):
    path = f"/v1/conversations/{group}/invitations"
    made = [anna.post(path, {"id": new_id()}) for _ in range(limits["invitationsPerConversation"] + 1)]
    assert [each.status_code for each in made] == [201] * limits["invitationsPerConversation"] + [409]
    assert len(anna.get(path).json()["invitations"]) == limits["invitationsPerConversation"]
    assert anna.http.delete(f"{path}/{made[0].json()['id']}").status_code == 204
    assert anna.post(path, {"id": new_id()}).status_code == 201


def report(person, group: str, **fields) -> int:
    body = {"id": new_id(), "conversationId": group, "userId": person.name, "reason": "other"}
    return person.post("/v1/reports", body | fields).status_code


@beyond("reportCharacters")
def test_the_text_of_a_report(anna, group, limits):
    assert report(anna, group, text="ä" * limits["reportCharacters"]) == 201
    assert report(anna, group, text="ä" * (limits["reportCharacters"] + 1)) == 413


@beyond("openReportsPerReporter")
def test_reports(anna, ben, group, limits):
    answers = [report(anna, group) for _ in range(limits["openReportsPerReporter"] + 1)]
    assert answers == [201] * limits["openReportsPerReporter"] + [409]
    assert report(ben, group) == report(anna, anna.group()) == 201, "of each, and in each conversation"


@beyond("displayNameCharacters")
def test_a_display_name(anna, limits):
    assert put_profile(anna, displayName="🧗" * limits["displayNameCharacters"]) == 200
    assert put_profile(anna, displayName="a" * (limits["displayNameCharacters"] + 1)) == 413


@beyond("avatarUrlBytes")
def test_the_address_of_an_avatar(anna, limits):
    url = "https://a.example/".ljust(limits["avatarUrlBytes"], "x")
    assert put_profile(anna, avatarUrl=url) == 200
    assert put_profile(anna, avatarUrl=url + "x") == 413


@beyond("profileExtraBytes")
def test_what_an_application_keeps_in_a_profile(anna, limits):
    def put(size: int):
        extra = padded({}, size).decode()
        return anna.http.put("/v1/profile", content='{"extra": ' + extra + "}").status_code

    assert put(limits["profileExtraBytes"]) == 200
    assert put(limits["profileExtraBytes"] + 1) == 413


@beyond("profilesPerRequest")
def test_profiles_of_many(anna, limits):
    ids = [f"user{number}" for number in range(limits["profilesPerRequest"] + 1)]
    assert anna.get("/v1/profiles", params={"ids": ",".join(ids[1:])}).status_code == 200
    assert anna.get("/v1/profiles", params={"ids": ",".join(ids)}).status_code == 400


@beyond("pinnedConversations")
def test_pins(new_person, limits):
    pinner = new_person("pinner")
    groups = [pinner.group() for _ in range(limits["pinnedConversations"] + 1)]
    answers = [pinner.http.put(f"/v1/conversations/{group}/pin") for group in groups]
    assert [answer.status_code for answer in answers] == [204] * limits["pinnedConversations"] + [409]
    assert answers[-1].json()["detail"].startswith("order: ")


@beyond("draftsPerUser")
def test_drafts(new_person, limits):
    writer = new_person("writer")
    paths = [f"/v1/conversations/{writer.group()}/draft" for _ in range(limits["draftsPerUser"] + 1)]
    answers = [writer.http.put(path, json={"text": "Hel"}) for path in paths]
    assert [answer.status_code for answer in answers] == [204] * limits["draftsPerUser"] + [409]
    assert answers[-1].json()["detail"].startswith("text: ")
    assert writer.http.put(paths[0], json={"text": "Hello"}).status_code == 204, "to go on writing takes no place"
    assert writer.http.put(paths[0], json={"text": ""}).status_code == 204
    assert writer.http.put(paths[-1], json={"text": "Hel"}).status_code == 204


@beyond("scheduledPerUser")
def test_scheduled_messages(new_person, limits):
    writer = new_person("writer")
    group = writer.group()
    paths = [f"/v1/conversations/{group}/scheduled/{new_id()}" for _ in range(limits["scheduledPerUser"] + 1)]
    answers = [writer.http.put(path, json={"at": soon(), "text": "Later"}) for path in paths]
    assert [answer.status_code for answer in answers] == [204] * limits["scheduledPerUser"] + [409]
    assert answers[-1].json()["detail"].startswith("messageId: ")
    assert writer.http.put(paths[0], json={"at": soon(), "text": "Later"}).status_code == 204, "in place of itself"
    assert writer.http.delete(paths[0]).status_code == 204
    assert writer.http.put(paths[-1], json={"at": soon(), "text": "Later"}).status_code == 204


@beyond("scheduledAheadSeconds")
def test_how_far_ahead_a_message_is_scheduled(anna, group, limits):
    path = f"/v1/conversations/{group}/scheduled/{new_id()}"
    for seconds, status in ((limits["scheduledAheadSeconds"] - 60, 204), (limits["scheduledAheadSeconds"] + 60, 400)):
        answer = anna.http.put(path, json={"at": soon(seconds), "text": "Later"})
        assert answer.status_code == status, answer.text
    assert answer.json()["detail"].startswith("at: ")


@beyond("titleCharacters")
def test_the_title_of_a_group(anna, limits):
    for count, status in ((limits["titleCharacters"], 201), (limits["titleCharacters"] + 1, 413)):
        body = {"id": new_id(), "kind": "group", "members": [], "title": "🧗" * count}
        assert anna.post("/v1/conversations", body).status_code == status


@beyond("mentionsPerMessage")
def test_mentions(anna, group, limits):
    for count, status in ((limits["mentionsPerMessage"], 201), (limits["mentionsPerMessage"] + 1, 413)):
        assert send(anna, group, mentions=[f"user-{number}" for number in range(count)]).status_code == status


@beyond("pinnedMessages")
def test_pinned_messages(anna, group, limits):
    def pin(message: dict) -> int:
        return anna.http.put(f"/v1/conversations/{group}/messages/{message['id']}/pin").status_code

    messages = [anna.send(group, f"{number}") for number in range(limits["pinnedMessages"] + 1)]
    assert [pin(message) for message in messages] == [200] * limits["pinnedMessages"] + [409]
    first = f"/v1/conversations/{group}/messages/{messages[0]['id']}"
    assert pin(messages[0]) == 200, "it is pinned already"
    assert anna.http.delete(f"{first}?scope=everyone").status_code == 204
    assert pin(messages[-1]) == 200, "what is deleted takes no place"


def poll(anna, group, *options):
    body = {"id": new_id(), "text": "Which?", "poll": {"options": list(options)}}
    return anna.post(f"/v1/conversations/{group}/messages", body).status_code


@beyond("pollOptions")
def test_options_of_a_poll(anna, group, limits):
    options = [f"{number}" for number in range(limits["pollOptions"] + 1)]
    assert poll(anna, group, *options[1:]) == 201
    assert poll(anna, group, *options) == 413


@beyond("pollOptionCharacters")
def test_an_option_of_a_poll(anna, group, limits):
    assert poll(anna, group, "é" * limits["pollOptionCharacters"], "b") == 201
    assert poll(anna, group, "é" * (limits["pollOptionCharacters"] + 1), "b") == 413


@beyond("messageExtraBytes")
def test_what_an_application_adds_to_a_message(anna, group, limits):
    for size, status in ((limits["messageExtraBytes"], 201), (limits["messageExtraBytes"] + 1, 413)):
        body = json.dumps({"id": new_id(), "text": "Look"}).encode()[:-1] + b', "extra": ' + padded({}, size) + b"}"
        assert anna.post(f"/v1/conversations/{group}/messages", body).status_code == status


@beyond("sealedBytes")
def test_what_is_sealed(anna, group, limits):
    for size, status in ((limits["sealedBytes"], 201), (limits["sealedBytes"] + 4, 413)):
        body = {"id": new_id(), "sealed": "A" * size}
        assert anna.post(f"/v1/conversations/{group}/messages", body).status_code == status


@beyond("attachmentsPerMessage")
def test_attachments(anna, group, limits):
    for count, status in ((limits["attachmentsPerMessage"], 404), (limits["attachmentsPerMessage"] + 1, 413)):
        assert send(anna, group, attachments=[{"id": new_id()} for _ in range(count)]).status_code == status


@pytest.fixture
def media(system, anna):
    """media has no calls in the document yet, so nobody judges its responses."""
    address = f"http://127.0.0.1:{system.http_port + 4}"
    headers = {"Authorization": f"Bearer {anna.token}", "Tus-Resumable": "1.0.0"}
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE, trust_env=False) as client:
        yield client


def create(media, size: int, name: str = "note.txt") -> httpx.Response:
    metadata = f"filename {base64.b64encode(name.encode()).decode()}"
    return media.post("/v1/media", headers={"Upload-Length": str(size), "Upload-Metadata": metadata})


@beyond("mediaBytes")
def test_the_bytes_of_a_file(media, limits):
    for size, status in ((limits["mediaBytes"], 201), (limits["mediaBytes"] + 1, 413)):
        assert create(media, size).status_code == status


@beyond("mediaNameBytes")
def test_the_name_of_a_file(media, limits):
    for size, is_taken in ((limits["mediaNameBytes"], True), (limits["mediaNameBytes"] + 1, False)):
        assert (create(media, 1, "x" * size).status_code == 201) == is_taken


@beyond("uploadSeconds")
def test_the_time_of_an_upload(media, limits):
    created = create(media, 1)
    times = [parsedate_to_datetime(created.headers[name]) for name in ("Upload-Expires", "Date")]
    assert abs((times[0] - times[1]).total_seconds() - limits["uploadSeconds"]) <= PATIENCE


@beyond("replyToAttachments")
def test_a_reply_to_attachments(media, anna, group, limits):
    assert not limits["replyToAttachments"]
    path = create(media, 0).headers["Location"]
    deadline = time.monotonic() + PATIENCE
    while media.get(path).json()["state"] != "ready":
        assert time.monotonic() < deadline
    sent = send(anna, group, attachments=[{"id": path.rpartition("/")[2]}]).json()
    assert send(anna, group, replyTo=sent["id"]).status_code == 422


@beyond("bodyBytes")
def test_the_body_of_a_request(anna, group, limits):
    path = f"/v1/conversations/{group}/messages"
    for size, status in ((limits["bodyBytes"], 201), (limits["bodyBytes"] + 1, 413)):
        assert anna.post(path, padded({"id": new_id(), "text": "Hello"}, size)).status_code == status


@beyond("batchBytes")
def test_the_body_of_a_batch(anna, limits):
    for size, status in ((limits["batchBytes"], 200), (limits["batchBytes"] + 1, 413)):
        assert anna.post("/v1/messages:batch", padded({"messages": []}, size)).status_code == status


@beyond("batchMessages")
def test_the_messages_of_a_batch(anna, group, limits):
    for count, status in ((limits["batchMessages"], 200), (limits["batchMessages"] + 1, 413)):
        messages = [{"conversationId": group, "id": new_id(), "text": "Hello"} for _ in range(count)]
        assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == status


@beyond("membersPerRequest")
def test_the_members_of_a_new_group(anna, limits):
    for count, status in ((limits["membersPerRequest"], 201), (limits["membersPerRequest"] + 1, 413)):
        body = {"id": new_id(), "kind": "group", "members": [f"user-{number}" for number in range(count)]}
        assert anna.post("/v1/conversations", body).status_code == status


@beyond("membersPerConversation")
def test_a_group_that_grows(anna, group, limits, sql):
    sql(f"UPDATE store.conversations SET member_count = {limits['membersPerConversation'] - 1} WHERE id = '{group}'")
    assert anna.http.put(f"/v1/conversations/{group}/members/the-last").status_code == 200
    refused = anna.http.put(f"/v1/conversations/{group}/members/one-too-many")
    assert (refused.status_code, refused.json()["code"]) == (413, "tooLarge")
    assert "membersPerConversation" in refused.json()["detail"]


@beyond("editWindowSeconds")
def test_the_time_for_edits(anna, group, limits, sql):
    message = f"/v1/conversations/{group}/messages/{anna.send(group, 'Nine?')['id']}"

    def age(seconds: int):
        sql(
            "UPDATE store.messages SET created_at = date_trunc('milliseconds', now()) "
            f"- interval '{seconds} seconds' WHERE id = '{message.rpartition('/')[2]}'"
        )

    # It takes a moment until the request is there.
    age(limits["editWindowSeconds"] - 30)
    assert anna.http.patch(message, content=b'{"text":"Ten?"}').status_code == 200
    age(limits["editWindowSeconds"] + 1)
    refused = anna.http.patch(message, content=b'{"text":"Eleven?"}')
    assert (refused.status_code, refused.json()["code"]) == (403, "editWindowClosed")
    assert f"{limits['editWindowSeconds'] // 60} minutes" in refused.json()["detail"]


@beyond("shortestLifetimeSeconds")
@beyond("longestLifetimeSeconds")
def test_how_long_messages_stay(anna, group, limits):
    shortest, longest = limits["shortestLifetimeSeconds"], limits["longestLifetimeSeconds"]
    for seconds, status in ((shortest, 200), (longest, 200), (shortest - 1, 400), (longest + 1, 400)):
        assert anna.http.put(f"/v1/conversations/{group}/lifetime", json={"seconds": seconds}).status_code == status


@beyond("readingLifetimeMembers")
def test_how_many_may_be_in_a_conversation_whose_messages_disappear_from_reading_on(anna, limits):
    most = limits["readingLifetimeMembers"]
    others = [f"reader-{new_id()}" for _ in range(most)]
    body = {"seconds": limits["shortestLifetimeSeconds"], "from": "reading"}
    for count, status in ((most - 1, 200), (most, 413)):
        id = new_id()
        anna.post("/v1/conversations", {"id": id, "kind": "group", "members": others[:count]})
        answer = anna.http.put(f"/v1/conversations/{id}/lifetime", json=body)
        assert answer.status_code == status, answer.text
    assert (answer.json()["code"], answer.json()["detail"].split(":")[0]) == ("tooLarge", "from")


@beyond("pageBytes")
def test_the_size_of_a_page(anna, group, limits):
    messages = [{"conversationId": group, "id": new_id(), "text": "x" * limits["textBytes"]} for _ in range(60)]
    assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    page = anna.get(f"/v1/conversations/{group}/messages?limit=60")
    assert page.json()["hasMoreBefore"]
    assert limits["pageBytes"] - 2 * limits["textBytes"] <= len(page.content) <= limits["pageBytes"]


def test_the_size_of_a_page_of_conversations(anna, ben, limits):
    # Six bytes of JSON for each.
    text = "\x01" * limits["textBytes"]
    groups = {ben.group(anna) for _ in range(8)}
    for group in groups:
        ben.send(group, text)

    def is_cut(content: bytes) -> bool:
        return limits["pageBytes"] <= len(content) <= limits["pageBytes"] + 7 * len(text)

    listed, cursor = [], ""
    while True:
        page = anna.get(f"/v1/conversations?limit=50{cursor}")
        listed += [conversation["id"] for conversation in page.json()["conversations"]]
        if "nextCursor" not in page.json():
            break
        assert is_cut(page.content)
        cursor = f"&before={page.json()['nextCursor']}"
    assert len(listed) == len(set(listed)) and groups <= set(listed) and cursor

    synced, since = set(), ""
    while True:
        page = anna.get(f"/v1/sync{since}")
        synced |= {conversation["id"] for conversation in page.json()["conversations"]}
        since = f"?since={page.json()['cursor']}"
        if not page.json()["more"]:
            break
        assert is_cut(page.content)
    assert groups <= synced

    with anna.socket() as socket:
        assert socket.welcome["more"] and len(socket.welcome["conversations"]) == 6
        ben.send(listed[-1], "Still live?")
        assert socket.expect("change")["change"]["conversationId"] == listed[-1]


@pytest.mark.parametrize(("limit", "path"), PAGES.items())
def test_the_limit_of_a_page(anna, group, limits, limit, path):
    path = path.format(group=group)
    assert anna.get(path + str(limits[limit])).status_code == 200
    assert anna.get(path + str(limits[limit] + 1)).status_code == 400


def test_the_edits_of_a_message(anna, group):
    message = f"/v1/conversations/{group}/messages/{anna.send(group, '0')['id']}"
    for number in range(1, 101):
        assert anna.http.patch(message, json={"text": str(number)}).status_code == 200
    refused = anna.http.patch(message, json={"text": "101"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    texts = [revision["text"] for revision in anna.get(f"{message}/revisions").json()["revisions"]]
    assert texts == [str(number) for number in range(101)]


@beyond("frameBytes")
def test_a_frame(anna, group, limits):
    frame = {"type": "typing", "conversationId": group, "active": True}
    with anna.socket() as socket:
        socket.send_text(padded(frame, limits["frameBytes"]).decode())
        socket.send_text(padded(frame, limits["frameBytes"] + 1).decode())
        socket.expect_close(1009)


@beyond("helloBytes")
def test_a_hello(system, anna, limits):
    hello = {"type": "hello", "token": anna.token}
    with open_socket(system) as socket:
        socket.send_text(padded(hello, limits["helloBytes"]).decode())
        socket.expect("welcome")
    with open_socket(system) as socket:
        socket.send_text(padded(hello, limits["helloBytes"] + 1).decode())
        socket.expect_close(1009)


@beyond("replayChanges")
def test_what_a_resumed_session_is_sent(anna, group, limits):
    last = anna.get(f"/v1/conversations/{group}").json()["lastSeq"]
    for start in range(0, limits["replayChanges"] + 1, 500):
        count = min(500, limits["replayChanges"] + 1 - start)
        messages = [{"conversationId": group, "id": new_id(), "text": "Hello"} for _ in range(count)]
        assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    with anna.socket(cursors={group: last}) as socket:
        assert socket.expect("reload")["conversationId"] == group
    with anna.socket(cursors={group: last + 1}) as socket:
        assert socket.expect("change")["change"]["seq"] == last + 2
