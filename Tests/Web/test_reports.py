"""Reports of messages and persons: the dialog, what of it reaches administrators, and what it says where none does."""

import pytest
from client import token
from people import Person, Tab, new_id, new_name
from playwright.sync_api import Locator, expect
from test_access import violations

SENT = "Thank you. It was sent to those who run the service."
AWAY = "The server cannot be reached."
REASONS = [
    "Spam", "Harassment or bullying", "Violence or threats", "Sexual content", "Self-harm", "Something illegal",
    "Something else",
]  # fmt: skip


@pytest.fixture
def reports(system, browser):
    """The open reports that somebody has made, as administrators read them."""
    backend = Person(system, browser, new_name("backend"))
    backend.token = token(backend.name, adm=True)

    def made_by(person: Person) -> list[dict]:
        found, after = [], ""
        while True:
            page = backend.call("GET", f"/v1/reports?limit=50{after}")
            found += [report for report in page["reports"] if report.get("reporterId") == person.name]
            if "nextCursor" not in page:
                return found
            after = f"&after={page['nextCursor']}"

    return made_by


def dialog(tab: Tab, name: str = "Report message") -> Locator:
    return tab.page.get_by_role("dialog", name=name)


def choose(asked: Locator, reason: str, text: str = ""):
    asked.get_by_role("radio", name=reason).check()
    asked.get_by_role("textbox").fill(text)


def send(asked: Locator):
    """Until the server has it: only then the dialog says so."""
    asked.get_by_role("button", name="Report", exact=True).click()
    expect(asked.get_by_role("status")).to_contain_text(SENT)


def fails(asked: Locator, reason: str):
    button = asked.get_by_role("button", name="Report", exact=True)
    button.click()
    expect(button).to_be_enabled()  # Until it is answered it is not.
    expect(asked.get_by_role("alert")).to_have_text(reason)


def test_a_message_of_somebody_else_is_reported_and_they_are_blocked(people, reports):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    alice.say(group, "hello")
    message = bob.say(group, "buy this")
    tab = alice.open().choose("Sunday")
    tab.shows("buy this")
    expect(tab.menu("hello").get_by_role("menuitem", name="Report…")).to_have_count(0)
    tab.page.keyboard.press("Escape")
    tab.act("buy this", "Report…")
    asked = dialog(tab)
    expect(asked.get_by_role("radio")).to_have_count(len(REASONS))
    for reason in REASONS:
        expect(asked.get_by_role("radio", name=reason)).not_to_be_checked()
    # Without a reason nothing is sent.
    asked.get_by_role("button", name="Report", exact=True).click()
    expect(asked.get_by_role("radio", name="Spam")).to_be_focused()
    choose(asked, "Spam", " Every day \n")
    asked.get_by_role("checkbox", name=f"Block {bob.name}, too").check()
    send(asked)
    expect(asked.get_by_role("status")).to_contain_text(f"{bob.name} is blocked.")
    expect(asked.get_by_role("button", name="OK")).to_be_focused()
    asked.get_by_role("button", name="OK").click()
    expect(asked).to_have_count(0)
    expect(tab.message("buy this")).to_have_count(0)
    [report] = reports(alice)
    assert (report["messageId"], report["reason"], report["text"]) == (message["id"], "spam", "Every day")
    assert report["message"]["text"] == "buy this" and "userId" not in report
    # Who is blocked already is not to be blocked once more.
    tab.button("Details of this conversation").click()
    tab.button(f"Report {bob.name}").click()
    expect(dialog(tab, f"Report {bob.name}").get_by_role("checkbox")).to_have_count(0)


def test_a_person_is_reported_from_the_list_and_from_the_details(people, reports):
    alice, bob = people("alice", "bob")
    pair = bob.direct(alice)
    bob.say(pair, "hello")
    tab = alice.open()
    tab.option(bob.name).click(button="right")
    tab.page.get_by_role("menuitem", name="Report…").click()
    asked = dialog(tab, f"Report {bob.name}")
    choose(asked, "Something else")
    send(asked)
    asked.get_by_role("button", name="OK").click()
    tab.choose(bob.name).button("Details of this conversation").click()
    tab.button(f"Report {bob.name}").click()
    choose(asked, "Self-harm", "worried")
    send(asked)
    asked.get_by_role("button", name="OK").click()
    expect(tab.page.get_by_role("dialog", name="Details")).to_be_visible()
    made = sorted((report["reason"], report.get("text"), report["userId"]) for report in reports(alice))
    assert made == [("other", None, bob.name), ("selfHarm", "worried", bob.name)]


def test_without_a_connection_the_dialog_says_so_and_what_is_sent_again_is_one_report(people, reports):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    bob.say(group, "buy this")
    tab = alice.open().choose("Sunday")
    tab.act("buy this", "Report…")
    asked = dialog(tab)
    choose(asked, "Spam", "Every day")
    ids = []

    def lose(route):
        """The server has it, and its response is lost."""
        ids.append(route.request.post_data_json["id"])
        route.fetch()
        route.abort()

    tab.page.route("**/v1/reports", lose)
    for count in (1, 2):
        fails(asked, AWAY)
        assert len(ids) == count
    tab.page.unroute("**/v1/reports")
    alice.context.set_offline(True)
    fails(asked, AWAY)
    alice.context.set_offline(False)
    send(asked)
    assert len(set(ids)) == 1
    [report] = reports(alice)
    assert (report["id"], report["text"]) == (ids[0], "Every day")


def test_what_is_refused_is_said_in_the_dialog_and_what_was_written_stays(people, reports):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    bob.say(group, "buy this")
    for _ in range(20):
        body = {"id": new_id(), "conversationId": group, "userId": bob.name, "reason": "spam"}
        alice.call("POST", "/v1/reports", body)
    tab = alice.open().choose("Sunday")
    tab.act("buy this", "Report…")
    asked = dialog(tab)
    choose(asked, "Spam", "Every day")
    fails(asked, "You have reported as much here as is possible at a time.")
    expect(asked.get_by_role("textbox")).to_have_value("Every day")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    assert len(reports(alice)) == 20


def test_it_is_done_by_the_keyboard_and_the_focus_goes_back(people, reports):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    bob.say(group, "buy this")
    tab = alice.open().choose("Sunday")
    tab.shows("buy this")
    keyboard = tab.page.keyboard
    tab.message("buy this").focus()
    keyboard.press("Enter")
    item = tab.page.get_by_role("menuitem", name="Report…")
    expect(tab.page.get_by_role("menuitem", name="Reply")).to_be_focused()
    for _ in range(tab.page.get_by_role("menuitem").count()):
        if item.evaluate("item => item === item.getRootNode().activeElement"):
            break
        keyboard.press("ArrowDown")
    keyboard.press("Enter")
    asked = dialog(tab)
    expect(asked).to_be_visible()
    asked.get_by_role("radio", name="Spam").focus()
    keyboard.press("ArrowDown")
    expect(asked.get_by_role("radio", name="Harassment or bullying")).to_be_checked()
    keyboard.press("Tab")
    expect(asked.get_by_role("textbox")).to_be_focused()
    keyboard.type("he shouts")
    keyboard.press("Tab")
    expect(asked.get_by_role("checkbox")).to_be_focused()
    keyboard.press("Enter")
    expect(asked.get_by_role("status")).to_contain_text(SENT)
    keyboard.press("Enter")
    expect(asked).to_have_count(0)
    expect(tab.message("buy this")).to_be_focused()
    [report] = reports(alice)
    assert (report["reason"], report["text"]) == ("harassment", "he shouts")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_report(people, scheme):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    bob.say(group, "buy this")
    tab = alice.open(color_scheme=scheme).choose("Sunday")
    tab.act("buy this", "Report…")
    asked = dialog(tab)
    choose(asked, "Spam")
    found = violations(tab.page)
    alice.context.set_offline(True)
    fails(asked, AWAY)
    found += violations(tab.page)
    alice.context.set_offline(False)
    send(asked)
    assert found + violations(tab.page) == []
