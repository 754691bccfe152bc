"""`parley chat`: people at terminals."""

import hashlib
import secrets
import signal
import subprocess

import pytest
from client import ACCEPTED, eventually, new_id, token
from system import EXECUTABLES, earlier
from terminals import ChatTerminal
from uploads import Uploader, picture


@pytest.fixture
def terminals(tmp_path):
    """Opens terminals, which end with the test: `alice = terminals(system, "alice")`."""
    opened = []

    def open_terminal(system, user, *words, device="", **size) -> ChatTerminal:
        opened.append(ChatTerminal(system, user, tmp_path / f"{user}{device}", *words, **size))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


@pytest.fixture
def names():
    """Users that nobody else has, with names that are short enough for a screen."""
    end = secrets.token_hex(3)
    return f"alice-{end}", f"bob-{end}", f"carol-{end}"


def begin(terminal: ChatTerminal, *others: str, title: str = ""):
    terminal.wait("online")
    terminal.press("new")
    terminal.type(" ".join(others))
    if title:
        terminal.press("tab")
        terminal.type(title)
    terminal.press("enter")
    terminal.wait("Enter send")


def is_whole(terminal: ChatTerminal) -> bool:
    """Whether the line between the two columns is straight, and everything in its place."""
    edges = {line.find("│") for line in terminal.lines[1:-1]}
    return len(edges) == 1 and -1 not in edges and terminal.lines[0].startswith(" Parley")


def row_of(terminal: ChatTerminal, text: str) -> int:
    """The first row of the screen with this text."""
    return next((row for row, line in enumerate(terminal.lines) if text in line), -1)


def texts(terminal: ChatTerminal, of: set[str]) -> list[str]:
    """Which of these texts are messages on the screen, from the top."""
    columns = [line[31:].strip() for line in terminal.lines[2:-3]]
    return [column for column in columns if column in of]


def test_two_people_write_reply_edit_react_and_delete(single, terminals, names):
    alice_name, bob_name, _ = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name)

    alice.say("Sunday, nine?")
    alice.wait("Sunday, nine?", "Delivered")
    bob.wait("1 unread", alice_name, "Sunday, nine?")
    bob.press("enter")
    bob.wait("Enter send", absent=("unread",))
    alice.wait("Read", absent=("Delivered",))

    bob.type("hm")
    alice.wait(f"{bob_name} is typing…")
    bob.press("backspace", "backspace")
    alice.wait("● online", absent=("is typing",))

    bob.press("up", "r")
    bob.wait(f"Reply to {alice_name}: Sunday, nine?")
    bob.say("Ten is better 👍")
    alice.wait(f"│ {alice_name}: Sunday, nine?", "Ten is better 👍")

    alice.press("up", "up", "e")
    alice.wait("✎ Edit", "> Sunday, nine?")
    alice.press(*["backspace"] * 5)
    alice.say("ten then")
    bob.wait("Sunday, ten then", "Edited")

    alice.press("up", "t")
    alice.wait("Tapback:")
    alice.press("1")
    bob.wait("♥")

    bob.press("up", "d")
    bob.wait("m for me  e for everyone")
    bob.press("e")
    alice.wait("Message deleted", absent=("Ten is better",))

    alice.press("escape", "up", "up", "d", "m")
    alice.wait("Message deleted", absent=("ten then",))
    bob.wait("Sunday, ten then", "Message deleted")
    assert alice.leave() == 0
    assert bob.leave() == 0


def test_a_group_is_named_changed_and_left(single, terminals, names):
    alice_name, bob_name, carol_name = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name, title="Walk")
    alice.say("hello")
    bob.wait("Walk", "1 unread")
    bob.press("enter")
    bob.wait("hello", "Enter send")

    alice.press("details")
    alice.wait("2 members", "you · owner", bob_name, "on, as in your settings")
    alice.press("e")
    alice.type(" on Sunday")
    alice.press("enter", "a")
    alice.type(carol_name)
    alice.press("enter")
    alice.wait("Walk on Sunday", "3 members", carol_name)
    bob.wait("Walk on Sunday", f"added {carol_name}")

    # bob may add, and not remove: he is told so at once.
    bob.press("details")
    bob.wait("3 members", f"▌{alice_name}")
    bob.press("x")
    bob.wait("Only admins of the group can do that.")
    alice.press("down", "o")
    bob.wait("you · owner")
    bob.press("down", "down", "x")
    bob.wait(f"Remove {carol_name} from the group?")
    bob.press("y")
    alice.wait("2 members", absent=(carol_name,))

    # Without read receipts nobody learns what bob reads.
    bob.press("r")
    bob.wait("on, in this conversation")
    bob.press("r")
    bob.wait("off, in this conversation")
    bob.press("escape")
    alice.press("escape")
    alice.say("Do you read me?")
    bob.wait("Do you read me?")
    alice.wait("Delivered", absent=("Read",))

    bob.press("details", "l")
    bob.wait("Leave the group?")
    bob.press("y", "escape")
    bob.wait("not a member any more")
    alice.wait(f"{bob_name} left")
    bob.press("details", "d")
    bob.wait("Choose a conversation.", absent=("Walk",))


def test_writing_is_left_to_admins_and_who_was_removed_is_allowed_back(single, terminals, names):
    alice_name, bob_name, carol_name = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name, carol_name, title="News")
    alice.say("hello")
    bob.wait("News", "1 unread")
    bob.press("enter")
    bob.wait("hello", "Enter send")
    bob.type("half a")
    bob.wait("> half a")

    alice.press("details")
    alice.wait("3 members", bob_name, carol_name)
    alice.press("p")
    alice.wait("Who may do what", "▌Add people")
    alice.press("down", "down", "enter")
    alice.wait("write: admins")
    bob.wait("Only admins can write here.", absent=("half a",))
    alice.press("escape")
    alice.wait(f"▌{alice_name}")
    alice.press("down", "m")
    bob.wait("> half a", absent=("Only admins",))
    bob.press("enter")
    bob.wait("half a", absent=("> half a",))

    alice.wait("admin ")
    alice.press("down", "x")
    alice.wait(f"Remove {carol_name} from the group?")
    alice.press("y")
    alice.wait("2 members", absent=("3 members",))
    alice.press("u")
    alice.wait(f"▌{carol_name}", f"by {alice_name}")
    alice.press("enter")
    alice.wait("Nobody.")


def test_messages_disappear_when_the_time_is_over_that_an_owner_has_chosen(single, terminals, names):
    alice_name, bob_name, _ = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    begin(alice, bob_name, title="Secrets")
    alice.say("This stays")
    bob.wait("This stays")
    bob.press("enter", "details")
    bob.wait("2 members")
    bob.type("t")
    bob.wait("Only admins of the group can do that.")
    bob.press("escape")
    alice.press("details")
    alice.wait("2 members")
    alice.type("t")
    alice.wait("messages disappear after 1 hour")
    alice.type("t")
    alice.wait("messages disappear after 1 day")
    alice.press("escape")
    alice.say("This goes")
    bob.wait("This stays", "This goes")
    single.sql(
        f"UPDATE store.messages SET created_at = {earlier('created_at', 2 * 86_400)} WHERE body = 'This goes'; "
        "UPDATE store.lifetimes SET due_at = '-infinity' WHERE seconds = 86400"
    )
    for terminal in (alice, bob):
        terminal.wait("This stays", absent=("This goes", "Message deleted"))
    alice.press("details")
    alice.wait("2 members")
    alice.type("f")
    alice.wait("messages disappear 1 day after everybody has read them")
    alice.press("escape")
    alice.say("This is read")
    alice.wait("This is read", "Read", absent=("Delivered",))
    single.sql(
        f"UPDATE store.messages SET created_at = {earlier('created_at', 2 * 86_400)} WHERE body = 'This is read'; "
        f"UPDATE receipt.receipt_runs SET at = {earlier('at', 2 * 86_400)} WHERE conversation_id = "
        "(SELECT conversation_id FROM store.messages WHERE body = 'This is read'); "
        "UPDATE store.lifetimes SET look_at = '-infinity' WHERE look_at IS NOT NULL"
    )
    for terminal in (alice, bob):
        terminal.wait("This stays", absent=("This is read", "Message deleted"))


def test_somebody_is_blocked_in_the_list_and_among_members_and_comes_back(single, terminals, names):
    alice_name, bob_name, carol_name = names
    alice, bob, carol = (terminals(single, name) for name in names)
    bob.wait("online")
    carol.wait("online")
    begin(alice, bob_name)
    alice.say("before")
    bob.wait("before")
    begin(alice, bob_name, carol_name, title="Walk")
    alice.say("all?")
    for each, text in ((bob, "from bob"), (carol, "from carol")):
        each.wait("Walk")
        each.press("up", "up", "enter")
        each.wait("all?", "Enter send")
        each.say(text)
    alice.wait("from bob", "from carol")

    alice.press("details")
    alice.wait("Members", bob_name, carol_name)
    alice.press("down", "b")
    alice.wait("⊘ blocked", f"{bob_name} is blocked")
    alice.press("escape")
    alice.wait("from carol", absent=("from bob",))
    bob.say("can you hear me")
    carol.wait("can you hear me")
    carol.say("yes")
    alice.wait("yes", absent=("can you hear me",))

    alice.press("tab", "end")
    alice.wait("⊘")
    alice.press("enter")
    alice.wait("before", "⊘ blocked")
    alice.say("hello?")
    alice.wait(f"You have blocked {bob_name}")
    alice.press("settings")
    alice.wait("Blocked: Enter ends it", bob_name)
    alice.press("down", "down", "enter")
    alice.wait("Nobody is blocked.", "is not blocked any more")
    alice.press("escape", "tab", "up", "up", "enter")
    alice.wait("from bob", "can you hear me")
    assert is_whole(alice)


def test_a_new_name_shows_at_once_where_somebody_is_shown(single, terminals, names):
    alice_name, bob_name, _ = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name)
    alice.say("Sunday?")
    bob.wait("1 unread", alice_name)
    bob.press("enter")
    bob.wait("Sunday?", "Enter send")
    alice.press("settings")
    alice.wait("e your name")
    alice.press("e")
    alice.type("Alice Liddell")
    alice.press("enter")
    alice.wait("Parley · Alice Liddell")
    bob.wait("Alice Liddell")
    bob.press("details")
    bob.wait("Members", f"Alice Liddell  {alice_name}")
    alice.press("e")
    alice.type("x" * 80)
    alice.press("enter")
    alice.wait("The server refused this", "Parley · Alice Liddell")
    assert is_whole(bob)


def test_whom_a_stranger_writes_to_is_asked_reads_it_and_accepts_or_declines(asking, terminals, names):
    alice_name, bob_name, carol_name = names
    alice, bob, carol = (terminals(asking, name) for name in names)
    alice.wait("online", absent=("Requests",))
    begin(bob, alice_name)
    bob.say("we met on Sunday")
    begin(carol, alice_name, title="Buy now")
    carol.say("cheap")
    alice.wait("Requests (2)", "No conversations yet")
    alice.press("R")
    alice.wait("Buy now", bob_name, "cheap", "we met on Sunday")

    # Read without being seen to; nothing comes live, so it is read again.
    alice.press("end", "enter")
    alice.wait("│ we met on Sunday", f"{bob_name} wants to write with you", "a accept  d decline")
    bob.say("remember?")
    alice.wait("remember?")
    bob.wait("remember?", absent=("Delivered", "Read"))
    assert is_whole(alice)
    alice.press("a")
    alice.wait("Enter send", "Requests (1)", bob_name, absent=("a accept",))
    bob.wait("Read")
    alice.say("I do")
    bob.wait("I do")

    alice.press("tab", "R")
    alice.wait("Buy now", absent=("Requests (",))
    alice.press("enter")
    alice.wait("has added you to this group", "cheap")
    alice.press("d")
    alice.wait("Decline?")
    alice.press("y")
    alice.wait("Declined. Nobody is told.", bob_name, absent=("Buy now", "Requests"))
    carol.say("anybody?")
    carol.wait("anybody?")
    again = terminals(asking, alice_name, device="-again")
    again.wait("online", bob_name, absent=("Requests", "Buy now"))
    assert is_whole(alice)


async def test_what_the_server_refuses_is_told_in_plain_words(single, terminals, people):
    [alice, bob, gone] = people(single, 3)
    await bob.create_group(alice, gone, title="Refused")
    gone.token = token("backend", adm=True)

    async def is_erased() -> bool:
        return (await gone.request("DELETE", f"/v1/users/{gone.name}")).status == 200

    await eventually(is_erased)
    terminal = terminals(single, bob.name)
    terminal.wait("Refused", "online")
    terminal.press("enter")
    terminal.wait("Enter send")
    terminal.press("details")
    terminal.wait("2 members", f"▌{alice.name}", "you · owner")
    terminal.press("a")
    terminal.type(gone.name)
    terminal.press("enter")
    terminal.wait("was undone: that user cannot be added.", "2 members")


async def test_a_message_and_a_member_are_reported_and_a_limit_is_told(single, terminals, people):
    [alice, bob, backend] = people(single, 3)
    backend.token = token(backend.name, adm=True)
    group = await alice.create_group(bob, title="Walk")
    message = await bob.send(group, "buy this")
    terminal = terminals(single, alice.name)
    terminal.wait("Walk", "online")
    terminal.press("enter")
    terminal.wait("buy this", "Enter send")
    terminal.press("up", "!")
    terminal.wait(f"Report a message of {bob.name}", "▌Spam")
    terminal.press("down", "down")
    terminal.type("he threatens")
    terminal.wait("▌Violence or threats", "he threatens")
    terminal.press("enter")
    terminal.wait("Reported to those who run the service.", "buy this")
    terminal.press("escape", "details")
    terminal.wait("Members", bob.name)
    terminal.press("down", "!")
    terminal.wait(f"Report {bob.name}")
    terminal.press("enter")
    terminal.wait("Reported to those who run the service.", "buy this")
    page = await backend.get("/v1/reports")
    made = page["reports"]
    while "nextCursor" in page:
        page = await backend.get("/v1/reports", after=page["nextCursor"])
        made += page["reports"]
    made = [report for report in made if report["conversationId"] == group]
    given = [[report.get(key) for key in ("reporterId", "messageId", "userId", "reason", "text")] for report in made]
    assert given == [
        [alice.name, message.body["id"], None, "violence", "he threatens"],
        [alice.name, None, bob.name, "spam", None],
    ]
    for _ in range(18):
        body = {"id": new_id(), "conversationId": group, "userId": bob.name, "reason": "spam"}
        assert (await alice.request("POST", "/v1/reports", body)).status in ACCEPTED
    terminal.press("up", "!", "enter")
    terminal.wait("You have reported as much here as is possible at a time.", "▌Spam")
    assert is_whole(terminal)


def test_settings_and_what_a_message_said_before(single, terminals, names):
    alice_name, bob_name, _ = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name)
    alice.say("Sunday, nine?")
    bob.wait("1 unread")
    bob.press("enter")
    bob.wait("Sunday, nine?", "Enter send")
    alice.press("up", "e")
    alice.press(*["backspace"] * 5)
    alice.say("ten?")
    bob.wait("Sunday, ten?", "Edited")
    bob.press("up")
    bob.wait("v versions")
    bob.press("v")
    bob.wait("What it said", "Sunday, nine?", "Sunday, ten?", "· now")
    bob.press("escape", "escape")

    bob.press("settings")
    bob.wait("Read receipts  on", "Presence       on")
    bob.press("enter", "down", "enter")
    bob.wait("Read receipts  off", "Presence       off")
    bob.press("escape")
    alice.wait(bob_name, absent=("● online",))
    alice.say("And now?")
    bob.wait("And now?")
    alice.wait("Delivered", absent=("Read",))


def cut_off(single, terminals, name: str, other: str) -> ChatTerminal:
    """Somebody in a conversation, of whom the server does not hear any more."""
    terminal = terminals(single, name)
    begin(terminal, other)
    terminal.say("before")
    terminal.wait("Sent")
    single.kill("ingest")
    return terminal


@pytest.mark.kills
def test_what_cannot_be_scheduled_is_in_the_composer_again_and_a_draft(single, terminals, names):
    alice_name, bob_name, _ = names
    alice = cut_off(single, terminals, alice_name, bob_name)
    alice.type("Nine?")
    alice.press("schedule")
    alice.wait("When")
    alice.say("+2h")
    alice.wait("> Nine?", absent=("When",))
    assert alice.leave() == 0
    alice = terminals(single, alice_name)
    alice.wait("Draft: Nine?")
    single.revive()


@pytest.mark.kills
def test_what_a_user_has_written_does_not_go_out_as_what_another_one_has(single, tmp_path, terminals, names):
    """Somebody gives the copy of one user to another one."""
    alice_name, bob_name, _ = names
    alice = cut_off(single, terminals, alice_name, bob_name)
    alice.say("by alice alone")
    alice.wait("by alice alone", "Sending")
    assert alice.leave() == 0
    single.revive()
    intruder = ChatTerminal(single, bob_name, tmp_path / alice_name)
    try:
        intruder.wait("The token is another user's")
        intruder.read(2)
    finally:
        intruder.close()
    bob = terminals(single, bob_name)
    bob.wait("before")
    assert "alone" not in bob.text
    terminals(single, alice_name).wait("by alice alone")
    bob.wait("by alice alone")
    bob.press("enter")
    bob.wait(f"{alice_name}", "by alice alone")


@pytest.mark.kills
def test_nothing_is_lost_doubled_or_out_of_order_while_the_server_is_away(single, terminals, names):
    alice_name, bob_name, carol_name = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name, carol_name, title="Sunday")
    alice.say("before")
    bob.wait("Sunday", "1 unread")
    bob.press("enter")
    bob.wait("Enter send", "before")

    for service in ("ingest", "fanout", "store"):
        single.kill(service)
    alice.wait("Offline")
    bob.wait("Offline")
    of_alice = [f"from alice {number}" for number in range(4)]
    of_bob = [f"from bob {number}" for number in range(3)]
    for text in of_alice:
        alice.say(text)
    for text in of_bob:
        bob.say(text)
    alice.wait(*of_alice, "Waiting for the server")
    bob.wait(*of_bob)

    # One of them is killed, too, and begins with the server still away.
    bob.signal(signal.SIGKILL)
    assert bob.ended() == -signal.SIGKILL
    bob = terminals(single, bob_name)
    bob.wait("Sunday")
    bob.press("enter")
    bob.wait("before", *of_bob)

    single.revive()
    for terminal in (alice, bob):
        terminal.wait(*of_alice, *of_bob, absent=("Offline", "Waiting for the server", "Sending"))
    wanted = {"before", *of_alice, *of_bob}
    order = texts(alice, wanted)
    assert sorted(order) == sorted(wanted), alice.framed()
    bob.wait_until(lambda: texts(bob, wanted) == order, order)
    assert [text for text in order if text in of_alice] == of_alice
    assert [text for text in order if text in of_bob] == of_bob
    alice.say("after")
    bob.wait("after")


async def test_a_search_finds_and_shows_what_was_said_long_ago(single, terminals, people):
    [bob, alice] = people(single, 2)
    talk = await bob.create_group(alice, title="History")
    for number in range(130):
        word = "needle" if number == 3 else "hay"
        await bob.sent(talk, f"{word} {number}")
    terminal = terminals(single, alice.name, talk)
    terminal.wait("hay 0", "Enter send")
    terminal.press("end")
    terminal.wait("hay 129")
    terminal.press("find")
    terminal.type("needle")
    terminal.wait("in History", "needle 3")
    terminal.press("enter")
    terminal.wait("hay 2", "needle 3", "hay 4", "r reply")
    terminal.press("end")
    terminal.wait("hay 129")
    terminal.wait_until(lambda: terminal.press("page up") or terminal.shows("hay 0"))


async def test_it_opens_at_what_is_unread_and_the_line_stays(single, terminals, people):
    [bob, alice] = people(single, 2)
    talk = await bob.create_group(alice, title="Unread")
    for number in range(30):
        await bob.sent(talk, f"old {number}")
    terminal = terminals(single, alice.name, talk)
    terminal.wait("── New ──", "old 0", "Enter send")
    terminal.press("end")
    terminal.wait("old 29", absent=("unread",))
    assert terminal.leave() == 0
    for number in range(60):
        await bob.sent(talk, f"new {number}")

    # The copy does not know of them.
    terminal = terminals(single, alice.name, talk)
    terminal.wait("old 29", "── New ──", "new 0", " new · End", absent=("new 59",))
    line = row_of(terminal, "── New ──")
    await bob.sent(talk, "one more")
    await bob.create_group(alice, title="Beside")
    terminal.wait("Beside", "── New ──")
    assert row_of(terminal, "── New ──") == line
    terminal.press("end")
    terminal.wait_until(lambda: terminal.shows("new 59", "one more") and not terminal.shows("· End"))
    terminal.wait_until(lambda: terminal.press("page up") or terminal.shows("old 29", "── New ──", "new 0"))


async def test_hostile_texts_leave_the_screen_whole(single, terminals, people):
    [bob, alice] = people(single, 2)
    talk = await bob.create_group(alice, title="Hostile")
    for text in [
        "\x1b[2J\x1b[31mcleared\x07",
        "‮reversed⁦",
        "Z" + "̵̡҉" * 400,
        "line\n" * 3000,
        "漢字" * 200,
        "👩‍👩‍👧" * 60,
        "x" * 9000,
    ]:
        await bob.sent(talk, text)
    await bob.sent(talk, "the last one")
    terminal = terminals(single, alice.name, talk)
    terminal.wait("cleared", "Enter send")
    terminal.press("end")
    terminal.wait("the last one")
    for columns, rows in [(100, 26), (72, 20), (132, 43)]:
        terminal.resize(columns, rows)
        terminal.wait("the last one", "Enter send")
        for _ in range(6):
            terminal.read(0.2)
            # It may be in the middle of drawing.
            terminal.wait_until(lambda: is_whole(terminal), "two whole columns")
            terminal.press("page up")
        terminal.press("end")
    terminal.resize(40, 12)
    terminal.wait("the last one", absent=("Hostile  bob",))


async def test_what_strangers_write_does_not_command_the_terminal_of_tail(single, people):
    [bob, alice] = people(single, 2)
    talk = await bob.create_group(alice)
    words = ("tail", "--user", alice.name, "--conversation", talk)
    tail = subprocess.Popen(
        [EXECUTABLES / "parley", *words], env=single.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    try:
        assert "connected" in tail.stdout.readline()
        await bob.sent(talk, "\x1b]52;c;aGk=\x07\x9b2J‮one\n12:00:00 another line")
        line = tail.stdout.readline().removesuffix("\n")
        assert line.endswith(f"{bob.name}: ]52;c;aGk=2Jone 12:00:00 another line"), line
    finally:
        tail.kill()
        tail.wait()


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP, signal.SIGABRT])
def test_the_terminal_is_given_back_however_it_ends(single, terminals, names, which):
    alice = terminals(single, names[0])
    alice.wait("online")
    alice.signal(which)
    assert alice.ended() == (-which if which == signal.SIGABRT else 0)
    assert b"\x1b[?1004l" in alice.output and b"\x1b[?2004l" in alice.output


def test_a_draft_and_a_paste(single, terminals, names, tmp_path):
    alice_name, bob_name, _ = names
    alice = terminals(single, alice_name)
    begin(alice, bob_name)
    alice.paste("one\r\ntwo")
    alice.wait("> one", "  two")
    alice.press("quit")
    assert alice.ended() == 0
    kept = [tmp_path / alice_name, *(tmp_path / alice_name).iterdir()]
    assert len(kept) > 1 and not any(path.stat().st_mode & 0o077 for path in kept), "others cannot read the copy"
    alice = terminals(single, alice_name)
    alice.wait("Draft: one two")
    alice.press("enter")
    alice.wait("> one", "  two")
    alice.press("enter")
    alice.wait("Sent", absent=("> one",))


def test_a_draft_is_on_all_devices_of_its_user(single, terminals, names):
    alice_name, bob_name, _ = names
    phone = terminals(single, alice_name)
    begin(phone, bob_name)
    desk = terminals(single, alice_name, device="-desk")
    phone.type("half a thou")
    desk.wait("Draft: half a thou")
    desk.press("enter")
    desk.wait("> half a thou")
    desk.type("ght")
    desk.press("look away")
    phone.wait("> half a thought")
    desk.press("look", "enter")
    phone.wait("half a thought", absent=("> half a thought",))
    # Whoever leaves has it on the other device, also at once.
    phone.type("and another")
    phone.press("quit")
    assert phone.ended() == 0
    desk.wait("> and another")


def test_each_copy_is_a_device_of_its_user(single, terminals, names):
    phone, desk = (terminals(single, names[0], device=device) for device in ("", "-desk"))
    for each in (phone, desk):
        each.wait("online")
    # A device is noted behind the beginning of its session.
    desk.press("settings", "v")
    while not desk.shows("this device", "seen "):
        desk.wait("this device")
        desk.press("escape", "v")
        desk.wait("Devices", absent=("Loading",))
    assert desk.text.count("parley chat on") == 2
    desk.press("o", "y")
    desk.wait("this device", absent=("End all devices", "Loading"))
    phone.wait("online")


def served_digest(system, name: str) -> str:
    """The SHA-256 of the only file in the user's only conversation, as the server says."""
    http = Uploader(system, name).http
    base = system.address("ingest")
    last = http.get(f"{base}/v1/conversations").json()["conversations"][0]["lastMessage"]
    return http.get(f"{system.address('media')}/v1/media/{last['attachments'][0]['id']}").json()["sha256"]


def test_a_file_is_sent_shown_and_saved(single, terminals, names, tmp_path):
    alice_name, bob_name, _ = names
    alice, bob = terminals(single, alice_name), terminals(single, bob_name)
    bob.wait("online")
    begin(alice, bob_name)
    original = tmp_path / "walk.png"
    original.write_bytes(picture(320, 200))
    alice.type("from Sunday")
    alice.press("file")
    alice.wait("Send a file", "What you have written goes with it.")
    alice.type(str(tmp_path / "absent"))
    alice.press("enter")
    alice.wait("“absent” is no file that can be read.", "> from Sunday")
    alice.press("file")
    alice.type(str(original))
    alice.press("enter")
    alice.wait("from Sunday", "Photo: walk.png", "320×200", "Delivered")
    original.unlink()
    bob.wait("from Sunday")
    bob.press("enter")
    bob.wait("Photo: walk.png · ", "320×200", "Enter send")

    saved = tmp_path / "saved"
    saved.mkdir()
    bob.press("up", "s")
    bob.wait("Save a file", "As      walk.png")
    bob.press("clear")
    bob.type(str(saved))
    bob.press("enter")
    bob.wait("Saved as")
    bob.press("s", "clear")
    bob.type(str(saved))
    bob.press("enter")
    bob.wait("there is already")
    assert [file.name for file in saved.iterdir()] == ["walk.png"]
    assert hashlib.sha256((saved / "walk.png").read_bytes()).hexdigest() == served_digest(single, bob_name)
    assert is_whole(bob)
    bob.press("r")
    bob.wait("Messages with files cannot be replied to here.")


def test_help_names_the_keys(single):
    done = single.run(EXECUTABLES / "parley", "chat", "--help")
    assert done.returncode == 0
    assert "[CONVERSATION]" in done.stdout and "Ctrl-Q quit" in done.stdout


def test_it_says_when_there_is_no_terminal(single, tmp_path):
    words = ("chat", "--user", f"nobody-{new_id()[:8]}", "--directory", str(tmp_path))
    done = single.run(EXECUTABLES / "parley", *words)
    assert done.returncode == 1
    assert "terminal" in done.stdout
