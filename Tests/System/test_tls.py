"""`parley` against an address where TLS ends at a proxy, and certificates that are not to be trusted."""

import secrets

import pytest
from client import new_id
from system import EXECUTABLES
from terminals import ChatTerminal
from tls import TLSProxy, certificate


@pytest.fixture
def proxy(single, tmp_path):
    """The system behind a proxy, with the certificate that clients have to be told of."""
    crt, key = certificate(tmp_path)
    opened = TLSProxy(single, crt, key)
    opened.certificate = crt
    yield opened
    opened.close()


@pytest.fixture
def chat(single, tmp_path):
    """Opens `parley chat`, which ends with the test."""
    opened = []

    def open_terminal(user: str, *words) -> ChatTerminal:
        opened.append(ChatTerminal(single, user, tmp_path / user, *map(str, words)))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


def parley(system, command: str, *words):
    done = system.run(EXECUTABLES / "parley", command, *map(str, words))
    return done.returncode, done.stdout


async def test_everything_works_over_tls_with_the_certificate_named(single, proxy, chat, people):
    [alice, bob] = people(single, 2)
    talk = await alice.create_group(bob, title="TLS")
    named = ("--http", proxy.origin, "--ca-file", proxy.certificate)
    terminal = chat(alice.name, talk, *named)
    terminal.wait("online", "Enter send")
    terminal.say("over TLS")
    terminal.wait("over TLS", "Sent")
    await bob.sent(talk, "and back")
    terminal.wait("and back")
    code, said = parley(single, "send", *named, "--user", bob.name, "--conversation", talk, "by hand")
    assert code == 0, said
    terminal.wait("by hand")


@pytest.mark.parametrize(("name", "trusted", "reason"), [
    ("localhost", False, "self-signed certificate"),
    ("elsewhere.example", True, "hostname mismatch"),
])  # fmt: skip
def test_a_certificate_that_is_not_trusted_is_told_of(single, tmp_path, chat, name, trusted, reason):
    crt, key = certificate(tmp_path, name)
    proxy = TLSProxy(single, crt, key)
    named = ("--http", proxy.origin, *(("--ca-file", crt) if trusted else ()))
    try:
        terminal = chat(f"alice-{secrets.token_hex(3)}", *named)
        terminal.wait(f"efused the certificate of localhost: {reason}", absent=("online",))
        terminal.press("?")
        terminal.wait("Keys", f"efused the certificate of localhost: {reason}")
        assert terminal.leave() == 0

        code, said = parley(single, "send", *named, "--user", "alice", "--conversation", new_id(), "lost")
        assert code == 1 and f"efused the certificate of localhost: {reason}" in said
    finally:
        proxy.close()


def test_a_file_without_certificates_is_a_mistake_of_the_command_line(single, tmp_path):
    empty = tmp_path / "empty.crt"
    empty.write_text("")
    code, said = parley(single, "chat", "--user", "alice", "--http", "https://localhost:1", "--ca-file", empty)
    assert code == 2 and f"no certificate in {empty}" in said
