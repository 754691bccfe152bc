"""The WebSocket as a client lives with it, through the `websockets` library."""

import json
import time
import uuid
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from judged import PATIENCE
from people import new_id, open_socket


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


def welcomed(socket, conversation):
    return next(shown for shown in socket.welcome["conversations"] if shown["id"] == conversation)


def changes(socket, conversation):
    """The positions of the changes received so far, in the order they came."""
    return [
        frame["change"]["seq"]
        for frame in socket.frames
        if frame["type"] == "change" and frame["change"]["conversationId"] == conversation
    ]


# MARK: Opening


def test_welcome_tells_who_and_what(anna, ben, group):
    anna.send(group, "Hello")
    with ben.socket(capabilities=["something.new"]) as socket:
        welcome = socket.welcome
        assert (welcome["userId"], welcome["heartbeatSeconds"], welcome["more"]) == (ben.name, 25, False)
        assert welcome["conversations"] == ben.get("/v1/conversations").json()["conversations"]
        assert socket.connection.subprotocol == "parley.v1"
    with ben.socket() as again:
        assert again.welcome["sessionId"] != welcome["sessionId"]
        assert again.welcome["logId"] == welcome["logId"]


def test_the_hundred_latest_conversations_are_welcomed(anna):
    groups = [anna.group() for _ in range(101)]
    with anna.socket() as socket:
        assert [conversation["id"] for conversation in socket.welcome["conversations"]] == groups[:0:-1]
        assert socket.welcome["more"] is True


def test_without_a_subprotocol_the_server_selects_none(system, anna):
    with open_socket(system, subprotocols=None) as socket:
        assert socket.connection.subprotocol is None
        socket.send(type="hello", token=anna.token)
        socket.expect("welcome")


def test_among_several_subprotocols_ours_is_selected(system):
    with open_socket(system, subprotocols=["parley.v9", "parley.v1"]) as socket:
        assert socket.connection.subprotocol == "parley.v1"


def test_compression_is_offered_in_vain(system, anna):
    with open_socket(system, compression="deflate") as socket:
        assert socket.connection.protocol.extensions == []
        socket.send(type="hello", token=anna.token)
        socket.expect("welcome")


def test_an_unknown_subprotocol_and_another_path_are_refused(system):
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{system.ws_port}/v1/socket", subprotocols=["parley.v2"], proxy=None)
    assert refused.value.response.status_code == 400
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{system.ws_port}/v1/other", proxy=None)
    assert refused.value.response.status_code == 404


# MARK: Live


def test_every_member_sees_a_message_as_the_history_shows_it(anna, ben, carla):
    group = anna.group(ben, carla)
    with anna.socket() as first, ben.socket() as second, carla.socket() as third:
        question = anna.send(group, "Question", mentions=[ben.name])
        answer = ben.send(group, "Answer", replyTo=question["id"])
        for socket in (first, second, third):
            seen = [socket.expect_change(seq, group) for seq in (2, 3)]
            assert [change["message"]["id"] for change in seen] == [question["id"], answer["id"]]
            assert seen[0]["message"]["mentions"] == [ben.name]
            assert seen[1]["message"]["replyTo"] == {"messageId": question["id"], "seq": 2}
        assert carla.get(f"/v1/conversations/{group}/changes", params={"after": 1}).json()["changes"] == seen


def test_a_new_conversation_appears_on_open_sessions(anna, ben, stranger):
    with ben.socket() as socket, stranger.socket() as other:
        group = anna.group(ben)
        joined = socket.expect("private")
        assert (joined["kind"], joined["conversationId"]) == ("conversation.joined", group)
        assert joined["useq"] == socket.welcome["useq"] + 1
        anna.send(group, "Hello")
        socket.expect_change(2, group)
        other.expect_silence("change", "private", "status")


def test_a_burst_arrives_complete_and_in_order(anna, ben, group):
    with ben.socket() as socket:
        messages = [{"conversationId": group, "id": new_id(), "text": f"{number}"} for number in range(500)]
        assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
        socket.expect_change(501, group)
        assert changes(socket, group) == list(range(2, 502))


def test_the_senders_own_devices_see_the_message_too(anna, group):
    with anna.socket() as phone, anna.socket() as laptop:
        anna.send(group, "Hello")
        for socket in (phone, laptop):
            socket.expect_change(2, group)


# MARK: Resuming


def test_what_was_missed_is_replayed_before_what_is_new(anna, ben, group):
    for number in range(5):
        anna.send(group, f"{number}")
    with ben.socket(cursors={group: 3}) as socket:
        anna.send(group, "live")
        socket.expect_change(7, group)
        assert changes(socket, group) == [4, 5, 6, 7]


def test_a_cursor_of_zero_replays_from_the_creation(anna, ben, group):
    anna.send(group, "Hello")
    with ben.socket(cursors={group: 0}) as socket:
        assert socket.expect_change(1, group)["kind"] == "conversation.created"
        socket.expect_change(2, group)


def test_without_a_cursor_the_session_starts_live(anna, ben, group):
    anna.send(group, "Before")
    with ben.socket() as socket:
        assert welcomed(socket, group)["lastSeq"] == 2
        anna.send(group, "After")
        socket.expect_change(3, group)
        assert changes(socket, group) == [3]


def test_a_long_gap_is_left_to_paging(anna, ben, group):
    for _ in range(3):
        messages = [{"conversationId": group, "id": new_id(), "text": "Hello"} for _ in range(400)]
        assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    with ben.socket(cursors={group: 1}) as socket:
        reload = socket.expect("reload")
        assert (reload["conversationId"], reload["lastSeq"]) == (group, 1201)
        anna.send(group, "live")
        socket.expect_change(1202, group)
        assert changes(socket, group) == [1202]


def test_private_changes_that_are_no_longer_kept_are_a_reload(ben):
    with ben.socket() as socket:
        useq = socket.welcome["useq"]
    cursor = ben.get("/v1/sync").json()["cursor"]
    for number in range(1001):
        assert ben.http.put("/v1/settings", json={"presence": number % 2 == 1}).status_code == 200
    with ben.socket(useq=useq + 1) as socket:
        # A thousand are kept.
        kept = [socket.expect("private")["useq"] for _ in range(1000)]
        assert kept == list(range(useq + 2, useq + 1002))
    with ben.socket(useq=useq) as socket:
        assert socket.expect("reload") == {"type": "reload", "useq": useq + 1001}
        assert ben.http.put("/v1/settings", json={"presence": True}).status_code == 200
        assert socket.expect("private")["useq"] == useq + 1002
    page = ben.get("/v1/sync", params={"since": cursor}).json()
    assert page["reload"] is True and page["private"] == []
    page = ben.get("/v1/sync", params={"since": page["cursor"]}).json()
    assert "reload" not in page and page["private"] == []


def test_a_gap_of_a_thousand_is_replayed(anna, ben, group):
    for _ in range(2):
        messages = [{"conversationId": group, "id": new_id(), "text": "Hello"} for _ in range(500)]
        assert anna.post("/v1/messages:batch", {"messages": messages}).status_code == 200
    with ben.socket(cursors={group: 1}) as socket:
        socket.expect_change(1001, group)
        assert changes(socket, group) == list(range(2, 1002))


def test_a_cursor_beyond_the_end_is_reset(ben, group):
    with ben.socket(cursors={group: 1000}) as socket:
        assert socket.expect("reset")["conversationId"] == group


def test_another_log_is_reset_as_a_whole(anna, ben, group):
    with ben.socket(cursors={group: 1}, logId=str(uuid.uuid4())) as socket:
        assert "conversationId" not in socket.expect("reset")
    with ben.socket() as before:
        log = before.welcome["logId"]
    with ben.socket(cursors={group: 1}, logId=log) as socket:
        anna.send(group, "Hello")
        socket.expect_change(2, group)
        assert "reset" not in {frame["type"] for frame in socket.frames}


def test_a_cursor_of_anothers_conversation_shows_nothing(anna, ben, stranger):
    group = anna.group(ben)
    anna.send(group, "Secret")
    with stranger.socket(cursors={group: 0, new_id(): 5}) as socket:
        anna.send(group, "Secret")
        socket.expect_silence("change", "status", "typing")


def test_the_private_stream_is_replayed(anna, ben):
    with ben.socket() as socket:
        useq = socket.welcome["useq"]
    groups = [anna.group(ben) for _ in range(3)]
    with ben.socket(useq=useq) as socket:
        joined = [socket.expect("private") for _ in groups]
        assert [frame["conversationId"] for frame in joined] == groups
        assert [frame["useq"] for frame in joined] == [useq + 1, useq + 2, useq + 3]


# MARK: Receipts


def test_receipts_arrive_as_status(anna, ben, group):
    with anna.socket() as sender, ben.socket() as recipient:
        message = anna.send(group, "Hello")
        recipient.expect_change(2, group)
        recipient.send(type="delivered", conversationId=group, seq=2)
        status = sender.expect("status", where=lambda frame: ben.name in frame.get("delivered", {}))
        assert status["delivered"][ben.name] == 2
        recipient.send(type="read", items=[{"conversationId": group, "seq": 2}])
        later = sender.expect("status", where=lambda frame: ben.name in frame.get("read", {}))
        assert later["read"][ben.name] == 2 and later["statusVersion"] > status["statusVersion"]
        shown = anna.get(f"/v1/conversations/{group}/messages/{message['id']}").json()
        assert (shown["status"], shown["readCount"]) == ("read", 1)


def test_a_receipt_over_http_reaches_sessions_and_the_readers_other_devices(anna, ben, group):
    with anna.socket() as sender, ben.socket() as other_device:
        anna.send(group, "Hello")
        assert ben.post(f"/v1/conversations/{group}/receipts", {"readSeq": 2}).status_code == 202
        sender.expect("status", where=lambda frame: frame.get("read", {}).get(ben.name) == 2)
        other_device.expect("status", where=lambda frame: frame.get("read", {}).get(ben.name) == 2)


def test_a_receipt_beyond_the_end_counts_as_the_end_and_a_strangers_for_nothing(anna, ben, stranger, group):
    with anna.socket() as sender, ben.socket() as recipient, stranger.socket() as other:
        anna.send(group, "Hello")
        other.send(type="read", items=[{"conversationId": group, "seq": 2}, {"conversationId": new_id(), "seq": 1}])
        other.send(type="ping")
        other.expect("pong")
        recipient.send(type="read", conversationId=group, seq=9007199254740991)
        status = sender.expect("status")
        assert status["read"] == {ben.name: 2}
        anna.send(group, "Unread")
        assert ben.get(f"/v1/conversations/{group}").json()["unreadCount"] == 1


def test_many_reads_are_merged(anna, ben, group):
    with anna.socket() as sender, ben.socket() as recipient:
        for number in range(50):
            anna.send(group, f"{number}")
        for seq in range(2, 52):
            recipient.send(type="read", conversationId=group, seq=seq)
        sender.expect("status", where=lambda frame: frame.get("read", {}).get(ben.name) == 51)
        assert sum(frame["type"] == "status" for frame in sender.frames) < 10


def test_a_status_that_was_missed_comes_as_one_frame(anna, ben, group):
    anna.send(group, "Hello")
    with anna.socket() as sender:
        ben.post(f"/v1/conversations/{group}/receipts", {"deliveredSeq": 2})
        version = sender.expect("status")["statusVersion"]
    ben.post(f"/v1/conversations/{group}/receipts", {"readSeq": 1})
    ben.post(f"/v1/conversations/{group}/receipts", {"readSeq": 2})
    with anna.socket(statusVersions={group: version}) as sender:
        status = sender.expect("status", where=lambda frame: frame.get("read", {}).get(ben.name) == 2)
        assert status["statusVersion"] > version
    with anna.socket(statusVersions={group: status["statusVersion"]}) as sender:
        sender.expect_silence("status")


def test_in_a_large_group_a_sender_gets_counts_of_their_own_messages(anna, ben, carla):
    crowd = [f"somebody-{number}" for number in range(60)]
    group = anna.group(members=[ben.name, carla.name, *crowd])
    with anna.socket() as sender, ben.socket() as recipient:
        anna.send(group, "Hello everybody")
        recipient.expect_change(2, group)
        recipient.send(type="delivered", conversationId=group, seq=2)
        carla.post(f"/v1/conversations/{group}/receipts", {"readSeq": 2})
        counts = {"seq": 2, "deliveredCount": 2, "readCount": 1}
        status = sender.expect("status", where=lambda frame: counts in frame.get("counts", []))
        assert "delivered" not in status and "read" not in status
        recipient.send(type="ping", id="after")
        recipient.expect("pong")
        assert not [frame for frame in recipient.frames if frame["type"] == "status" and frame.get("counts")]


def test_what_is_not_the_users_is_ignored(anna, ben, stranger, group):
    with stranger.socket() as socket, anna.socket() as sender:
        socket.send(type="read", conversationId=group, seq=1)
        socket.send(
            type="delivered", items=[{"conversationId": group, "seq": 1}, {"conversationId": new_id(), "seq": 9}]
        )
        socket.send(type="typing", conversationId=group, active=True)
        socket.send(type="ping", id="still here")
        assert socket.expect("pong")["id"] == "still here"
        sender.expect_silence("status", "typing")


# MARK: Typing, tokens, sessions


def test_typing_is_passed_on_and_ends(anna, ben, group):
    with anna.socket() as watcher, ben.socket() as typist:
        typist.send(type="typing", conversationId=group, active=True)
        notice = watcher.expect("typing")
        assert (notice["conversationId"], notice["userId"], notice["active"]) == (group, ben.name, True)
        typist.send(type="typing", conversationId=group, active=False)
        assert watcher.expect("typing")["active"] is False
        typist.expect_silence("typing", during=0.2)


def test_ping_is_answered(anna):
    with anna.socket() as socket:
        socket.send(type="ping")
        assert "id" not in socket.expect("pong")
        socket.send_text('{"id":"' + "ä" * 32 + '","type":"ping"}')
        assert socket.expect("pong")["id"] == "ä" * 32


def test_a_token_that_ends_is_announced_and_can_be_renewed(new_person):
    end = int(time.time()) + 20  # On a busy machine half of it may pass before there is a session.
    anna = new_person("anna", exp=end)
    with anna.socket() as socket:
        assert socket.expect("tokenExpiring")["at"] > socket.welcome["serverTime"]
        fresh = new_person("anna", sub=anna.name)
        socket.send(type="auth", token=fresh.token)
        time.sleep(max(0, end + 1 - time.time()))
        socket.send(type="ping", id="renewed")
        socket.expect("pong")


def test_a_token_that_ends_closes_the_session(new_person):
    anna = new_person("anna", exp=int(time.time()) + 10)
    with anna.socket() as socket:
        socket.expect_close(4401, "unauthenticated")


def test_a_token_of_another_user_does_not_renew(anna, ben):
    with anna.socket() as socket:
        socket.send(type="auth", token=ben.token)
        socket.expect_close(4401, "unauthenticated")


def test_a_second_session_of_one_device_supersedes_the_first(new_person):
    phone = new_person("anna", dev="phone")
    with phone.socket() as first, phone.socket() as second:
        first.expect_close(4409, "superseded")
        second.send(type="ping")
        second.expect("pong")


# MARK: Presence


def test_members_see_each_other_online_and_strangers_do_not(anna, ben, stranger):
    anna.group(ben)
    with anna.socket() as watching, stranger.socket() as aside:
        with ben.socket() as socket:
            assert watching.expect("presence")["online"] is True
            assert socket.expect("presence")["userId"] == anna.name
        gone = watching.expect("presence", where=lambda frame: not frame["online"])
        assert (gone["userId"], gone["online"]) == (ben.name, False) and gone["lastSeen"].endswith(":00.000Z")
        aside.expect_silence("presence")
    ben.post("/v1/conversations", {"kind": "direct", "members": [anna.name]})
    with ben.socket() as later:
        # Still shown, or gone: it says which.
        assert later.expect("presence")["userId"] == anna.name


def test_who_turns_presence_off_is_gone_at_once_and_sees_nobody(anna, ben, carla):
    anna.group(ben, carla)
    with anna.socket() as watching, ben.socket() as hiding:
        watching.expect("presence", where=lambda frame: frame["userId"] == ben.name)
        hiding.expect("presence", where=lambda frame: frame["userId"] == anna.name)
        assert ben.http.put("/v1/settings", json={"presence": False}).status_code == 200
        gone = watching.expect("presence", where=lambda frame: not frame["online"])
        assert gone["userId"] == ben.name and "lastSeen" not in gone
        hiding.send(type="ping")
        hiding.expect("pong")
        with carla.socket():
            watching.expect("presence", where=lambda frame: frame["userId"] == carla.name)
            hiding.expect_silence("presence")
        assert ben.http.put("/v1/settings", json={"presence": None}).status_code == 200
        watching.expect("presence", where=lambda frame: frame["userId"] == ben.name and frame["online"])


# MARK: Several fanouts


def test_two_fanouts_are_one_to_their_clients(system, anna, ben):
    group = anna.group(ben)
    with system.sibling("fanout") as port, anna.socket() as here, ben.socket(port) as there:
        for number in range(10):
            anna.send(group, f"{number}")
        for socket in (here, there):
            socket.expect_change(11, group)
            assert changes(socket, group) == list(range(2, 12))
        there.send(type="read", conversationId=group, seq=11)
        here.expect("status", where=lambda frame: frame.get("read", {}).get(ben.name) == 11)
        # A fanout that does not know the new one yet misses it, and a client tells again while its user types.
        assert told_while_typing(there, here, group)["userId"] == ben.name


def told_while_typing(writer, reader, group) -> dict:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        writer.send(type="typing", conversationId=group, active=True)
        with suppress(TimeoutError):
            return reader.expect("typing", timeout=4)
    raise TimeoutError


def test_a_device_that_moves_to_another_fanout_leaves_the_first(system, new_person):
    phone = new_person("anna", dev="phone")
    with system.sibling("fanout") as port, phone.socket() as first:
        time.sleep(2)  # The processes look for new ones every second.
        with phone.socket(port) as second:
            first.expect_close(4409, "superseded")
            second.send(type="ping")
            second.expect("pong")


def test_a_fanout_that_ends_says_when_to_come_back(system, anna, ben):
    group = anna.group(ben)
    with ExitStack() as session:
        with system.sibling("fanout") as port:
            socket = session.enter_context(ben.socket(port))
        bye = socket.expect("bye")
        assert bye["code"] == "draining" and bye["retryAfter"] >= 1
        socket.expect_close(1001)
    anna.send(group, "Meanwhile")
    with ben.socket(cursors={group: 1}) as socket:
        socket.expect_change(2, group)


def test_frames_and_fields_of_the_future_do_no_harm(system, anna):
    with open_socket(system) as socket:
        hello = {"type": "hello", "token": anna.token, "compression": {"brotli": True}, "presence": None}
        socket.send_text(json.dumps(hello))
        socket.expect("welcome")
        socket.send_text('{"type":"wave","at":"everybody"}')
        socket.send_text('{"colour":"red","type":"ping","id":"x"}')
        assert socket.expect("pong")["id"] == "x"
