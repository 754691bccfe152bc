"""Links by which others ask to join: who makes them, who lets in or declines, and what whoever asks sees of it."""

import pytest
from people import Person
from playwright.sync_api import Locator, expect
from test_access import violations
from test_invitations import LINK, code_of, comes, details, invitation, invitations_of, links, new_link, signed_in


def waiting(person: Person, group: str) -> list[str]:
    requests = person.call("GET", f"/v1/conversations/{group}/join-requests")["requests"]
    return [request["userId"] for request in requests]


def asking(dialog: Locator) -> Locator:
    return dialog.get_by_role("list", name="People who ask to join").get_by_role("listitem")


def test_who_has_the_link_asks_and_is_let_in(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday", bob)
    owner = alice.open().choose("Sunday")
    dialog = details(owner)
    dialog.get_by_label("New members need approval").check()
    link = new_link(dialog)
    expect(dialog.get_by_text("Whoever has this link can ask to join.")).to_be_visible()
    expect(links(dialog)).to_contain_text(["with approval"])
    assert [made.get("approval") for made in invitations_of(alice, group)] == [True]
    expect(asking(dialog)).to_have_count(0)

    signed_in(carol)
    tab = comes(carol, LINK.fullmatch(link)[1])
    offer = invitation(tab.page)
    expect(offer.get_by_role("heading", name="Sunday")).to_be_visible()
    offer.get_by_role("button", name="Ask to join").click()
    expect(offer.get_by_role("status")).to_have_text("Waiting for approval")
    offer.get_by_role("button", name="OK").click()
    expect(offer).to_have_count(0)
    # Who made the link sees it at once.
    expect(asking(dialog)).to_contain_text([carol.name])
    dialog.get_by_role("button", name=f"Let in {carol.name}").click()
    expect(asking(dialog)).to_have_count(0)
    tab.choose("Sunday").send("here I am")
    bob.finds(group, ["here I am"])
    assert waiting(alice, group) == []


def test_who_asks_is_declined_or_takes_it_back(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday")
    code = code_of(alice, group, approval=True)
    carol.call("POST", f"/v1/invitations/{code}")
    dialog = details(alice.open().choose("Sunday"))
    expect(asking(dialog)).to_contain_text([f"by the link of {alice.name}"])
    dialog.get_by_role("button", name=f"Decline {carol.name}").click()
    expect(asking(dialog)).to_have_count(0)
    expect(dialog.get_by_role("heading", name="Requests to join")).to_have_count(0)
    assert waiting(alice, group) == []
    signed_in(bob)
    offer = invitation(comes(bob, code).page)
    offer.get_by_role("button", name="Ask to join").click()
    expect(asking(dialog)).to_contain_text([bob.name])
    offer.get_by_role("button", name="Take back").click()
    expect(offer).to_have_count(0)
    assert waiting(alice, group) == []
    # It looks the same to whom it was declined.
    signed_in(carol)
    offer = invitation(comes(carol, code).page)
    offer.get_by_role("button", name="Ask to join").click()
    expect(offer.get_by_role("status")).to_have_text("Waiting for approval")
    assert waiting(alice, group) == []


def test_members_neither_see_who_asks_nor_make_such_links(people):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday", bob)
    carol.call("POST", f"/v1/invitations/{code_of(alice, group, approval=True)}")
    dialog = details(bob.open().choose("Sunday"))
    expect(dialog.get_by_role("button", name="Create link")).to_be_visible()
    expect(dialog.get_by_label("New members need approval")).to_be_hidden()
    alice.call("PUT", f"/v1/conversations/{group}/members/{bob.name}", {"role": "admin"})
    expect(dialog.get_by_label("New members need approval")).to_be_visible()
    expect(asking(dialog)).to_contain_text([carol.name])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_requests_to_join(people, scheme):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("Sunday")
    code = code_of(alice, group, approval=True)
    bob.call("POST", f"/v1/invitations/{code}")
    owner = alice.open(color_scheme=scheme).choose("Sunday")
    expect(asking(details(owner))).to_have_count(1)
    found = violations(owner.page)
    signed_in(carol, color_scheme=scheme)
    tab = comes(carol, code)
    invitation(tab.page).get_by_role("button", name="Ask to join").click()
    expect(invitation(tab.page).get_by_role("status")).to_be_visible()
    assert found + violations(tab.page) == []
