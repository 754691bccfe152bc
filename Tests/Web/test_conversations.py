"""Signing in, the list of conversations, beginning and changing them."""

import http.client
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from client import token
from people import new_id
from playwright.sync_api import expect
from system import PATIENCE
from uploads import eventually

NOTIFIED = """
    () => {
        globalThis.notified = [];
        globalThis.Notification = class extends EventTarget {
            static permission = "granted";
            constructor(title, { body }) { super(); notified.push(body); this.close = () => {}; }
        };
    }
"""
"""Notes what a page would notify of."""


def test_the_token_leaves_the_address_and_a_reload_needs_none(people):
    [alice] = people("alice")
    tab = alice.open()
    expect(tab.page.get_by_role("navigation", name="Conversations")).to_be_visible()
    assert "token" not in tab.page.url
    assert tab.page.evaluate("history.length") <= 2
    tab.page.wait_for_function("() => history.state === null")
    tab.page.reload()
    expect(tab.page.get_by_role("navigation", name="Conversations")).to_be_visible()


def test_a_page_that_is_reloaded_before_it_kept_its_token_is_signed_in(people):
    alice, bob = people("alice", "bob")
    alice.group("At once", bob)
    page = alice.browser.new_page()
    page.add_init_script(
        """
        if (!sessionStorage.hasHung) {
            sessionStorage.hasHung = "yes";
            IDBFactory.prototype.open = () => new EventTarget();
        }
        """
    )
    page.goto(f"{alice.url}#token={alice.token}")
    assert "token" not in page.url
    page.reload()
    expect(page.get_by_role("option").filter(has_text="At once")).to_be_visible()
    page.close()


def test_without_a_token_the_page_says_what_is_needed(people):
    [stranger] = people("stranger")
    tab = stranger.open()
    tab.page.close()
    stranger.close()
    stranger.token = ""
    page = stranger.browser.new_page()
    page.goto(stranger.url)
    expect(page.get_by_text("Open this page by a link")).to_be_visible()
    page.close()


def test_two_people_talk(people):
    alice, bob = people("alice", "bob")
    alice.group("Climbing", bob)
    one, other = alice.open().choose("Climbing"), bob.open().choose("Climbing")

    one.send("Sunday, nine?")
    other.shows("Sunday, nine?")
    other.send("Yes!")
    one.shows("Yes!")
    article = one.message("Yes!")
    expect(article).to_have_attribute("aria-label", re.compile(f"^{bob.name}, Yes!, Today, "))


def test_a_status_stands_under_the_last_own_message(people):
    alice, bob = people("alice", "bob")
    direct = alice.direct(bob)
    tab = alice.open().choose(bob.name)
    tab.send("Are you there?")
    expect(tab.button("Sent")).to_be_visible()
    reader = bob.open()
    expect(tab.button("Delivered").or_(tab.button("Read"))).to_be_visible()
    reader.page.bring_to_front()
    reader.choose(alice.name)
    expect(tab.button("Read")).to_be_visible()
    tab.button("Read").click()
    expect(tab.log.get_by_role("button", name=re.compile(r"^Read \d"))).to_be_visible()
    bob.finds(direct, ["Are you there?"])


def test_a_group_tells_how_many_and_who_have_read(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Trio", bob, carol)
    tab = alice.open().choose("Trio")
    tab.send("Tea?")
    expect(tab.button("Sent")).to_be_visible()
    seq = alice.call("GET", f"/v1/conversations/{group}")["lastSeq"]
    for reader in (bob, carol):
        reader.call("POST", f"/v1/conversations/{group}/receipts", {"readSeq": seq})
    expect(tab.button("Read by 2")).to_be_visible()
    tab.button("Read by 2").click()
    dialog = tab.page.get_by_role("dialog", name="Read by")
    for reader in (bob, carol):
        expect(dialog.get_by_role("listitem").filter(has_text=reader.name)).to_contain_text("Read")


def test_nothing_is_read_while_the_page_is_not_in_front(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Quiet", bob)
    tab = bob.open().choose("Quiet")
    tab.page.evaluate("() => Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true })")
    said = alice.say(group, "Psst")
    tab.shows("Psst")
    expect(tab.option("Quiet")).to_have_attribute("aria-label", re.compile("1 unread"))
    assert bob.call("GET", f"/v1/conversations/{group}")["readSeq"] < said["seq"]
    tab.page.evaluate("() => { delete document.hasFocus; dispatchEvent(new Event('focus')) }")
    expect(tab.option("Quiet")).not_to_have_attribute("aria-label", re.compile("unread"))


def test_a_message_is_notified_of_once_while_the_page_is_not_in_front(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Away", bob)
    tab = bob.open().choose("Away")
    tab.page.evaluate(NOTIFIED)
    alice.say(group, "in front")
    tab.shows("in front")
    look_away(tab)
    alice.say(group, "behind")
    tab.shows("behind")
    tab.page.wait_for_timeout(500)
    assert tab.page.evaluate("notified") == [f"{alice.name}: behind"]


def test_nobody_is_called_to_a_page_of_which_another_tab_is_in_front(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Two tabs", bob)
    front, behind = bob.open().choose("Two tabs"), bob.tab().choose("Two tabs")
    behind.page.evaluate(NOTIFIED)
    look_away(behind)
    alice.say(group, "seen in front")
    behind.shows("seen in front")
    behind.page.wait_for_timeout(300)
    look_away(front)
    alice.say(group, "seen nowhere")
    behind.page.wait_for_function("() => notified.length > 0")
    assert behind.page.evaluate("notified") == [f"{alice.name}: seen nowhere"]


def test_nobody_is_called_for_what_is_muted(people):
    alice, bob = people("alice", "bob")
    muted, group = alice.group("Muted", bob), alice.group("News", bob)
    tab = bob.open().choose("News")
    bob.call("PUT", f"/v1/conversations/{muted}/mute", {})
    expect(tab.option("Muted")).to_have_accessible_name(re.compile("^Muted, muted, "))
    tab.page.evaluate(NOTIFIED)
    look_away(tab)
    alice.say(muted, "psst", mentions=[bob.name])
    expect(tab.option("Muted")).to_contain_text("psst")
    alice.say(group, "listen")
    tab.page.wait_for_function("() => notified.length > 0")
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("notified") == [f"{alice.name}: listen"]


def look_away(tab):
    tab.page.evaluate(
        """() => {
            Object.defineProperty(document, "hasFocus", { value: () => false, configurable: true });
            dispatchEvent(new Event("blur"));
        }"""
    )


def test_where_only_a_worker_may_notify_it_does_and_the_session_goes_on(people):
    """Chromium on Android: the constructor throws."""
    alice, bob = people("alice", "bob")
    group = alice.group("Phone", bob)
    tab = bob.open().choose("Phone")
    tab.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    tab.page.evaluate(
        """() => {
            globalThis.notified = [];
            globalThis.Notification = class { static permission = "granted"; constructor() { throw new TypeError() } };
            ServiceWorkerRegistration.prototype.showNotification = (title, { body }) => void notified.push(body);
        }"""
    )
    look_away(tab)
    for text in ("first", "second"):
        alice.say(group, text)
        tab.shows(text)
    tab.page.wait_for_function("() => notified.length === 2")
    assert tab.page.evaluate("notified") == [f"{alice.name}: first", f"{alice.name}: second"]


def test_a_link_of_another_user_does_not_take_the_place_of_this_one(people):
    alice, mallory = people("alice", "mallory")
    alice.group("Mine", mallory)
    tab = alice.open()
    expect(tab.option("Mine")).to_be_visible()
    tab.page.goto("about:blank")
    tab.page.goto(f"{alice.url}#token={mallory.token}")
    expect(tab.page.get_by_text("This link is of another user.")).to_be_visible()
    tab.page.reload()
    tab.choose("Mine").send("still alice")
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()


def test_unread_messages_are_counted_in_the_list_and_the_title(people):
    alice, bob = people("alice", "bob")
    first, second = alice.group("First", bob), alice.group("Second", bob)
    alice.say(first, "hello")
    tab = bob.open().choose("First")
    expect(tab.page).to_have_title("Parley")
    alice.say_many(second, ["one", "two", "three"])
    expect(tab.page).to_have_title("(3) Parley")
    expect(tab.option("Second").locator(".badge")).to_have_text("3")
    expect(tab.option("Second")).to_contain_text("three")
    tab.choose("Second")
    expect(tab.page).to_have_title("Parley")
    expect(tab.page.get_by_role("separator", name="Unread messages")).to_be_visible()


def test_a_direct_conversation_is_begun_by_a_name(people):
    alice, bob = people("alice", "bob")
    tab, other = alice.open(), bob.open()
    tab.button("New conversation").click()
    tab.page.get_by_role("textbox", name="People").fill(bob.name)
    tab.button("Start").click()
    expect(tab.page.get_by_role("heading", name=bob.name, level=2)).to_be_visible()
    tab.send("Hello, you")
    other.choose(alice.name).shows("Hello, you")


def test_a_group_is_begun_named_joined_and_left(people):
    alice, bob, carol = people("alice", "bob", "carol")
    tab, other = alice.open(), bob.open()
    tab.button("New conversation").click()
    field = tab.page.get_by_role("textbox", name="People")
    field.press_sequentially(f"{bob.name} {carol.name}")
    field.press("Enter")
    tab.page.get_by_role("textbox", name="Group name").fill("Summit")
    tab.button("Start").click()
    expect(tab.page.get_by_role("heading", name="Summit", level=2)).to_be_visible()
    other.choose("Summit")

    tab.button("Details of this conversation").click()
    details = tab.page.get_by_role("dialog", name="Details")
    details.get_by_role("textbox", name="Group name").fill("Peak")
    details.get_by_role("button", name="Rename").click()
    expect(other.page.get_by_role("heading", name="Peak", level=2)).to_be_visible()
    details.get_by_role("textbox", name="Add a person").fill("dora")
    details.get_by_role("button", name="Add", exact=True).click()
    expect(details.get_by_role("listitem").filter(has_text="dora")).to_be_visible()
    details.get_by_role("button", name=f"Remove {carol.name}").click()
    tab.page.get_by_role("dialog", name=f"Remove {carol.name}?").get_by_role(
        "button", name="Remove", exact=True
    ).click()
    # Soon she is among those who were removed.
    members = details.get_by_role("list", name="Members")
    expect(members.get_by_role("listitem").filter(has_text=carol.name)).to_have_count(0)
    details.get_by_role("button", name="Close").click()
    for text in ("named the conversation “Peak”", "added dora", f"removed {carol.name}"):
        expect(other.log.get_by_role("article").filter(has_text=text)).to_be_visible()
    [group] = alice.call("GET", "/v1/conversations")["conversations"]
    alice.call("PUT", f"/v1/conversations/{group['id']}/members/{bob.name}", {"role": "admin"})
    expect(other.log.get_by_role("article").filter(has_text="changed the role of you")).to_be_visible()

    other.button("Details of this conversation").click()
    other.button("Leave conversation").click()
    other.page.get_by_role("dialog", name="Leave this conversation?").get_by_role(
        "button", name="Leave", exact=True
    ).click()
    expect(other.page.get_by_text("You are no longer in this conversation.")).to_be_visible()
    expect(other.field).to_be_hidden()


def test_who_types_and_who_is_online_shows(people):
    alice, bob = people("alice", "bob")
    alice.direct(bob)
    tab, other = alice.open().choose(bob.name), bob.open().choose(alice.name)
    expect(tab.page.get_by_text("Online", exact=True)).to_be_visible()
    other.field.press_sequentially("Hm")
    expect(tab.page.get_by_role("status")).to_have_text(f"{bob.name} is typing…")
    other.field.fill("")
    expect(tab.page.get_by_role("status")).to_have_text("")


def test_a_token_comes_by_message_from_an_origin_that_may(people):
    [alice] = people("alice")
    context = alice.browser.new_context()
    opener = context.new_page()
    opener.goto(alice.url + "icon.svg")
    with context.expect_page() as opened:
        opener.evaluate(
            """token => {
                addEventListener("message", ({ data, source, origin }) => {
                    if (data?.type === "token") source.postMessage({ type: "token", token }, origin);
                });
                open("/", "_blank");
            }""",
            token(alice.name),
        )
    expect(opened.value.get_by_role("navigation", name="Conversations")).to_be_visible()
    context.close()


def add(owner, group: str, names: list[str]):
    """By one connection, after each other; several at once share a transaction of the server's."""
    connection = http.client.HTTPConnection(urlsplit(owner.url).netloc, timeout=PATIENCE)
    for name in names:
        headers = {"Authorization": f"Bearer {owner.token}", "Content-Type": "application/json"}
        connection.request("PUT", f"/v1/conversations/{group}/members/{name}", b"{}", headers)
        answer = connection.getresponse()
        assert answer.status in (200, 201), answer.read()
        answer.read()
    connection.close()


def test_a_group_of_five_thousand_opens_and_offers_its_members(people):
    [alice] = people("alice")
    names = [f"{alice.name}-{n}" for n in range(5_000)]
    body = {"id": new_id(), "kind": "group", "title": "Crowd", "members": names[:999]}
    group = alice.call("POST", "/v1/conversations", body)["id"]
    rest = names[999:]
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda first: add(alice, group, rest[first::32]), range(32)))
    alice.say(group, "hello, everybody")
    tab = alice.open().choose("Crowd")
    tab.shows("hello, everybody")
    expect(tab.page.get_by_text("5001 people")).to_be_visible()
    tab.field.press_sequentially(f"@{names[4_321]}")
    expect(tab.page.get_by_role("listbox", name="Members").get_by_role("option", name=names[4_321])).to_be_visible()


def soon_told(person, conversation: str, field: str):
    """What the server says of a conversation, once it does: the page shows first."""
    deadline = time.monotonic() + PATIENCE
    while field not in (told := person.call("GET", f"/v1/conversations/{conversation}")):
        assert time.monotonic() < deadline, told
        time.sleep(0.05)
    return told[field]


def test_what_one_keeps_to_oneself_is_in_the_menu_of_a_conversation(people):
    alice, bob = people("alice", "bob")
    alice.group("First", bob)
    group = alice.group("Second", bob)
    page = alice.open().page
    options = page.get_by_role("listbox", name="Conversations").get_by_role("option")
    expect(options).to_have_count(2)

    def choose(title: str, action: str):
        page.get_by_role("option").filter(has_text=title).click(button="right")
        page.get_by_role("menu", name="Conversation actions").get_by_role("menuitem", name=action, exact=True).click()

    choose("First", "Pin")
    expect(options.first).to_have_accessible_name(re.compile("^First, pinned, "))
    choose("Second", "Mute")
    expect(options.last).to_have_accessible_name(re.compile("^Second, muted, "))
    choose("Second", "Mark as unread")
    expect(options.last).to_have_accessible_name(re.compile("^Second, marked as unread, muted, "))
    choose("Second", "Mark as read")
    choose("Second", "Unmute")
    expect(options.last).not_to_have_accessible_name(re.compile("muted"))
    choose("Second", "Mute for 8 hours")
    expect(options.last).to_have_accessible_name(re.compile("^Second, muted, "))
    until = datetime.fromisoformat(soon_told(alice, group, "mutedUntil"))
    assert timedelta(hours=7) < until - datetime.now(UTC) < timedelta(hours=9)
    # The page itself notices when it ends.
    soon = datetime.now(UTC) + timedelta(seconds=2)
    alice.call("PUT", f"/v1/conversations/{group}/mute", {"until": soon.isoformat(timespec="milliseconds")})
    expect(options.last).not_to_have_accessible_name(re.compile("muted"))
    choose("Second", "Archive")
    expect(options).to_have_count(1)
    page.get_by_role("button", name="Archived").click()
    expect(page.get_by_role("listbox", name="Archived conversations").get_by_role("option")).to_have_count(1)
    assert soon_told(alice, group, "archived")
    bob.call("POST", f"/v1/conversations/{group}/messages", {"id": new_id(), "text": "Nine?"})
    expect(page.get_by_text("Nothing is archived.")).to_be_visible()
    page.get_by_role("button", name="Back to conversations").click()
    expect(options).to_have_count(2)
    expect(options.first).to_have_accessible_name(re.compile("^First, pinned, "))


def test_a_mark_as_unread_stays_until_the_user_opens_the_conversation(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Later", bob)
    seq = alice.say(group, "read it later")["seq"]
    bob.call("POST", f"/v1/conversations/{group}/receipts", {"readSeq": seq})
    tab = bob.open()
    # Without a mark it is open from the start, and the mark of another device stays.
    tab.shows("read it later")
    bob.call("PUT", f"/v1/conversations/{group}/unread")
    marked = re.compile("^Later, marked as unread, ")
    expect(tab.option("Later")).to_have_accessible_name(marked)
    tab.page.reload()
    expect(tab.option("Later")).to_have_accessible_name(marked)
    tab.page.wait_for_timeout(1_000)
    expect(tab.option("Later")).to_have_accessible_name(marked)
    assert bob.call("GET", f"/v1/conversations/{group}")["markedUnread"]
    tab.choose("Later")
    expect(tab.option("Later")).not_to_have_accessible_name(marked)
    eventually(lambda: "markedUnread" not in bob.call("GET", f"/v1/conversations/{group}"), "the mark has gone")


def test_who_is_blocked_vanishes_from_groups_at_once_and_comes_back(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group, pair = alice.group("Trio", bob, carol), alice.direct(bob)
    bob.say(pair, "hello alice")
    first = bob.say(group, "from bob")
    bob.say(group, "bob again")
    carol.say(group, "I agree", replyTo=first["id"])
    tab = alice.open().choose("Trio")
    page = tab.page
    tab.shows("bob again")
    expect(tab.message("I agree").get_by_role("blockquote")).to_contain_text("from bob")
    other = alice.tab().choose("Trio")

    tab.option(bob.name).click(button="right")
    page.get_by_role("menu", name="Conversation actions").get_by_role("menuitem", name="Block", exact=True).click()
    page.get_by_role("dialog", name=f"Block {bob.name}?").get_by_role("button", name="Block", exact=True).click()
    for each in (tab, other):
        expect(each.message("bob again")).to_have_count(0)
        expect(each.message("I agree").get_by_role("blockquote")).to_have_count(0)
    expect(tab.option(bob.name)).to_have_accessible_name(re.compile(", blocked, "))
    bob.say(group, "can you hear me")
    bob.say(pair, "or here")
    carol.say(group, "the last")
    tab.shows("the last")
    expect(tab.message("can you hear me")).to_have_count(0)

    tab.choose(bob.name)
    tab.shows("hello alice")
    expect(page.get_by_text(f"You have blocked {bob.name}.")).to_be_visible()
    expect(tab.field).to_be_hidden()
    page.get_by_role("searchbox").fill("bob")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("searchbox").fill("")

    # Without a connection, and by another device.
    alice.context.set_offline(True)
    tab.button(f"Unblock {bob.name}").click()
    expect(page.get_by_text(f"You have blocked {bob.name}.")).to_be_hidden()
    tab.choose("Trio").shows("can you hear me")
    alice.context.set_offline(False)
    tab.choose(bob.name)
    expect(tab.field).to_be_visible()
    eventually(lambda: alice.call("GET", "/v1/blocks")["users"] == [], "the block has ended")
    bob.say(pair, "at last")
    tab.shows("at last")
    expect(tab.message("or here")).to_have_count(0)
    alice.call("PUT", f"/v1/blocks/{carol.name}")
    tab.choose("Trio")
    expect(tab.message("the last")).to_have_count(0)


def test_members_are_blocked_in_the_details_and_all_are_listed_in_the_settings(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Trio", bob, carol)
    bob.say(group, "from bob")
    carol.say(group, "from carol")
    tab = alice.open().choose("Trio")
    page = tab.page
    tab.shows("from carol")
    tab.button("Settings").click()
    expect(page.get_by_text("You have blocked nobody.")).to_be_visible()
    tab.button("Close").click()
    tab.button("Details of this conversation").click()
    members = page.get_by_role("list", name="Members")
    expect(members.get_by_role("button", name=f"Block {alice.name}")).to_have_count(0)
    members.get_by_role("button", name=f"Block {carol.name}").click()
    page.get_by_role("dialog", name=f"Block {carol.name}?").get_by_role("button", name="Block", exact=True).click()
    expect(members.get_by_role("button", name=f"Unblock {carol.name}")).to_be_visible()
    tab.button("Close").click()
    expect(tab.message("from carol")).to_have_count(0)
    # A new device has carol's message alone, until it looks for one that is shown.
    device = alice.browser.new_context()
    other = device.new_page()
    other.goto(f"{alice.url}#token={alice.token}")
    expect(other.get_by_role("option").filter(has_text="Trio")).to_have_accessible_name(re.compile("from bob"))
    device.close()
    tab.button("Settings").click()
    page.get_by_role("list", name="Blocked people").get_by_role("button", name=f"Unblock {carol.name}").click()
    expect(page.get_by_text("You have blocked nobody.")).to_be_visible()
    tab.button("Close").click()
    tab.shows("from carol")
