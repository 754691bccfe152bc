"""Every call and every frame, by everybody who might try: authorization.txt is the policy, and this tries it."""

import re
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from websockets.exceptions import ConnectionClosed

from contract import DOCUMENT, METHODS, server_of
from files import TUS, Uploader, picture
from people import Person, new_id, open_socket, soon
from tokens import sign

TABLE = Path(__file__).with_name("authorization.txt")


def read_table() -> tuple[list[str], dict[str, dict[str, str]]]:
    """Who, and for each call or frame what becomes of it by who it is. Columns have two spaces between them."""
    lines = [line for line in TABLE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    who = rows[0][1:]
    assert all(len(row) == len(who) + 1 for row in rows), "a cell for everybody"
    assert len({row[0] for row in rows}) == len(rows), "a line once"
    return who, {row[0]: dict(zip(who, row[1:])) for row in rows[1:]}


WHO, POLICY = read_table()
CALLS = [name for name in POLICY if name.split()[0].isupper()]
FRAMES = [name for name in POLICY if name not in CALLS]


def test_every_call_and_every_frame_of_the_document_has_its_line():
    documented = {
        f"{method.upper()} {path}" for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item
    }
    assert {" ".join(name.split()[:2]) for name in CALLS} == documented
    assert {name.split()[0] for name in FRAMES} == set(DOCUMENT["x-parley-websocket"]["clientFrames"])


pytestmark = pytest.mark.usefixtures("asking")


@contextmanager
def casting(system):
    """Everybody in the table who has a token of their own, and `bystander`, a member to whom things are done."""
    names = (
        "stranger",
        "former",
        "requested",
        "returned",
        "member",
        "sender",
        "owner",
        "deputy",
        "banned",
        "bystander",
    )
    now = int(time.time())
    cast = {name: Person(system, f"{name}-{new_id()[-8:]}", iat=now) for name in names}
    cast["admin"] = Person(system, f"backend-{new_id()[-8:]}", adm=True, iat=now)
    revoked = datetime.fromtimestamp(now - 60, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for person in cast.values():
        assert cast["admin"].post(f"/v1/users/{person.name}/revoke", {"before": revoked}).status_code == 204
    # They know the owner, who is therefore not asked for any of them.
    for name in ("former", "returned", "member", "sender", "deputy", "banned", "bystander"):
        opened = cast[name].post("/v1/conversations", {"kind": "direct", "members": [cast["owner"].name]})
        assert opened.status_code == 201, opened.text
    assert cast["bystander"].http.put("/v1/profile", json={"displayName": "Bystander"}).status_code == 200
    yield SimpleNamespace(**cast)
    for person in cast.values():
        person.http.close()


@pytest.fixture(scope="module")
def callers(system):
    with casting(system) as cast:
        yield cast


@pytest.fixture(scope="module")
def listeners(system):
    """Others, who are in so few conversations that each `welcome` is judged quickly."""
    with casting(system) as cast:
        yield cast


class Scene:
    """A conversation with a message in it, made anew when something was done to the one before."""

    def __init__(self, cast, with_file=False):
        self.cast = cast
        self.with_file = with_file
        self.renew()

    def renew(self):
        cast = self.cast
        for waiting in cast.requested.get("/v1/requests").json()["requests"]:
            # Of one stranger only so many may wait.
            accept = f"/v1/conversations/{waiting['conversation']['id']}/acceptance"
            assert cast.requested.http.put(accept).status_code == 204
        others = (cast.member, cast.sender, cast.former, cast.requested, cast.returned, cast.bystander)
        others += (cast.deputy, cast.banned)
        self.conversation = cast.owner.group(*others)
        self.invitation = self.report = None
        attached = {}
        if self.with_file:
            with Uploader(cast.sender) as uploader:
                self.upload, self.file = uploader.create(3), uploader.upload(picture())
            attached = {"attachments": [{"id": self.file}]}
        self.message = cast.sender.send(self.conversation, "Hello", **attached)
        members = f"/v1/conversations/{self.conversation}/members"
        for actor, person in ((cast.former, cast.former), (cast.owner, cast.returned), (cast.owner, cast.banned)):
            assert actor.http.delete(f"{members}/{person.name}").status_code == 204
        assert cast.owner.http.put(f"{members}/{cast.deputy.name}", json={"role": "admin"}).status_code == 200
        assert cast.owner.http.put(f"{members}/{cast.returned.name}").status_code == 200

    def invited(self) -> dict:
        """An invitation of the bystander's, with its code."""
        if self.invitation is None:
            made = self.cast.bystander.post(f"/v1/conversations/{self.conversation}/invitations", {"id": new_id()})
            assert made.status_code == 201, made.text
            self.invitation = made.json()
        return self.invitation

    def reported(self) -> str:
        """The id of a report of the message by the bystander."""
        if self.report is None:
            self.report = new_id()
            made = self.cast.bystander.post("/v1/reports", self.report_of_message(self.report))
            assert made.status_code == 201, made.text
        return self.report

    def report_of_message(self, id: str) -> dict:
        return {"id": id, "conversationId": self.conversation, "messageId": self.message["id"], "reason": "spam"}

    def headers(self, who: str) -> dict[str, str]:
        owner, admin, secret = self.cast.owner.name, self.cast.admin, self.cast.owner.system.secret
        bearer = {
            "none": None,
            "forged": sign(b"x" * 32, sub=owner),
            "expired": sign(secret, sub=owner, exp=int(time.time()) - 3600),
            "revoked": sign(secret, sub=owner, iat=int(time.time()) - 1800),
            "posing": self.cast.stranger.token,
            "acting": admin.token,
        }
        token = bearer[who] if who in bearer else getattr(self.cast, who).token
        posing = {"posing": {"X-Parley-User": owner}, "acting": {"X-Parley-User": self.cast.member.name}}
        return ({"Authorization": f"Bearer {token}"} if token else {}) | posing.get(who, {})

    def name(self, who: str) -> str:
        """Of the user for whom the request is, if it is anybody's."""
        if who in ("none", "forged", "expired", "revoked", "posing"):
            return self.cast.owner.name
        return getattr(self.cast, "member" if who == "acting" else who).name


def request(name: str, scene: Scene, who: str) -> tuple[str, str, dict]:
    """The method, the path and what else belongs to a call of the table."""
    method, path, *variant = name.split(maxsplit=2)
    variant = variant[0].strip("()") if variant else ""
    user, options = {
        "PUT members a newcomer": (f"new-{new_id()[-8:]}", {}),
        "PUT members a newcomer, as an owner": (f"new-{new_id()[-8:]}", {"json": {"role": "owner"}}),
        "PUT members another member, as an owner": (scene.cast.bystander.name, {"json": {"role": "owner"}}),
        "PUT members somebody banned": (scene.cast.banned.name, {}),
        "DELETE members another member": (scene.cast.bystander.name, {}),
        "DELETE members an owner": (scene.cast.owner.name, {}),
    }.get(f"{method} members {variant}", (f"nobody-{new_id()}", {}))
    if variant == "oneself":
        user = scene.name(who)
    send = {"id": new_id(), "text": "Hello"}
    upload = TUS | {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
    options |= {
        "POST /v1/media": {"headers": TUS | {"Upload-Length": "3"}},
        "HEAD /v1/media/{mediaId}": {"headers": TUS},
        "PATCH /v1/media/{mediaId}": {"headers": upload, "content": b"abc"},
        "DELETE /v1/media/{mediaId}": {"headers": TUS},
        "POST /v1/conversations": {"json": {"id": new_id(), "kind": "group", "members": []}},
        "GET /v1/search": {
            "params": {"q": "hello"}
            | ({"conversationId": scene.conversation} if variant == "in the conversation" else {})
        },
        "PUT /v1/settings": {"json": {"presence": True}},
        "PUT /v1/users/{userId}/suspension": {"json": {"mode": "out"}},
        "POST /v1/reports": {"json": scene.report_of_message(new_id())},
        "POST /v1/conversations/{conversationId}/reports/{reportId}/resolution": {"json": {"action": "none"}},
        "PUT /v1/conversations/{conversationId}/retention": {"json": {"days": 30}},
        "PUT /v1/profile": {"json": {"displayName": "Somebody"}},
        "GET /v1/profiles": {"params": {"ids": scene.cast.bystander.name}},
        "PATCH /v1/conversations/{conversationId}": {"json": {"title": "Title"}},
        "PUT /v1/conversations/{conversationId}/permissions": {"json": {"rename": "admins"}},
        "PUT /v1/conversations/{conversationId}/lifetime": {"json": {"seconds": 3600}},
        "POST /v1/conversations/{conversationId}/invitations": {"json": {"id": new_id()}},
        "POST /v1/conversations/{conversationId}/messages": {"json": send},
        "POST /v1/messages:batch": {"json": {"messages": [send | {"conversationId": scene.conversation}]}},
        "POST /v1/conversations/{conversationId}/receipts": {"json": {"readSeq": 1}},
        "PUT /v1/conversations/{conversationId}/settings": {"json": {"readReceipts": True}},
        "PUT /v1/conversations/{conversationId}/draft": {"json": {"text": "Hel"}},
        "PUT /v1/conversations/{conversationId}/scheduled/{messageId}": {"json": {"at": soon(), "text": "Later"}},
        "PUT /v1/conversations/{conversationId}/messages/{messageId}/tapback": {"json": {"kind": "love"}},
        "PUT /v1/conversations/{conversationId}/messages/{messageId}/vote": {"json": {"options": [0]}},
        "PATCH /v1/conversations/{conversationId}/messages/{messageId}": {"json": {"text": "Hello!"}},
        "DELETE /v1/conversations/{conversationId}/messages/{messageId}": {
            "params": {"scope": "everyone" if variant == "for everyone" else "me"}
        },
    }.get(f"{method} {path}", {})
    values = {"conversationId": scene.conversation, "messageId": scene.message["id"], "userId": user}
    if "scheduled" in path:
        values["messageId"] = new_id()
    if "invitation" in path:
        values |= {"invitationId": scene.invited()["id"], "code": scene.invited()["code"]}
    if "reportId" in path:
        values["reportId"] = scene.reported()
    values["deviceId"] = f"nowhere-{new_id()[-8:]}"
    if scene.with_file:
        values["mediaId"] = scene.upload if method in ("PATCH", "DELETE") else scene.file
    return method, path.format(**values), options


def outcome(response) -> str:
    status = str(response.status_code)
    if response.request.url.path == "/v1/messages:batch" and status == "200":
        status += f":{response.json()['results'][0]['status']}"
    if response.request.url.path == "/v1/profiles" and status == "200":
        status += f":{len(response.json()['profiles'])}"
    return status


@pytest.mark.parametrize("name", CALLS)
def test_a_call_does_for_everybody_what_the_table_says(system, callers, name):
    scene, seen = Scene(callers, with_file="{mediaId}" in name), {}
    for who, expected in POLICY[name].items():
        method, path, options = request(name, scene, who)
        headers = scene.headers(who) | options.pop("headers", {})
        with system.http(service=server_of(path)) as http:
            response = http.request(method, path, headers=headers, **options)
        seen[who] = expected if outcome(response) in expected.split("|") else outcome(response)
        if response.is_success and method not in ("GET", "HEAD", "OPTIONS"):
            scene.renew()
    assert seen == POLICY[name]


# MARK: Suspensions

TO_OTHERS = {
    "PUT /v1/conversations/{conversationId}/scheduled/{messageId}",
    "POST /v1/conversations",
    "PUT /v1/profile",
    "POST /v1/invitations/{code}",
    "POST /v1/media",
    "PATCH /v1/media/{mediaId}",
    "POST /v1/messages:batch",
    "PATCH /v1/conversations/{conversationId}",
    "PUT /v1/conversations/{conversationId}/acceptance",
    "PUT /v1/conversations/{conversationId}/permissions",
    "PUT /v1/conversations/{conversationId}/lifetime",
    "DELETE /v1/conversations/{conversationId}/bans/{userId}",
    "POST /v1/conversations/{conversationId}/invitations",
    "DELETE /v1/conversations/{conversationId}/join-requests/{userId}",
    "POST /v1/conversations/{conversationId}/messages",
    "PATCH /v1/conversations/{conversationId}/messages/{messageId}",
    "PUT /v1/conversations/{conversationId}/messages/{messageId}/tapback",
    "PUT /v1/conversations/{conversationId}/messages/{messageId}/vote",
    "POST /v1/conversations/{conversationId}/messages/{messageId}/close",
    "PUT /v1/conversations/{conversationId}/messages/{messageId}/pin",
    "DELETE /v1/conversations/{conversationId}/messages/{messageId}/pin",
    "PUT /v1/conversations/{conversationId}/members/{userId}",
    "DELETE /v1/conversations/{conversationId}/members/{userId}",
}
"""What who may only read is refused, unless it is about themselves: leaving, and what they ask."""


def left_by(mode: str, name: str) -> str:
    """What becomes of a call of a member who is suspended: as the table says, unless the suspension comes first."""
    policy = POLICY[name]
    is_public, is_for_administrators = policy["none"] != "401", {policy[who] for who in ("owner", "member")} == {"403"}
    if is_public or is_for_administrators and policy["admin"] != "403":
        return policy["member"]
    is_refused = mode == "out" or " ".join(name.split()[:2]) in TO_OTHERS and "oneself" not in name
    return "suspended" if is_refused else policy["member"]


@pytest.mark.parametrize("mode", ["readOnly", "out"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_does_what_a_suspension_leaves(system, callers, name, mode):
    assert TO_OTHERS <= {" ".join(name.split()[:2]) for name in CALLS}
    scene, suspension = Scene(callers, with_file="{mediaId}" in name), f"/v1/users/{callers.member.name}/suspension"
    assert callers.admin.http.put(suspension, json={"mode": mode}).status_code == 204
    try:
        if "/v1/media" in name:
            # Of another process, which learns of it a moment later.
            while not is_suspended(as_member(system, scene, "POST /v1/media"), mode):
                time.sleep(0.02)
        response, expected = as_member(system, scene, name), left_by(mode, name)
        if expected == "suspended":
            assert is_suspended(response, mode), response.text
        else:
            assert outcome(response) in expected.split("|"), response.text
    finally:
        assert callers.admin.http.delete(suspension).status_code == 204


def as_member(system, scene: Scene, name: str):
    method, path, options = request(name, scene, "member")
    headers = scene.headers("member") | options.pop("headers", {})
    with system.http(service=server_of(path)) as http:
        return http.request(method, path, headers=headers, **options)


def is_suspended(response, mode: str) -> bool:
    if response.status_code != 403 or response.request.method == "HEAD":
        return response.status_code == 403
    problem = response.json()
    return (problem["code"], problem.get("mode")) == ("suspended", mode) and "Retry-After" in response.headers


# MARK: Frames


class Sockets:
    """Tries one frame as everybody, and tells what became of it."""

    def __init__(self, scene: Scene, name: str):
        self.scene = scene
        self.system = scene.cast.owner.system
        self.kind, self.variant = (name.split(maxsplit=1) + [""])[:2]

    def frame(self, person: Person | None) -> dict:
        if self.kind == "typing":
            return {"type": "typing", "conversationId": self.scene.conversation, "active": True}
        if self.kind == "auth":
            return {"type": "auth", "token": self.token(person or self.scene.cast.owner)}
        if self.kind in ("delivered", "read"):
            seq = self.scene.message["seq"]
            return {"type": self.kind, "conversationId": self.scene.conversation, "seq": seq}
        return {"type": self.kind}

    def token(self, person: Person) -> str:
        secret = self.system.secret
        return {
            "(a new token of the same user)": lambda: sign(
                secret, sub=person.name, iat=int(time.time()), exp=int(time.time()) + 7200
            ),
            "(another user's token)": lambda: self.scene.cast.bystander.token,
            "(a forged token)": lambda: sign(b"x" * 32, sub=person.name),
            "(a revoked token)": lambda: sign(secret, sub=person.name, iat=int(time.time()) - 1800),
            "(an expired token)": lambda: sign(secret, sub=person.name, exp=int(time.time()) - 3600),
        }[self.variant]()

    def closed(self, socket) -> str:
        """The code with which the server closes."""
        try:
            while True:
                socket.receive()
        except ConnectionClosed as closed:
            return str(closed.rcvd.code)

    def without_session(self, who: str) -> str:
        with open_socket(self.system) as socket:
            if who == "none":
                socket.send_text('{"type":"hello"}') if self.kind == "hello" else socket.send(**self.frame(None))
            else:
                socket.send(type="hello", token=self.scene.headers(who)["Authorization"].removeprefix("Bearer "))
            return self.closed(socket)

    def with_session(self, who: str, observer) -> str:
        person = getattr(self.scene.cast, who)
        with person.socket() as socket:
            if self.kind == "hello":
                return "welcome"
            socket.send(**self.frame(person))
            try:
                socket.send(type="ping", id="after")
                socket.expect("pong")
            except ConnectionClosed:
                return self.closed(socket)
            if self.kind not in ("delivered", "read", "typing"):
                return "pong"
            if POLICY[f"{self.kind}"][who] != "told":
                return "ignored"  # unless the observer is told of it in spite of that, which is looked at in the end
            await_told(observer, self.kind, person.name)
            return "told"


def await_told(observer, kind: str, name: str):
    while name not in told(observer, kind):
        observer.receive()


def told(observer, kind: str) -> set[str]:
    """Those of whom the observer heard such a thing."""
    if kind == "typing":
        return {frame["userId"] for frame in observer.frames if frame["type"] == "typing"}
    return {name for frame in observer.frames if frame["type"] == "status" for name in frame.get(kind, {})}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_does_for_everybody_what_the_table_says(listeners, name):
    scene = Scene(listeners)
    sockets = Sockets(scene, name)
    ignored_first = sorted(WHO, key=lambda who: POLICY[name][who] == "told")
    seen = {who: "-" for who in WHO}
    with scene.cast.bystander.socket() as observer:
        for who in ignored_first:
            if who in ("none", "forged", "expired", "revoked"):
                seen[who] = sockets.without_session(who)
            elif who not in ("posing", "acting"):
                seen[who] = sockets.with_session(who, observer)
        members = {getattr(scene.cast, who).name for who in WHO if seen[who] == "told"}
        assert told(observer, sockets.kind) == members
    assert seen == POLICY[name]
    if sockets.kind in ("delivered", "read"):
        path = f"/v1/conversations/{scene.conversation}/messages/{scene.message['id']}/receipts"
        listed = {receipt["userId"] for receipt in scene.cast.sender.get(path).json()[sockets.kind]}
        assert listed == members - {scene.cast.sender.name}
