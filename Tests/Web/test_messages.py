"""What is done with messages: replies, edits, deletions, tapbacks, drafts, mentions."""

import re
import time

from people import Person
from playwright.sync_api import expect
from system import PATIENCE


def test_a_reply_quotes_its_parent_and_jumps_to_it(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Replies", bob)
    question = alice.say(group, "Who brings the rope? " + "It is long. " * 10)
    alice.say_many(group, [f"chatter {n}\nover\nthree lines" for n in range(30)])
    tab = bob.open().choose("Replies")
    other = alice.open().choose("Replies")
    reply = {"replyTo": question["id"]}
    alice.say(group, "Nobody?", **reply)
    quote = tab.message("Nobody?").locator("blockquote")
    expect(quote).to_contain_text(alice.name)
    expect(quote).to_contain_text("Who brings the rope? " + ("It is long. " * 10)[:29].rstrip())
    quote.get_by_role("button").click()
    expect(tab.message("Who brings the rope?").first).to_be_in_viewport()
    expect(tab.button("Jump to latest")).to_be_visible()
    tab.button("Jump to latest").click()
    expect(tab.message("Nobody?")).to_be_in_viewport()

    tab.act("Nobody?", "Reply")
    expect(tab.button("Cancel reply")).to_be_visible()
    tab.button("Cancel reply").click()
    expect(tab.button("Cancel reply")).to_be_hidden()
    tab.act("Nobody?", "Reply")
    tab.send("I do.")
    expect(other.message("I do.").locator("blockquote")).to_contain_text("Nobody?")
    alice.call("DELETE", f"/v1/conversations/{group}/messages/{question['id']}?scope=everyone")
    expect(tab.message("Nobody?").first.locator("blockquote")).to_have_count(0)


def test_an_edit_shows_with_its_revisions(people):
    alice, bob = people("alice", "bob")
    alice.group("Edits", bob)
    tab, other = alice.open().choose("Edits"), bob.open().choose("Edits")
    tab.send("Teh text")
    other.shows("Teh text")
    tab.field.press("ArrowUp")
    expect(tab.field).to_have_value("Teh text")
    tab.field.press("Escape")
    expect(tab.button("Cancel edit")).to_be_hidden()
    expect(tab.field).to_have_value("")
    tab.act("Teh text", "Edit")
    expect(tab.button("Cancel edit")).to_be_visible()
    tab.field.fill("The text")
    tab.field.press("Enter")
    for page in (tab, other):
        expect(page.message("The text")).to_contain_text("Edited")
    other.button("Edited").click()
    dialog = other.page.get_by_role("dialog", name="Edits")
    expect(dialog.get_by_role("listitem")).to_have_text([re.compile("Teh text"), re.compile("The text")])


def test_a_message_is_deleted_for_everyone_or_for_oneself(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Deletions", bob)
    tab, other = alice.open().choose("Deletions"), bob.open().choose("Deletions")
    tab.send("for all")
    tab.send("for me")
    other.shows("for me")
    tab.act("for all", "Delete for everyone")
    for page in (tab, other):
        expect(page.message("for all")).to_have_count(0)
        expect(page.message("Message deleted")).to_be_visible()
    other.act("for me", "Delete for me")
    expect(other.message("for me")).to_have_count(0)
    expect(tab.message("for me")).to_be_visible()
    alice.finds(group, [None, "for me"])


def test_a_tapback_is_given_changed_and_taken_back(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Tapbacks", bob)
    tab, other = alice.open().choose("Tapbacks"), bob.open().choose("Tapbacks")
    tab.send("Cake!")
    other.shows("Cake!")

    other.tap("Cake!", "love")
    pill = tab.message("Cake!").get_by_role("button", name=re.compile("^Tapbacks"))
    expect(pill).to_have_accessible_name("Tapbacks: 1 love")
    other.tap("Cake!", "laugh")
    expect(pill).to_have_accessible_name("Tapbacks: 1 laugh")
    pill.click()
    dialog = tab.page.get_by_role("dialog", name="Tapbacks")
    expect(dialog.get_by_role("listitem")).to_contain_text(bob.name)
    dialog.get_by_role("button", name="Close").click()
    other.tap("Cake!", "laugh")
    expect(pill).to_have_count(0)
    assert alice.call("GET", f"/v1/conversations/{group}/messages")["messages"][-1]["tapbackCounts"] == {}


def test_a_draft_and_its_reply_survive_a_reload(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Drafts", bob)
    alice.group("Elsewhere", bob)
    alice.say(group, "A question")
    tab = bob.open().choose("Drafts")
    tab.act("A question", "Reply")
    tab.field.fill("half a thou")
    tab.choose("Elsewhere")
    expect(tab.field).to_have_value("")
    expect(tab.option("Drafts")).to_contain_text("Draft half a thou")
    tab.page.reload()
    tab.choose("Drafts")
    expect(tab.field).to_have_value("half a thou")
    expect(tab.button("Cancel reply")).to_be_visible()
    tab.field.press("End")
    tab.field.press_sequentially("ght")
    tab.field.press("Enter")
    expect(tab.message("half a thought").locator("blockquote")).to_contain_text("A question")


def test_a_draft_is_on_the_other_device_until_it_is_sent(people, browser):
    alice, bob = people("alice", "bob")
    group = alice.group("Shared", bob)
    alice.group("Elsewhere", bob)
    alice.say(group, "A question")
    phone = bob.open().choose("Shared")
    other = Person(bob.system, browser, bob.name)
    try:
        desk = other.open().choose("Elsewhere")
        phone.act("A question", "Reply")
        phone.field.press_sequentially("half a thou")
        expect(desk.option("Shared")).to_contain_text("Draft half a thou")
        desk.choose("Shared")
        expect(desk.field).to_have_value("half a thou")
        expect(desk.button("Cancel reply")).to_be_visible()
        # The field that is only looked at follows; the one in which somebody writes does not.
        desk.field.press("End")
        desk.field.press_sequentially("ght")
        desk.choose("Elsewhere")
        expect(phone.field).to_have_value("half a thought")
        phone.field.press("End")
        phone.field.press_sequentially("!")
        bob.call("PUT", f"/v1/conversations/{group}/draft", {"text": "from afar"})
        phone.field.press_sequentially("!")
        expect(phone.field).to_have_value("half a thought!!")
        phone.field.press("Enter")
        phone.shows("half a thought!!")
        expect(phone.field).to_have_value("")
        expect(desk.option("Shared")).not_to_contain_text("Draft")
        desk.choose("Shared")
        expect(desk.field).to_have_value("")
        assert draft_of(bob, group) is None
    finally:
        other.close()
    assert not other.errors


def test_a_draft_of_no_connection_waits_and_is_never_overwritten(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Shared", bob)
    tab = bob.open().choose("Shared")
    bob.context.set_offline(True)
    tab.field.press_sequentially("from the tunnel")
    expect(tab.option("Shared")).to_contain_text("Draft from the tunnel")
    bob.call("PUT", f"/v1/conversations/{group}/draft", {"text": "from the desk"})
    bob.context.set_offline(False)
    alice.say(group, "Are you there?")
    tab.shows("Are you there?")
    tab.page.wait_for_timeout(4_000)
    expect(tab.field).to_have_value("from the tunnel")
    assert draft_of(bob, group) == "from the desk"
    tab.field.press("End")
    tab.field.press_sequentially(", and out")
    deadline = time.monotonic() + PATIENCE
    while draft_of(bob, group) != "from the tunnel, and out":
        assert time.monotonic() < deadline, draft_of(bob, group)
        time.sleep(0.05)


def draft_of(person, conversation: str) -> str | None:
    return person.call("GET", f"/v1/conversations/{conversation}").get("draft", {}).get("text")


def test_enter_sends_and_shift_enter_breaks_the_line(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Lines", bob)
    tab = alice.open().choose("Lines")
    height = tab.field.bounding_box()["height"]
    tab.field.press_sequentially("one")
    tab.field.press("Shift+Enter")
    tab.field.press_sequentially("two")
    assert tab.field.bounding_box()["height"] > height
    tab.field.press("Enter")
    tab.shows("one")
    expect(tab.field).to_have_value("")
    expect(tab.button("Sent")).to_be_visible()
    alice.finds(group, ["one\ntwo"])


def test_a_mention_is_offered_written_and_shown(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Mentions", bob)
    tab = alice.open().choose("Mentions")
    tab.field.press_sequentially("Hi @bo")
    option = tab.page.get_by_role("listbox", name="Members").get_by_role("option", name=bob.name)
    expect(option).to_be_visible()
    tab.field.press("Enter")
    expect(tab.field).to_have_value(f"Hi @{bob.name} ")
    tab.field.press_sequentially("there")
    tab.field.press("Enter")
    expect(tab.message("there").locator(".mention")).to_have_text(f"@{bob.name}")
    expect(tab.button("Sent")).to_be_visible()
    assert alice.call("GET", f"/v1/conversations/{group}/messages")["messages"][-1]["mentions"] == [bob.name]


def test_everybody_is_mentioned_by_who_may_and_sees_it_in_the_list(people):
    alice, bob = people("alice", "bob")
    group, other = alice.group("Mentions", bob), alice.group("Other", bob)
    alice.say(other, "Nothing new")
    his = bob.open().choose("Other")
    tab = alice.open().choose("Mentions")
    tab.field.press_sequentially("Hello @")
    offered = tab.page.get_by_role("listbox", name="Members").get_by_role("option")
    expect(offered).to_have_text([re.compile("^Everyone"), bob.name])
    tab.page.keyboard.press("Enter")
    expect(tab.field).to_have_value("Hello @all ")
    tab.field.press_sequentially("there")
    tab.button("Send").click()
    expect(tab.message("there").locator(".mention")).to_have_text("@all")
    expect(tab.message("there").locator(".failure")).to_have_count(0)
    expect(his.option("Mentions")).to_have_attribute("aria-label", re.compile("1 unread, 1 unread mention,"))
    alice.say(group, "You, too", mentions=[bob.name])
    expect(his.option("Mentions")).to_have_attribute("aria-label", re.compile("2 unread, 2 unread mentions,"))
    expect(his.option("Mentions").locator(".badge")).to_have_text(["@", "2"])
    his.choose("Mentions")
    expect(his.message("there").locator(".mention")).to_have_text("@all")
    expect(his.option("Mentions").locator(".badge")).to_have_count(0)
    # A member is not offered it, and writes it like anything else.
    his.field.press_sequentially("@a")
    expect(his.page.get_by_role("listbox", name="Members").get_by_role("option")).to_have_text([alice.name])
    his.field.fill("@all by bob")
    his.button("Send").click()
    expect(tab.message("by bob")).to_be_visible()
    expect(tab.message("by bob").locator(".mention")).to_have_count(0)
    tab.button("Details of this conversation").click()
    choice = tab.page.get_by_role("dialog", name="Details").get_by_label("Mention everyone")
    expect(choice).to_have_value("admins")
    choice.select_option("members")
    options = his.page.get_by_role("listbox", name="Members").get_by_role("option")
    deadline = time.monotonic() + PATIENCE
    while options.count() < 2:
        assert time.monotonic() < deadline, options.all_inner_texts()
        his.field.fill("")
        his.field.press_sequentially("@a")
    expect(options).to_have_text([re.compile("^Everyone"), alice.name])
