"""Roles and permissions of a group: what each of its people may do is offered, and nothing else."""

import re

import pytest
from people import Person, Tab
from playwright.sync_api import Locator, expect
from test_access import violations

ADMINS_WRITE = {"write": "admins"}


def permit(owner: Person, group: str, permissions: dict[str, str]):
    owner.call("PUT", f"/v1/conversations/{group}/permissions", permissions)


def give_role(owner: Person, group: str, user: Person, role: str):
    owner.call("PUT", f"/v1/conversations/{group}/members/{user.name}", {"role": role})


def details(tab: Tab) -> Locator:
    tab.button("Details of this conversation").click()
    return tab.page.get_by_role("dialog", name="Details")


def person(dialog: Locator, user: Person) -> Locator:
    return dialog.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text=user.name)


def confirm_removal(tab: Tab):
    # The dialog that asks is in front of the details.
    asks = tab.page.get_by_role("dialog", name=re.compile("^Remove .+\\?$"))
    asks.get_by_role("button", name="Remove", exact=True).click()


def test_where_only_admins_write_the_composer_says_so_and_keeps_what_was_written(people):
    alice, bob = people("alice", "bob")
    group = alice.group("News", bob)
    alice.say(group, "welcome")
    mine = bob.say(group, "thanks")["id"]
    tab = bob.open().choose("News")
    tab.shows("thanks")
    tab.field.fill("half a")
    permit(alice, group, ADMINS_WRITE)
    refusal = tab.page.get_by_text("Only admins can write here.")
    expect(refusal).to_be_visible()
    expect(tab.field).to_be_hidden()
    # Reading, reacting and deleting what is one's own go on.
    tab.menu("thanks")
    left = ["Forward…", "Copy", "Read by…", "Delete for me", "Delete for everyone"]
    expect(tab.page.get_by_role("menuitem")).to_have_text(left)
    tab.page.keyboard.press("Escape")
    tab.tap("welcome", "love")
    expect(tab.message("welcome").get_by_role("button", name=re.compile("^Tapbacks"))).to_be_visible()
    # A page that is opened only now says the same.
    other = bob.tab().choose("News")
    expect(other.page.get_by_text("Only admins can write here.")).to_be_visible()
    give_role(alice, group, bob, "admin")
    for each in (tab, other):
        expect(each.field).to_be_visible()
        expect(each.field).to_have_value("half a")
    tab.page.keyboard.press("Escape")
    tab.field.fill("at last")
    tab.field.press("Enter")
    alice.finds(group, ["welcome", "thanks", "at last"])
    permit(alice, group, {"write": "owners"})
    expect(tab.page.get_by_text("Only owners can write here.")).to_be_visible()
    bob.call("DELETE", f"/v1/conversations/{group}/messages/{mine}?scope=everyone")
    expect(tab.message("thanks")).to_have_count(0)


def test_what_was_written_without_a_connection_while_one_might_is_not_lost(people):
    alice, bob = people("alice", "bob")
    group = alice.group("News", bob)
    alice.say(group, "welcome")
    tab = bob.open().choose("News")
    tab.shows("welcome")
    bob.context.set_offline(True)
    tab.send("written in a tunnel")
    permit(alice, group, ADMINS_WRITE)
    bob.context.set_offline(False)
    expect(tab.page.get_by_text("Only admins can write here.")).to_be_visible()
    failed = tab.message("written in a tunnel")
    expect(failed.get_by_text("Not sent:")).to_be_visible()
    # There is nowhere to edit it.
    expect(failed.get_by_role("button", name="Edit")).to_be_hidden()
    permit(alice, group, {"write": "members"})
    expect(tab.field).to_be_visible()
    failed.get_by_role("button", name="Retry").click()
    alice.finds(group, ["welcome", "written in a tunnel"])


def test_an_owner_makes_an_admin_who_removes_and_allows_back(people):
    alice, bob, carol, dora = people("alice", "bob", "carol", "dora")
    alice.group("Climbing", bob, carol, dora)
    owner = alice.open().choose("Climbing")
    dialog = details(owner)
    expect(person(dialog, alice)).to_contain_text("Owner")
    dialog.get_by_role("button", name=f"Make {bob.name} an admin").click()
    expect(person(dialog, bob)).to_contain_text("Admin")

    tab = bob.open().choose("Climbing")
    his = details(tab)
    expect(person(his, bob)).to_contain_text("Admin")
    expect(his.get_by_role("button", name=re.compile("^Make "))).to_have_count(0)
    expect(his.get_by_role("group", name="Who can")).to_have_count(0)
    expect(his.get_by_role("button", name=f"Remove {alice.name}")).to_have_count(0)
    his.get_by_role("button", name=f"Remove {carol.name}").click()
    confirm_removal(tab)
    expect(person(his, carol)).to_have_count(0)
    # Both see it at once, without opening their details again.
    removed = [each.get_by_role("list", name="Removed people").get_by_role("listitem") for each in (his, dialog)]
    for each in removed:
        expect(each.filter(has_text=carol.name)).to_be_visible()
    his.get_by_role("button", name=f"Allow {carol.name} back").click()
    expect(his.get_by_role("list", name="Removed people")).to_have_count(0)
    # Any member may bring her back now.
    her = dora.open().choose("Climbing")
    hers = details(her)
    expect(hers.get_by_role("textbox", name="Group name")).to_be_visible()
    expect(hers.get_by_role("list", name="Removed people")).to_have_count(0)
    expect(hers.get_by_role("button", name=re.compile("^Remove "))).to_have_count(0)
    hers.get_by_role("textbox", name="Add a person").fill(carol.name)
    hers.get_by_role("button", name="Add", exact=True).click()
    expect(person(his, carol)).to_be_visible()

    dialog.get_by_role("button", name=f"Remove {bob.name} as admin").click()
    expect(person(his, bob)).not_to_contain_text("Admin")
    expect(his.get_by_role("button", name=f"Remove {carol.name}")).to_have_count(0)


def test_an_owner_changes_who_may_do_what(people):
    alice, bob = people("alice", "bob")
    group = alice.group("Climbing", bob)
    owner, tab = alice.open().choose("Climbing"), bob.open().choose("Climbing")
    dialog, his = details(owner), details(tab)
    expect(his.get_by_role("textbox", name="Add a person")).to_be_visible()
    choices = dialog.get_by_role("group", name="Who can")
    for label, value in [("Write messages", "admins"), ("Add people", "owners"), ("Change the name", "owners")]:
        expect(choices.get_by_label(label)).to_have_value("members")
        choices.get_by_label(label).select_option(value)
    expect(his.get_by_role("textbox")).to_have_count(0)
    expect(his.get_by_role("heading", name="Climbing")).to_be_visible()
    wanted = {"write": "admins", "addMembers": "owners", "rename": "owners"}
    assert bob.call("GET", f"/v1/conversations/{group}")["permissions"] == wanted
    his.get_by_role("button", name="Close").click()
    expect(tab.page.get_by_text("Only admins can write here.")).to_be_visible()
    # What somebody else changes shows, too, once the choice is left.
    dialog.get_by_role("button", name="Close").click()
    permit(alice, group, {"rename": "admins"})
    dialog = details(owner)
    expect(dialog.get_by_label("Change the name")).to_have_value("admins")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_groups(people, scheme):
    alice, bob, carol = people("alice", "bob", "carol")
    group = alice.group("News", bob, carol)
    alice.say(group, "welcome")
    give_role(alice, group, bob, "admin")
    permit(alice, group, {"write": "owners"})
    alice.call("DELETE", f"/v1/conversations/{group}/members/{carol.name}")
    tab = alice.open(color_scheme=scheme).choose("News")
    tab.shows("welcome")
    dialog = details(tab)
    expect(dialog.get_by_role("list", name="Removed people")).to_be_visible()
    expect(person(dialog, bob)).to_contain_text("Admin")
    found = violations(tab.page)
    his = bob.open(color_scheme=scheme).choose("News")
    expect(his.page.get_by_text("Only owners can write here.")).to_be_visible()
    assert found + violations(his.page) == []
