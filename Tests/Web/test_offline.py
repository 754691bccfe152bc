"""Without the network, without the servers, and when the server says no."""

import pytest
from client import token
from playwright.sync_api import expect
from people import PATIENCE_MS


def test_what_is_written_offline_shows_is_kept_and_goes_out_in_order(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Tunnel", bob)
    alice.say(group, "before")
    tab, other = alice.open().choose("Tunnel"), bob.open().choose("Tunnel")
    tab.shows("before")
    alice.context.set_offline(True)
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    texts = [f"from the tunnel {n}" for n in range(5)]
    for text in texts:
        tab.send(text)
    tab.page.reload()
    tab.choose("Tunnel")
    for text in texts:
        tab.shows(text)
    assert alice.texts(group) == ["before"]
    alice.context.set_offline(False)
    expect(tab.page.get_by_text("No connection.")).to_be_hidden()
    other.shows(texts[-1])
    alice.finds(group, ["before", *texts])
    expect(tab.button("Sent").or_(tab.button("Delivered")).or_(tab.button("Read by 1"))).to_be_visible()


def test_edits_tapbacks_and_deletions_are_made_offline_too(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Cellar", bob)
    said = alice.say(group, "mine")
    alice.say(group, "gone")
    bob.say(group, "his")
    tab = alice.open().choose("Cellar")
    tab.shows("his")
    alice.context.set_offline(True)
    tab.act("mine", "Edit")
    tab.field.fill("mine, better")
    tab.field.press("Enter")
    tab.tap("his", "like")
    tab.act("gone", "Delete for everyone")
    tab.shows("mine, better")
    expect(tab.message("Message deleted")).to_be_visible()
    # What was not sent yet is sent as it is now; if a request had been tried, its edit follows.
    tab.send("unsnet")
    tab.act("unsnet", "Edit")
    tab.field.fill("unsent")
    tab.field.press("Enter")
    expect(tab.message("unsent").last).to_be_visible()
    alice.context.set_offline(False)
    expect(tab.message("unsent").last).to_be_visible()
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    alice.finds(group, ["mine, better", None, "his", "unsent"])
    messages = alice.call("GET", f"/v1/conversations/{group}/messages")["messages"]
    assert [m["tapbackCounts"] for m in messages if m["text"] == "his"] == [{"like": 1}]
    assert [m["id"] for m in messages if m["text"] == "mine, better"] == [said["id"]]


@pytest.mark.kills
def test_the_page_opens_and_writes_with_every_server_stopped(people, system):
    alice, bob = people("alice", "bob")
    group = alice.group("Blackout", bob)
    alice.say(group, "still here")
    tab = alice.open().choose("Blackout")
    tab.shows("still here")
    tab.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    for service in ("ingest", "fanout"):
        system.kill(service)
    tab.page.reload()
    tab.choose("Blackout").shows("still here")
    tab.send("written in the dark")
    later = alice.tab()
    later.choose("Blackout").shows("written in the dark")
    system.revive()
    sent = later.message("written in the dark").get_by_role("button", name="Sent")
    expect(sent).to_be_visible(timeout=2 * PATIENCE_MS)
    bob.finds(group, ["still here", "written in the dark"])


@pytest.mark.kills
def test_services_that_are_replaced_lose_nothing(people, system):
    alice, bob = people("alice", "bob")
    group = alice.group("Restart", bob)
    tab, other = alice.open().choose("Restart"), bob.open().choose("Restart")
    texts = [f"number {n}" for n in range(12)]
    for index, text in enumerate(texts):
        tab.send(text)
        if index == 3:
            system.kill("ingest")
        if index == 6:
            system.kill("fanout")
            system.kill("store")
        if index == 8:
            system.revive()
    expect(other.message(texts[-1])).to_be_visible(timeout=2 * PATIENCE_MS)
    bob.finds(group, texts)
    assert other.order() == texts


def test_a_reload_in_the_middle_of_sending_sends_once(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Reload", bob)
    tab = alice.open().choose("Reload")
    texts = []
    for n in range(6):
        texts += [f"{n} first", f"{n} second"]
        tab.field.fill(texts[-2])
        tab.field.press("Enter")
        tab.field.fill(texts[-1])
        tab.field.press("Enter")
        tab.shows(texts[-1])
        tab.page.reload()
        tab.choose("Reload")
    tab.shows(texts[-1])
    other = bob.open().choose("Reload")
    other.shows(texts[-1])
    bob.finds(group, texts)


def test_what_is_refused_says_why_and_is_retried_edited_or_discarded(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Refused", bob)
    said = [bob.say(group, f"question {n}") for n in range(2)]
    tab = alice.open().choose("Refused")
    tab.shows("question 1")
    alice.context.set_offline(True)
    for n in range(2):
        tab.act(f"question {n}", "Reply")
        tab.send(f"answer {n}")
    tab.send("and this waits behind them")
    for message in said:
        bob.call("DELETE", f"/v1/conversations/{group}/messages/{message['id']}?scope=everyone")
    alice.context.set_offline(False)
    # The first blocks the others, visibly.
    failure = tab.message("answer 0")
    expect(failure.get_by_role("button", name="Retry")).to_be_visible()
    expect(failure).to_contain_text("Not sent:")
    alice.finds(group, [None, None])
    tab.page.reload()
    tab.choose("Refused")
    failure.get_by_role("button", name="Retry").click()
    expect(failure.get_by_role("button", name="Retry")).to_be_visible()
    failure.get_by_role("button", name="Discard").click()
    expect(tab.message("answer 0")).to_have_count(0)
    expect(tab.message("answer 1").get_by_role("button", name="Retry")).to_be_visible()
    tab.message("answer 1").get_by_role("button", name="Edit").click()
    expect(tab.button("Cancel edit")).to_be_visible()
    tab.button("Cancel edit").click()
    tab.message("answer 1").get_by_role("button", name="Discard").click()
    expect(tab.button("Sent")).to_be_visible()
    alice.finds(group, [None, None, "and this waits behind them"])


def test_a_new_group_that_is_refused_stays_with_what_was_written_and_is_asked_for_again(people):
    alice, bob, carol, backend = people("alice", "bob", "carol", "backend")
    backend.token = token(backend.name, adm=True)
    tab = alice.open()
    expect(tab.page.get_by_text("No conversations yet")).to_be_visible()
    alice.context.set_offline(True)
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    tab.button("New conversation").click()
    tab.page.get_by_role("textbox", name="People").press_sequentially(f"{bob.name} {carol.name} ")
    tab.page.get_by_role("textbox", name="Group name").fill("Summit")
    tab.button("Start").click()
    for text in ("first", "second"):
        tab.send(text)
    backend.call("PUT", f"/v1/users/{alice.name}/suspension", {"mode": "readOnly"})
    alice.context.set_offline(False)
    retry = tab.message("first").get_by_role("button", name="Retry")
    expect(retry).to_be_visible()
    tab.page.reload()
    tab.choose("Summit")
    expect(tab.option("Summit")).to_contain_text("Not sent")
    backend.call("DELETE", f"/v1/users/{alice.name}/suspension")
    retry.click()
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    other = bob.open().choose("Summit")
    other.shows("first")
    other.shows("second")


def test_a_refused_edit_is_rolled_back_and_says_why(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Rollback", bob)
    said = alice.say(group, "as it was")
    tab = alice.open().choose("Rollback")
    tab.shows("as it was")
    alice.context.set_offline(True)
    tab.tap("as it was", "love")
    tab.act("as it was", "Edit")
    tab.field.fill("as it never was")
    tab.field.press("Enter")
    tab.shows("as it never was")
    alice.call("DELETE", f"/v1/conversations/{group}/members/{alice.name}")
    alice.context.set_offline(False)
    tab.shows("as it was")
    expect(tab.page.get_by_text("was refused:")).to_have_count(2)
    for left in (1, 0):
        tab.button("Dismiss").first.click()
        expect(tab.page.get_by_text("was refused:")).to_have_count(left)
    assert bob.call("GET", f"/v1/conversations/{group}/messages/{said['id']}")["text"] == "as it was"


FULL = """
    () => {
        globalThis.isFull = true;
        for (const name of ["put", "add"]) {
            const write = IDBObjectStore.prototype[name];
            IDBObjectStore.prototype[name] = function (record) {
                if (isFull) throw new DOMException("No room.", "QuotaExceededError");
                return write.call(this, record);
            };
        }
    }
"""
"""The browser's storage is full, until `isFull` is false."""


def keeps_in_its_field(tab, text: str):
    tab.field.fill(text)
    tab.field.press("Enter")
    expect(tab.page.get_by_text("This message cannot be kept in this browser.")).to_be_visible()
    expect(tab.field).to_have_value(text)


def test_what_cannot_be_kept_stays_where_it_was_written(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Full", bob)
    said = bob.say(group, "is there room?")
    tab = alice.open().choose("Full")
    tab.act("is there room?", "Reply")
    tab.page.evaluate(FULL)
    keeps_in_its_field(tab, "no room for this")
    expect(tab.button("Cancel reply")).to_be_visible()
    bob.say(group, "nor for this")
    expect(tab.page.get_by_text("Nothing can be kept in this browser.")).to_be_visible()
    tab.page.evaluate("isFull = false")
    tab.shows("nor for this")
    tab.field.press("Enter")
    tab.shows("no room for this")
    expect(tab.button("Sent").or_(tab.button("Delivered"))).to_be_visible()
    alice.finds(group, ["is there room?", "nor for this", "no room for this"])
    kept = alice.call("GET", f"/v1/conversations/{group}/messages")["messages"][-1]
    assert kept["replyTo"]["messageId"] == said["id"]


def test_an_edit_and_a_poll_that_cannot_be_kept_stay_where_they_were_written(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Full", bob)
    alice.say(group, "as it was")
    tab = alice.open().choose("Full")
    tab.field.fill("half a thought")
    tab.act("as it was", "Edit")
    tab.page.evaluate(FULL)
    keeps_in_its_field(tab, "as it is to be")
    expect(tab.button("Cancel edit")).to_be_visible()
    tab.page.evaluate("isFull = false")
    tab.field.press("Enter")
    tab.shows("as it is to be")
    expect(tab.field).to_have_value("half a thought")
    tab.field.fill("")

    tab.button("New poll").click()
    dialog = tab.page.get_by_role("dialog", name="New poll")
    dialog.get_by_label("Question", exact=True).fill("Which day?")
    dialog.get_by_label("Options, a line each").last.fill("Saturday\nSunday")
    tab.page.evaluate("isFull = true")
    dialog.get_by_role("button", name="Send poll").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This message cannot be kept in this browser.")
    expect(dialog.get_by_label("Question", exact=True)).to_have_value("Which day?")
    tab.page.evaluate("isFull = false")
    dialog.get_by_role("button", name="Send poll").click()
    expect(dialog).to_have_count(0)
    tab.shows("Which day?")
    alice.finds(group, ["as it is to be", "Which day?"])


def test_a_page_that_may_keep_nothing_says_so(people):
    [alice] = people("alice")
    alice.open().page.close()
    alice.context.add_init_script("Object.defineProperty(globalThis, 'indexedDB', { get() { throw new Error() } })")
    tab = alice.tab()
    expect(tab.page.get_by_role("alert")).to_contain_text("What Parley keeps in this browser cannot be opened.")
    expect(tab.button("Try again")).to_be_visible()


DAMAGED = """
    {
        const { open, deleteDatabase } = IDBFactory.prototype;
        IDBFactory.prototype.open = function (...about) {
            if (localStorage.isErased) return open.apply(this, about);
            const request = { error: new DOMException("Damaged.", "UnknownError") };
            setTimeout(() => request.onerror());
            return request;
        };
        IDBFactory.prototype.deleteDatabase = function (name) {
            localStorage.isErased = "yes";
            return deleteDatabase.call(this, name);
        };
    }
"""
"""What the browser keeps cannot be read until it is erased."""


def test_a_copy_of_which_nothing_can_be_read_is_erased_when_the_user_chooses_it(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Damaged", bob)
    alice.say(group, "on the server")
    alice.open().choose("Damaged").page.close()
    alice.context.add_init_script(DAMAGED)
    tab = alice.tab(f"#token={alice.token}")
    expect(tab.page.get_by_role("alert")).to_contain_text("What was not sent yet cannot be read, and is lost then.")
    assert tab.page.evaluate("localStorage.isErased") is None
    tab.button("Erase and load anew").click()
    tab.choose("Damaged").shows("on the server")
