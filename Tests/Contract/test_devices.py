"""Which devices a user has, and how one or all others are ended."""

import time
from contextlib import contextmanager

import pytest

from people import Person, new_id, open_socket
from test_receipts import eventually
from tokens import sign


class Device:
    """A device of a user, whose token was issued a minute ago."""

    def __init__(self, system, user: str, name: str | None):
        self.system, self.user, self.name = system, user, name
        self.token = self.new_token(60)

    def new_token(self, age: float) -> str:
        named = {} if self.name is None else {"dev": self.name}
        return sign(self.system.secret, sub=self.user, iat=int(time.time() - age), **named)

    def call(self, method: str, path: str, token: str | None = None):
        with self.system.http() as http:
            return http.request(method, path, headers={"Authorization": f"Bearer {token or self.token}"})

    @property
    def status(self) -> int:
        return self.call("GET", "/v1/settings").status_code

    @contextmanager
    def session(self):
        with open_socket(self.system) as socket:
            socket.send(type="hello", token=self.token)
            socket.expect("welcome")
            yield socket

    def begin_session(self):
        with self.session():
            pass

    def devices(self) -> list[dict]:
        return self.call("GET", "/v1/devices").json()["devices"]


@pytest.fixture
def backend(new_person):
    return new_person("backend", adm=True)


@pytest.fixture
def phone(system):
    return Device(system, f"owner-{new_id()[-8:]}", "phone")


@pytest.fixture
def others(system, phone):
    """A tablet, and something whose tokens name no device."""
    return Device(system, phone.user, "tablet 2/ä"), Device(system, phone.user, None)


def names(devices: list[dict]) -> list[str]:
    return [device["deviceId"] for device in devices]


def test_devices_are_listed_that_began_a_session(phone, others):
    tablet, nameless = others
    assert phone.devices() == []
    for device in (tablet, nameless, phone):
        device.begin_session()
    eventually(lambda: len(phone.devices()) == 2)
    listed = {device["deviceId"]: device for device in phone.devices()}
    assert set(listed) == {"phone", "tablet 2/ä"}
    assert (listed["phone"]["current"], listed["tablet 2/ä"]["current"]) == (True, False)
    assert all(device["firstSeen"] <= device["lastSeen"] for device in listed.values())
    assert [device["current"] for device in nameless.devices()] == [False, False]


def test_one_is_ended_and_the_others_go_on(phone, others):
    tablet, nameless = others
    with tablet.session() as ended, phone.session() as going_on, nameless.session() as too:
        eventually(lambda: len(phone.devices()) == 2)
        for _ in range(2):
            answer = phone.call("DELETE", "/v1/devices/tablet%202%2F%C3%A4")
            assert (answer.status_code, answer.content) == (204, b"")
        assert (tablet.status, phone.status, nameless.status) == (401, 200, 200)
        ended.expect_close(4401, "unauthenticated")
        for socket in (going_on, too):
            socket.send(type="ping", id="after")
            socket.expect("pong")
    assert names(phone.devices()) == ["phone"]
    assert tablet.call("GET", "/v1/settings", tablet.new_token(-2)).status_code == 200, "signed in again"
    assert phone.call("DELETE", "/v1/devices/phone").status_code == 204, "one's own, too"
    assert phone.status == 401


def test_all_others_are_ended_in_turn(system, phone, others):
    tablet, nameless = others
    stranger = Device(system, f"stranger-{new_id()[-8:]}", "tablet 2/ä")
    with tablet.session() as first, nameless.session() as second, phone.session() as own:
        eventually(lambda: len(phone.devices()) == 2)
        assert phone.call("DELETE", "/v1/devices").status_code == 204
        assert (phone.status, tablet.status, nameless.status, stranger.status) == (200, 401, 401, 200)
        first.expect_close(4401, "unauthenticated")
        second.expect_close(4401, "unauthenticated")
        own.send(type="ping", id="after")
        own.expect("pong")
    assert names(phone.devices()) == ["phone"]
    tablet.token = tablet.new_token(-2)
    assert tablet.status == 200
    assert tablet.call("DELETE", "/v1/devices").status_code == 204
    assert (phone.status, tablet.status) == (401, 200)
    # What was ended first stays so, although its device is now the one that is spared.
    assert tablet.call("GET", "/v1/settings", tablet.new_token(60)).status_code == 401


def test_another_process_learns_of_it(system, phone, others):
    tablet, _ = others
    assert phone.call("DELETE", "/v1/devices").status_code == 204
    with system.sibling("ingest") as port, system.http(port) as http:
        for device, expected in ((tablet, 401), (phone, 200)):
            headers = {"Authorization": f"Bearer {device.token}"}
            assert http.get("/v1/settings", headers=headers).status_code == expected


def test_who_is_no_device_spares_none(system, phone, backend):
    nameless = Device(system, phone.user, None)
    answer = nameless.call("DELETE", "/v1/devices")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "dev" in answer.json()["detail"]
    acting = {"X-Parley-User": phone.user}
    assert backend.http.delete("/v1/devices", headers=acting).status_code == 409
    assert phone.status == 200
    assert backend.http.delete("/v1/devices/phone", headers=acting).status_code == 204
    assert (phone.status, nameless.status) == (401, 200)


@pytest.mark.parametrize("name", ["x" * 129, "%00", "%0A", "%ff", "%"])
def test_what_is_no_name_is_refused_by_name(phone, name):
    answer = phone.call("DELETE", f"/v1/devices/{name}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "deviceId" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["x" * 129, "a\tb", ""])
def test_a_device_of_such_a_name_has_sessions_and_is_not_listed(system, phone, name):
    odd = Device(system, phone.user, name)
    odd.begin_session()
    phone.begin_session()
    eventually(lambda: phone.devices())
    assert names(phone.devices()) == ["phone"]
    assert phone.call("DELETE", "/v1/devices").status_code == 204
    assert odd.status == 401


def test_the_devices_of_who_is_erased_go(system, phone, backend):
    phone.begin_session()
    eventually(lambda: phone.devices())
    assert backend.http.delete(f"/v1/users/{phone.user}").status_code in (200, 202)
    assert phone.call("GET", "/v1/devices").status_code == 401
    assert Person(system, phone.user, dev="phone").get("/v1/devices").status_code == 401
