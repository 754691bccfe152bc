"""Two stores that both believe they own every slot, and two receipt services: owning is for speed, never for truth."""

import asyncio

import aiohttp
import pytest
from client import eventually
from crowd import until
from faults.checker import check
from faults.database import Database
from faults.load import Load
from faults.machine import Machine
from system import System

NO_LOCKS = """
CREATE SCHEMA shadow;
CREATE FUNCTION shadow.pg_try_advisory_lock(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION shadow.pg_advisory_lock(int, int) RETURNS void LANGUAGE sql AS 'SELECT';
GRANT USAGE ON SCHEMA shadow TO parley;
ALTER ROLE parley SET search_path = shadow, pg_catalog, public;
"""
"""Sessions take every lock that they try, and nobody sees who else is there."""
OWNED = "parley_{}_slots 256"


@pytest.fixture
def split():
    database = Database()
    system = System(instances=2, database=database.url)
    try:
        system.up()
        database.server.sql(NO_LOCKS)
        yield system, database
    finally:
        system.remove()
        database.remove()


async def test_two_owners_of_every_slot_neither_lose_nor_double_nor_lock_each_other_up(split):
    system, database = split
    machine = Machine(system)
    for service in ("store", "receipt"):
        for number in (0, 1):
            await machine.terminate(service, number)
            await machine.start(service, number)
    await eventually(lambda: everybody_owns_everything(system), within=30)

    load = Load(system, 7, conversations=8, users=6, pace_seconds=0.05)
    await load.begin()
    try:
        await asyncio.sleep(3)
        await until(lambda: len(load.writes) > 100, within=60)
        endings = await load.end()
        findings = load.findings + check(load.writes, [device.seen for device in load.devices], endings)
    finally:
        await load.close()
    assert findings == []
    assert "deadlock" not in (database.server.directory / "log").read_text()


async def everybody_owns_everything(system) -> bool:
    async with aiohttp.ClientSession() as http:
        for service in ("store", "receipt"):
            for number in (0, 1):
                async with http.get(system.address(service, number) + "/metrics") as answer:
                    if OWNED.format(service) not in (await answer.text()).splitlines():
                        return False
    return True
