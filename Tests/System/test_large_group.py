"""A group of 100,000: who comes and goes, what is sent and who has read it."""

import pytest
from client import new_id
from system import System

MOST = 100_000


class Large(System):
    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"PARLEY_MEMBERS_PER_CONVERSATION": str(MOST)}

    def fill(self, conversation: str, count: int):
        """As the services would have left it: so many members have been there from the beginning, and never read."""
        self.sql(f"""
            INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
            SELECT c.slot, c.id, 'crowd-' || lpad(n::text, 6, '0'), 1, 1
            FROM store.conversations c, generate_series(1, {count}) n WHERE c.id = '{conversation}';
            UPDATE store.conversations SET member_count = member_count + {count} WHERE id = '{conversation}';
            ANALYZE store.memberships;
        """)


@pytest.fixture(scope="module")
def large():
    system = Large()
    try:
        system.up()
        yield system
    finally:
        system.remove()


async def test_a_group_of_a_hundred_thousand(large, people):
    alice, bob, carol, dora, erin = people(large, 5)
    group = await alice.create_group(bob, title="Everybody")
    members = f"/v1/conversations/{group}/members"
    large.fill(group, MOST - 4)
    answer = await alice.request("PUT", f"{members}/{bob.name}", {"role": "admin"})
    assert answer.status == 200, answer

    # The last ones come, and then it is full.
    answer = await alice.request("POST", f"/v1/conversations/{group}/invitations", {"id": new_id()})
    link = f"/v1/invitations/{answer.body['code']}"
    joined = await carol.request("POST", link)
    assert (joined.status, joined.body["memberCount"]) == (200, MOST - 1)
    assert (await bob.request("PUT", f"{members}/{dora.name}")).status == 200
    assert (await erin.request("POST", link)).status == 413
    assert (await alice.request("PUT", f"{members}/{erin.name}")).status == 413
    assert (await dora.conversation(group))["memberCount"] == MOST

    # A message reaches who is online, and its sender learns how many have read it, by counts.
    sessions = {user: await user.connect() for user in (alice, bob, carol)}
    sent = await bob.sent(group, "hello, all of you")
    for session in sessions.values():
        await session.reach(group, sent["seq"])
    await sessions[carol].say("read", conversationId=group, seq=sent["seq"])
    seen = {"seq": sent["seq"], "deliveredCount": 1, "readCount": 1}
    await sessions[bob].next("status", where=lambda frame: seen in frame.get("counts", []))
    receipts = await bob.get(f"/v1/conversations/{group}/messages/{sent['id']}/receipts")
    assert (receipts["recipientCount"], receipts["readCount"]) == (MOST - 1, 1)
    assert not [frame for session in sessions.values() for frame in session.of("presence")]

    # The members by name, page by page.
    first = (await carol.get(members, limit=1000))["members"]
    names = [member["userId"] for member in first]
    assert names == [f"crowd-{number:06}" for number in range(1, 1001)]
    last = (await carol.get(members, limit=1000, after=f"crowd-{MOST - 4:06}"))["members"]
    assert {member["userId"]: member["role"] for member in last} == {
        alice.name: "owner", bob.name: "admin", carol.name: "member", dora.name: "member"
    }  # fmt: skip

    # Whoever leaves makes room. An admin follows the last owner, and then who has been there for longest.
    assert (await dora.request("DELETE", f"{members}/{dora.name}")).status == 204
    assert (await erin.request("POST", link)).status == 200
    for leaver, successor in ((alice, bob.name), (bob, "crowd-000001")):
        assert (await leaver.request("DELETE", f"{members}/{leaver.name}")).status == 204
        change = await sessions[carol].until(
            lambda successor=successor: next(
                (
                    change
                    for change in sessions[carol].changes(group)
                    if change["kind"] == "member.changed" and change["userId"] == successor
                ),
                None,
            )
        )
        assert change["role"] == "owner"
    assert (await carol.conversation(group))["memberCount"] == MOST - 2
