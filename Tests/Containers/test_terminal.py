"""`parley chat` as the image has it: its terminals, its characters, and the volume where its copies are."""

import pytest
from project import Project
from terminals import Terminal


@pytest.fixture
def chat(project: Project):
    """Opens terminals, which end with the test: `alice = chat("alice")`."""
    opened = []

    def open_terminal(user: str) -> Terminal:
        command = project.composing("--profile", "tools", "run", "--rm", "parley", "chat", "--user", user)
        opened.append(Terminal(command, project.environment))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


def test_two_people_write_to_each_other_and_the_copy_is_kept(chat):
    alice, bob = chat("alice"), chat("bob")
    for terminal in (alice, bob):
        terminal.wait("online")
    alice.press("new")
    alice.type("bob")
    alice.press("enter")
    alice.wait("Enter send")
    alice.say("Grüße 日本 🎉")
    alice.wait("Delivered")
    bob.wait("1 unread", "alice")
    bob.press("enter")
    bob.wait("Grüße", "日")
    alice.wait("Read")
    assert alice.leave() == 0
    again = chat("alice")
    again.wait("online", "Grüße")
    assert again.leave() == 0
    assert bob.leave() == 0
