"""A history that is exported while processes die: it is the same, or its end is missing."""

import aiohttp
import pytest
from client import PATIENCE, new_id, token
from test_import import Importer, history

pytestmark = pytest.mark.kills


@pytest.mark.parametrize("victim", [("store", 0), ("store", 1), ("ingest", 1)])
async def test_an_export_goes_on_or_shows_that_it_did_not_when_a_process_is_killed(double, people, victim):
    alice, bob = people(double, 2)
    conversations = [new_id() for _ in range(8)]
    records = history(conversations, [alice.name, bob.name], 150)
    for record in records:
        if record["type"] == "message":
            record["text"] += "." * 16_000  # More than buffers between a process and a client hold.
    headers = {"Authorization": f"Bearer {token('backend', adm=True)}"}
    timeout = aiohttp.ClientTimeout(total=2 * PATIENCE)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as http:
        await Importer(double, http).bring(records, lambda: None)
        url = f"/v1/export/users/{bob.name}"  # Who has received and read, too.
        async with http.get(double.address("ingest", 0) + url) as response:
            expected = await response.read()
        assert expected.count(b"\n") == len(records)
        async with http.get(double.address("ingest", 1) + url) as response:
            told = await response.content.readline()
            double.kill(*victim)
            if victim[0] == "ingest":
                with pytest.raises(aiohttp.ClientPayloadError):
                    await response.read()
            else:
                assert told + await response.read() == expected
