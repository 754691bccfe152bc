"""Links by which others join a group: who makes, sees and revokes them, and what becomes of whoever opens one."""

import re
import time
from datetime import UTC, datetime, timedelta
from urllib.error import HTTPError

import pytest
from people import PATIENCE, Person, Tab, new_id
from playwright.sync_api import Locator, Page, expect
from test_access import violations

LINK = re.compile(r"^http://127\.0\.0\.1:\d+/#invite=([\w-]{43})$")
GONE = "This invitation is not good any more."


def invitations_of(person: Person, group: str) -> list[dict]:
    return person.call("GET", f"/v1/conversations/{group}/invitations")["invitations"]


def code_of(person: Person, group: str, **fields) -> str:
    return person.call("POST", f"/v1/conversations/{group}/invitations", {"id": new_id()} | fields)["code"]


def details(tab: Tab) -> Locator:
    tab.button("Details of this conversation").click()
    return tab.page.get_by_role("dialog", name="Details")


def links(dialog: Locator) -> Locator:
    return dialog.get_by_role("list", name="Invitation links").get_by_role("listitem")


def new_link(dialog: Locator) -> str:
    dialog.get_by_role("button", name="Create link").click()
    field = dialog.get_by_role("textbox", name="New invitation link")
    expect(field).to_have_value(LINK)
    return field.input_value()


def invitation(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Invitation", exact=True)


def signed_in(person: Person, **options) -> Tab:
    """Their browser, which keeps their token by now: the page has told its history to forget it."""
    tab = person.open(**options)
    tab.page.wait_for_function("() => !history.state?.token")
    return tab


def comes(person: Person, code: str) -> Tab:
    """Opens a link with a code, in the browser where they are signed in."""
    return person.tab(f"#invite={code}")


def kept_in(page: Page) -> str:
    """All that is in the browser's databases, and in what else a page can keep, as text."""
    return page.evaluate("""async () => {
        const wait = (request) => new Promise((resolve) => request.onsuccess = () => resolve(request.result));
        const kept = [JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])];
        for (const { name } of await indexedDB.databases()) {
            const database = await wait(indexedDB.open(name));
            for (const store of database.objectStoreNames) {
                kept.push(JSON.stringify(await wait(database.transaction(store).objectStore(store).getAll())));
            }
            database.close();
        }
        return kept.join();
    }""")


def test_an_owner_makes_a_link_by_which_somebody_joins(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday", bob)
    owner = alice.open(lambda context: context.grant_permissions(["clipboard-read", "clipboard-write"]))
    dialog = details(owner.choose("Sunday"))
    expect(links(dialog)).to_have_count(0)
    link = new_link(dialog)
    expect(dialog.get_by_text("It is shown only now.")).to_be_visible()
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    assert owner.page.evaluate("navigator.clipboard.readText()") == link
    expect(links(dialog)).to_contain_text(["Not used yet, until"])
    [made] = invitations_of(alice, group)
    assert "maxUses" not in made
    week = datetime.fromisoformat(made["expiresAt"]) - datetime.now(UTC)
    assert timedelta(days=6) < week < timedelta(days=8)

    signed_in(carol)
    code = LINK.fullmatch(link)[1]
    asked: list[str] = []
    carol.context.on("request", lambda request: asked.extend([request.url, request.headers.get("referer", "")]))
    said: list[str] = []
    carol.context.on("console", lambda message: said.append(message.text))
    tab = comes(carol, code)
    offer = invitation(tab.page)
    expect(offer.get_by_role("heading", name="Sunday")).to_be_visible()
    expect(offer.get_by_text("2 members")).to_be_visible()
    assert "#" not in tab.page.url
    offer.get_by_role("button", name="Join").click()
    expect(tab.page.get_by_role("heading", name="Sunday", level=2)).to_be_visible()
    expect(offer).to_have_count(0)
    tab.send("here I am")
    bob.finds(group, ["here I am"])
    # The code went to the one call that is about it, and is nowhere now.
    assert [url for url in asked if code in url and not url.endswith(f"/v1/invitations/{code}")] == []
    assert code not in kept_in(tab.page) and code not in kept_in(owner.page) and code not in "".join(said)

    expect(links(dialog)).to_contain_text(["Used by 1 person, until"])
    dialog.get_by_role("button", name="Close").click()
    dialog = details(owner)
    expect(links(dialog)).to_have_count(1)
    expect(dialog.get_by_role("textbox", name="New invitation link")).to_have_count(0)


def test_a_link_is_for_as_many_and_as_long_as_its_maker_chooses(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    tab = alice.open().choose("Sunday")
    dialog = details(tab)
    dialog.get_by_label("How many can join").select_option("1 person")
    dialog.get_by_label("Works for").select_option("A day")
    once = LINK.fullmatch(new_link(dialog))[1]
    dialog.get_by_label("How many can join").select_option("10 people")
    dialog.get_by_label("Works for").select_option("For ever")
    dialog.get_by_role("button", name="Create link").click()
    expect(links(dialog)).to_contain_text(["Used by 0 of 1 person, until", "Used by 0 of 10 people"])
    first, second = invitations_of(alice, group)
    assert (first["maxUses"], second["maxUses"], "expiresAt" in second) == (1, 10, False)
    assert datetime.fromisoformat(first["expiresAt"]) - datetime.now(UTC) < timedelta(days=2)
    bob.call("POST", f"/v1/invitations/{once}")
    expect(links(dialog)).to_contain_text(["Used by 0 of 10 people"])
    expect(links(dialog)).to_have_count(1)


def test_who_may_add_nobody_has_no_links_and_members_have_their_own(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday", bob, carol)
    code_of(bob, group)
    code_of(carol, group, maxUses=3)
    tab, owner = bob.open().choose("Sunday"), alice.open().choose("Sunday")
    his, dialog = details(tab), details(owner)
    expect(links(his)).to_have_count(1)
    expect(links(his)).to_contain_text([f"{bob.name} (you)"])
    expect(links(dialog)).to_contain_text([bob.name, carol.name])
    alice.call("PUT", f"/v1/conversations/{group}/permissions", {"addMembers": "admins"})
    expect(his.get_by_role("button", name="Create link")).to_be_hidden()
    expect(links(his)).to_have_count(0)
    # A direct conversation has none.
    alice.direct(bob)
    dialog.get_by_role("button", name="Close").click()
    expect(details(owner.choose(bob.name)).get_by_role("button", name="Create link")).to_be_hidden()


def test_a_link_is_revoked_and_says_so_to_who_opens_it(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    owner = alice.open().choose("Sunday")
    dialog = details(owner)
    code = LINK.fullmatch(new_link(dialog))[1]
    signed_in(bob)
    page = comes(bob, code).page
    join = invitation(page).get_by_role("button", name="Join")
    expect(join).to_be_visible()
    links(dialog).get_by_role("button", name=re.compile("^Revoke the link of ")).click()
    asks = owner.page.get_by_role("dialog", name="Revoke this link?")
    asks.get_by_role("button", name="Cancel").click()
    assert len(invitations_of(alice, group)) == 1
    links(dialog).get_by_role("button", name=re.compile("^Revoke the link of ")).click()
    asks.get_by_role("button", name="Revoke", exact=True).click()
    expect(links(dialog)).to_have_count(0)
    # What opens nothing any more is not there to be passed on.
    expect(dialog.get_by_role("textbox", name="New invitation link")).to_have_count(0)
    assert invitations_of(alice, group) == []
    # Who was about to join, and who comes only now.
    join.click()
    for offer in (invitation(page), invitation(comes(bob, code).page), invitation(comes(bob, "no code").page)):
        expect(offer.get_by_role("alert")).to_have_text(GONE)
        expect(offer.get_by_role("button", name="Join")).to_be_hidden()
        expect(offer.get_by_role("button", name="Try again")).to_be_hidden()
        offer.get_by_role("button", name="OK").click()
        expect(offer).to_have_count(0)


def test_a_member_who_opens_a_link_gets_the_conversation(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday", bob)
    alice.say(group, "welcome")
    bob.say(bob.group("Another one"), "the latest")
    code = code_of(alice, group, maxUses=1)
    signed_in(bob)
    tab = comes(bob, code)
    tab.shows("welcome")
    expect(tab.page.get_by_role("dialog")).to_have_count(0)
    assert [made["uses"] for made in invitations_of(alice, group)] == [0]
    assert "invite" not in kept_in(tab.page)
    # Whatever has become of it; also where the page is open already.
    tab.choose("Another one")
    bob.call("POST", f"/v1/invitations/{code}")
    [made] = invitations_of(alice, group)
    alice.call("DELETE", f"/v1/conversations/{group}/invitations/{made['id']}")
    tab.page.goto(f"{bob.url}#invite={code}")
    tab.shows("welcome")


def test_an_invitation_waits_until_it_is_decided_on(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    code = code_of(alice, group)
    signed_in(bob)
    tab = comes(bob, code)
    offer = invitation(tab.page)
    expect(offer.get_by_text("1 member", exact=True)).to_be_visible()
    tab.page.reload()
    expect(offer.get_by_text("1 member", exact=True)).to_be_visible()
    # Another click on the link changes nothing.
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url) if "/v1/invitations/" in request.url else None)
    tab.page.goto(f"{bob.url}#invite={code}")
    expect(tab.page).to_have_url(bob.url)
    offer.get_by_role("button", name="Not now").click()
    expect(offer).to_have_count(0)
    tab.page.wait_for_function("() => !history.state?.invite")
    assert asked == []
    with pytest.raises(HTTPError, match="404"):
        bob.call("GET", f"/v1/conversations/{group}")


def test_who_is_not_signed_in_signs_in_first(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    code = code_of(alice, group)
    bob._context = bob.browser.new_context()
    tab = comes(bob, code)
    expect(tab.page.get_by_text("Then open the invitation again.")).to_be_visible()
    assert code not in tab.page.url
    # In the same tab it is not even necessary.
    tab.page.goto(f"{bob.url}#token={bob.token}")
    invitation(tab.page).get_by_role("button", name="Join").click()
    expect(tab.page.get_by_role("heading", name="Sunday", level=2)).to_be_visible()
    # An application may give both at once.
    other = alice.group("Monday")
    tab = bob.tab(f"#token={bob.token}&invite={code_of(alice, other)}")
    invitation(tab.page).get_by_role("button", name="Join").click()
    expect(tab.page.get_by_role("heading", name="Monday", level=2)).to_be_visible()
    assert "#" not in tab.page.url


def test_without_a_connection_it_waits_and_says_why(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    tab = signed_in(bob)
    bob.context.set_offline(True)
    tab.page.goto(f"{bob.url}#invite={code_of(alice, group)}")
    expect(tab.page.get_by_text("No connection.")).to_be_visible()
    expect(invitation(tab.page)).to_have_count(0)
    bob.context.set_offline(False)
    offer = invitation(tab.page)
    expect(offer.get_by_role("heading", name="Sunday")).to_be_visible()
    bob.context.set_offline(True)
    offer.get_by_role("button", name="Join").click()
    expect(offer.get_by_role("alert")).to_have_text("The server cannot be reached.")
    bob.context.set_offline(False)
    offer.get_by_role("button", name="Join").click()
    expect(tab.page.get_by_role("heading", name="Sunday", level=2)).to_be_visible()


def test_what_could_not_be_looked_up_is_tried_again(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Sunday")
    signed_in(bob)
    bob.context.route("**/v1/invitations/*", lambda route: route.abort())
    offer = invitation(comes(bob, code_of(alice, group)).page)
    expect(offer.get_by_role("alert")).to_have_text("The server cannot be reached.")
    bob.context.unroute("**/v1/invitations/*")
    offer.get_by_role("button", name="Try again").click()
    expect(offer.get_by_role("heading", name="Sunday")).to_be_visible()
    expect(offer.get_by_role("alert")).to_be_hidden()
    expect(offer.get_by_role("button", name="Join")).to_be_visible()


def test_what_the_server_refuses_to_make_has_its_reason(people):
    [alice] = people("alice")
    group = alice.group("Sunday")
    dialog = details(alice.open().choose("Sunday"))
    limit = alice.call("GET", "/v1/limits")["invitationsPerConversation"]
    for _ in range(limit):
        patiently(lambda: code_of(alice, group))
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("alert")).to_contain_text("invitations")
    expect(dialog.get_by_role("textbox", name="New invitation link")).to_have_count(0)
    [first, *_] = invitations_of(alice, group)
    alice.call("DELETE", f"/v1/conversations/{group}/invitations/{first['id']}")
    new_link(dialog)
    expect(dialog.get_by_role("alert")).to_be_hidden()
    expect(links(dialog)).to_have_count(limit)


def patiently(call):
    """A user's calls have a rate."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except HTTPError as refused:
            assert refused.code == 429 and time.monotonic() < deadline, refused.read()
            time.sleep(0.1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_invitations(people, scheme):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday", bob)
    code_of(bob, group)
    owner = alice.open(color_scheme=scheme).choose("Sunday")
    dialog = details(owner)
    link = new_link(dialog)
    expect(links(dialog)).to_have_count(2)
    found = violations(owner.page)
    signed_in(carol, color_scheme=scheme)
    tab = comes(carol, LINK.fullmatch(link)[1])
    expect(invitation(tab.page).get_by_role("button", name="Join")).to_be_visible()
    found += violations(tab.page)
    tab = comes(carol, "no code")
    expect(invitation(tab.page).get_by_role("alert")).to_have_text(GONE)
    assert found + violations(tab.page) == []
