"""One message is followed through all services by the id in its `traceparent`."""

import secrets

from client import new_id
from system import EXECUTABLES


def traceparent(*, sampled: bool = True) -> dict[str, str]:
    return {"traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-0{int(sampled)}"}


async def test_parley_trace_prints_the_journey_of_a_message(system, people):
    alice, bob = people(system, 2)
    conversation = await alice.create_group(bob)
    session = await bob.connect()
    header, id = traceparent(), new_id()
    text = f"secret {new_id()}"
    path = f"/v1/conversations/{conversation}/messages"
    answer = await alice.request("POST", path, {"id": id, "text": text}, headers=header)
    assert answer.status == 201
    await session.reach(conversation, answer.body["seq"])

    printed = system.run(EXECUTABLES / "parley", "trace", id)
    assert printed.returncode == 0, printed.stdout
    lines = [line.split() for line in printed.stdout.splitlines()]
    steps = [(line[2].rsplit("-")[0], line[3]) for line in lines]
    assert steps[:2] == [("ingest", "received"), ("store", "committed")]
    assert ("ingest", "responded") in steps and steps.count(("fanout", "delivered")) == system.instances
    trace = header["traceparent"].split("-")[1]
    assert all(f"trace {trace}" in line for line in printed.stdout.splitlines())
    assert sum("sessions 1" in line for line in printed.stdout.splitlines()) == 1
    assert text not in "".join(log.read_text() for log in (system.state / "logs").glob("*.log"))


async def test_what_is_not_sampled_leaves_no_trace(single, people):
    [alice] = people(single, 1)
    conversation = await alice.create_group()
    for header in (traceparent(sampled=False), {"traceparent": "00-none"}, {}):
        id = new_id()
        path = f"/v1/conversations/{conversation}/messages"
        answer = await alice.request("POST", path, {"id": id, "text": "quiet"}, headers=header)
        assert answer.status == 201
        printed = single.run(EXECUTABLES / "parley", "trace", id)
        assert printed.returncode == 1 and "only sampled requests" in printed.stdout
