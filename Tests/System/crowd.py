"""Users who send all at once while something goes wrong."""

import asyncio

from client import new_id
from digests import expect_equal_digests


async def gather_crowd(system, people) -> "Crowd":
    """Six users who all send to eight conversations at once, and one of them watching."""
    users = people(system, 6)
    conversations = [await users[0].create_group(*users[1:]) for _ in range(8)]
    return Crowd(users, conversations, await users[0].connect())


class Crowd:
    """Everybody repeats every message until it is acknowledged; in the end each is there exactly once."""

    EACH = 8
    """Messages of each user in each conversation."""

    def __init__(self, users, conversations, session):
        self.users = users
        self.conversations = conversations
        self.session = session
        self.acknowledged: dict[str, dict] = {}

    def begin(self) -> asyncio.Future:
        return asyncio.gather(*map(self._send_all, self.users))

    async def _send_all(self, user):
        for n in range(self.EACH * len(self.conversations)):
            conversation = self.conversations[n % len(self.conversations)]
            answer = await user.send_until_answered(conversation, f"{user.name} {n}", id=(id := new_id()))
            assert answer.status in (200, 201), answer
            self.acknowledged[id] = answer.body

    async def is_under_way(self):
        await until(lambda: len(self.acknowledged) > 60)

    async def expect_everything_once(self):
        """Each message is in the history once, where its acknowledgement said, and came to the session in order; the
        session has the server's digests."""
        last = 1 + self.EACH * len(self.users)
        for conversation in self.conversations:
            await self.session.reach(conversation, last, within=30)
            assert self.session.positions(conversation) == list(range(2, last + 1))
            history = {message["id"]: message for message in await self.users[1].history(conversation, instance=0)}
            assert [message["seq"] for message in history.values()] == list(range(2, last + 1))
            assert {id: (message["seq"], message["text"]) for id, message in history.items()} == {
                id: (message["seq"], message["text"])
                for id, message in self.acknowledged.items()
                if message["conversationId"] == conversation
            }
            await expect_equal_digests(self.users[0], conversation, self.session)


async def until(condition, *, within: float = 30):
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)
