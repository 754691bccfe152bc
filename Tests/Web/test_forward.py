"""Messages that are sent on."""

from people import new_id
from pictures import picture
from playwright.sync_api import expect
from test_access import violations
from test_attachments import attach, file, pictures


def test_a_message_is_forwarded_with_the_name_of_who_wrote_it_or_without(people):
    alice, bob, carol = people("alice", "bob", "carol")
    source = alice.group("Harbour", bob)
    target = bob.group("Friends", carol)
    alice.call("POST", f"/v1/conversations/{source}/messages", {"id": new_id(), "text": "The boat leaves at nine"})
    tab, other = bob.open().choose("Harbour"), carol.open().choose("Friends")
    for shows in (True, False):
        tab.menu("The boat leaves at nine").get_by_role("menuitem", name="Forward…").click()
        dialog = tab.page.get_by_role("dialog", name="Forward")
        if not shows:
            dialog.get_by_role("switch", name="Show who wrote it").click()
        else:
            assert violations(tab.page) == []
        dialog.get_by_role("button", name="Friends").click()
        expect(dialog).to_have_count(0)
    expect(other.message("The boat leaves at nine")).to_have_count(2)
    expect(other.page.get_by_text("Forwarded from alice")).to_have_count(1)
    messages = carol.call("GET", f"/v1/conversations/{target}/messages")["messages"]
    shown = [message.get("forwarded", {}).get("userId") for message in messages if message["kind"] == "text"]
    assert [user is not None for user in shown] == [True, False]


def test_a_picture_is_forwarded_and_opened_by_who_gets_it(senders):
    alice, bob, carol = senders("alice", "bob", "carol")
    alice.group("Harbour", bob)
    bob.group("Friends", carol)
    writer, tab, other = alice.open().choose("Harbour"), bob.open().choose("Harbour"), carol.open().choose("Friends")
    attach(writer, file("harbour.png", picture()))
    writer.field.fill("look")
    writer.button("Send").click()
    tab.menu("look").get_by_role("menuitem", name="Forward…").click()
    tab.page.get_by_role("dialog", name="Forward").get_by_role("button", name="Friends").click()
    expect(pictures(other)).to_have_count(1)
    expect(other.message("look")).to_have_count(1)
