"""Reports of messages and persons: who makes them, who gets them, and what nobody else learns."""

import uuid

import pytest

from people import Person, new_id
from test_users import erase
from test_writes import feed, problem


@pytest.fixture(scope="module")
def backend(system):
    return Person(system, f"backend-{new_id()[-8:]}", adm=True)


def report(person, conversation: str, reason: str = "spam", status: int = 201, **fields) -> dict:
    body = {"id": new_id(), "conversationId": conversation, "reason": reason} | fields
    answer = person.post("/v1/reports", body)
    assert answer.status_code == status, answer.text
    return answer.json()


def path_of(made: dict) -> str:
    return f"/v1/conversations/{made['conversationId']}/reports/{made['id']}"


def read(backend, made: dict) -> dict:
    answer = backend.get(path_of(made))
    assert answer.status_code == 200, answer.text
    return answer.json()


def resolve(backend, made: dict, action: str = "none", **fields) -> dict:
    answer = backend.post(path_of(made) + "/resolution", {"action": action} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def place(report: dict) -> tuple:
    return report["createdAt"], report["conversationId"], report["id"]


def queue(backend, conversations, limit: int = 50, **query) -> list[dict]:
    """Those of some conversations, of all pages."""
    reports, query = [], query | {"limit": limit}
    while True:
        answer = backend.get("/v1/reports", params=query)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["reports"]) <= limit
        reports += page["reports"]
        if "nextCursor" not in page:
            break
        query["after"] = page["nextCursor"]
    places = [place(each) for each in reports]
    assert places == sorted(set(places))
    return [each for each in reports if each["conversationId"] in conversations]


# MARK: Making


def test_a_report_is_told_to_administrators_and_what_its_maker_gave_to_them(backend, anna, ben):
    group = anna.group(ben)
    message = ben.send(group, "Buy this")
    before = feed(anna, group)
    with ben.socket() as session, anna.socket() as other:
        given = {"messageId": message["id"], "userId": ben.name, "text": "Again and again"}
        made = report(anna, group, "spam", **given)
        session.expect_silence("change", "private")
        other.expect_silence("change", "private")
    plain = {"conversationId": group, "reason": "spam"} | given
    assert made == plain | {"id": made["id"], "createdAt": made["createdAt"]}
    copy = {"senderId": ben.name, "text": "Buy this", "createdAt": message["createdAt"]}
    assert read(backend, made) == made | {"reporterId": anna.name, "message": copy}
    assert queue(backend, [group]) == [read(backend, made)]
    assert feed(anna, group) == before
    ben.http.delete(f"/v1/conversations/{group}/messages/{message['id']}", params={"scope": "everyone"})
    assert read(backend, made)["message"] == copy, "also when the message has gone"


def test_the_same_again_is_the_same_report_and_its_id_is_no_others(anna, ben, carla):
    group = anna.group(ben, carla)
    body = {"id": new_id(), "userId": ben.name, "text": "He shouts"}
    made = report(anna, group, "harassment", **body)
    assert report(anna, group, "harassment", 200, **body) == made
    for person, reason, other in (
        (anna, "spam", {}), (anna, "harassment", {"text": "He sings"}), (anna, "harassment", {"text": None}),
        (anna, "harassment", {"userId": carla.name}), (carla, "harassment", {}),
    ):  # fmt: skip
        assert report(person, group, reason, 409, **body | other)["code"] == "conflict"
    elsewhere = anna.group(ben)
    assert report(anna, elsewhere, "harassment", **body)["conversationId"] == elsewhere, (
        "an id is one of its conversation"
    )


@pytest.mark.parametrize("reason", ["spam", "harassment", "violence", "sexual", "selfHarm", "illegal", "other"])
def test_every_reason_is_kept(backend, anna, reason):
    made = report(anna, anna.group(), reason, userId=anna.name)
    assert read(backend, made)["reason"] == made["reason"] == reason


@pytest.mark.parametrize(
    "field, body",
    [
        ("id", {"id": None}), ("id", {"id": "x"}), ("id", {"id": str(uuid.uuid1())}), ("id", {"id": 7}),
        ("conversationId", {"conversationId": None}), ("conversationId", {"conversationId": "x"}),
        ("messageId", {"messageId": "x"}), ("messageId", {"messageId": 7}), ("userId", {"userId": "b n"}),
        ("messageId, userId", {"userId": None}), ("reason", {"reason": None}), ("reason", {"reason": "dull"}),
        ("reason", {"reason": 1}), ("text", {"text": 7}),
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused_and_named(anna, ben, field, body):
    group = anna.group(ben)
    right = {"id": new_id(), "conversationId": group, "userId": ben.name, "reason": "spam"}
    refused = anna.post("/v1/reports", right | body)
    assert problem(refused) == (400, "invalid") and field in refused.json()["detail"], refused.text


def test_what_one_does_not_see_is_not_there(anna, ben, carla, stranger):
    group = anna.group(carla)
    before = anna.send(group, "Before")
    carla.http.delete(f"/v1/conversations/{group}/members/{carla.name}")
    anna.http.put(f"/v1/conversations/{group}/members/{ben.name}")
    after = anna.send(group, "After")
    nothing = report(ben, group, status=404, messageId=new_id())
    for person, fields in (
        (ben, {"messageId": before["id"]}), (carla, {"messageId": after["id"]}), (carla, {"userId": ben.name}),
        (ben, {"userId": carla.name}), (ben, {"messageId": after["id"], "userId": stranger.name}),
        (stranger, {"messageId": after["id"]}), (stranger, {"userId": anna.name}),
    ):  # fmt: skip
        assert report(person, group, status=404, **fields) == nothing
    assert report(anna, new_id(), status=404, userId=anna.name) == nothing
    report(ben, group, messageId=after["id"], userId=anna.name)
    report(carla, group, messageId=before["id"], userId=anna.name)


def test_a_former_member_reports_what_they_saw(backend, anna, ben):
    group = anna.group(ben)
    message = anna.send(group, "First words")
    ben.http.delete(f"/v1/conversations/{group}/members/{ben.name}")
    path = f"/v1/conversations/{group}/messages/{message['id']}"
    assert anna.http.patch(path, json={"text": "Second words"}).status_code == 200
    assert read(backend, report(ben, group, messageId=message["id"]))["message"]["text"] == "First words"
    assert read(backend, report(anna, group, messageId=message["id"]))["message"]["text"] == "Second words"


def test_who_may_only_read_reports(backend, anna, ben):
    group, path = anna.group(ben), f"/v1/users/{ben.name}/suspension"
    assert backend.http.put(path, json={"mode": "readOnly"}).status_code == 204
    report(ben, group, userId=anna.name)
    assert backend.http.delete(path).status_code == 204


# MARK: Administrators


def test_the_queue_has_what_waits_and_what_was_done(backend, anna, ben):
    groups = [anna.group(ben) for _ in range(6)]
    made = [report(anna, group, userId=ben.name) for group in groups for _ in range(2)]
    expected = sorted((read(backend, each) for each in made), key=place)
    assert queue(backend, groups, limit=5) == queue(backend, groups) == expected
    first = resolve(backend, made[3], "deleted")
    assert first == read(backend, made[3]) and "note" not in first["resolution"]
    second = resolve(backend, made[3], "suspended", note="Case 7")
    assert second["resolution"] == {
        "action": "suspended",
        "note": "Case 7",
        "resolvedBy": backend.name,
        "resolvedAt": second["resolution"]["resolvedAt"],
    }
    assert second["resolution"]["resolvedAt"] >= first["resolution"]["resolvedAt"]
    assert queue(backend, groups, state="resolved") == [second]
    assert queue(backend, groups, state="open") == [each for each in expected if each["id"] != made[3]["id"]]
    again = {key: value for key, value in made[3].items() if key != "createdAt"}
    assert anna.post("/v1/reports", again).json() == made[3], "its maker is told nothing of it"


@pytest.mark.parametrize("action", ["none", "deleted", "removed", "suspended", "erased"])
def test_every_action_is_kept(backend, anna, action):
    made = report(anna, anna.group(), userId=anna.name)
    assert resolve(backend, made, action)["resolution"]["action"] == action


def test_a_wrong_resolution_is_refused_and_named(backend, anna):
    made = report(anna, anna.group(), userId=anna.name)
    for field, body in (
        ("action", {}), ("action", {"action": "banned"}), ("action", {"action": 1}),
        ("note", {"action": "none", "note": 7}),
    ):  # fmt: skip
        refused = backend.post(path_of(made) + "/resolution", body)
        assert problem(refused) == (400, "invalid") and field in refused.json()["detail"], refused.text
    refused = backend.post(path_of(made) + "/resolution", {"action": "none", "note": "x" * 1001})
    assert problem(refused) == (413, "tooLarge")
    assert "resolution" not in read(backend, made)
    unknown = made | {"id": new_id()}
    assert problem(backend.get(path_of(unknown))) == (404, "notFound")
    assert problem(backend.post(path_of(unknown) + "/resolution", {"action": "none"})) == (404, "notFound")


@pytest.mark.parametrize(
    "parameter, value",
    [("state", "closed"), ("state", ""), ("limit", "0"), ("limit", "51"), ("after", "7"), ("after", "1_2_3")],
)
def test_a_wrong_parameter_is_refused_and_named(backend, parameter, value):
    refused = backend.get("/v1/reports", params={parameter: value})
    assert problem(refused) == (400, "invalid") and refused.json()["detail"].startswith(parameter)


# MARK: What stays


def test_who_is_erased_takes_along_what_is_theirs(backend, anna, ben, carla):
    group = anna.group(ben, carla)
    message = ben.send(group, "Shouting")
    by_ben = report(ben, group, userId=carla.name, text="My words")
    of_ben = report(anna, group, messageId=message["id"], userId=ben.name, text="Her words")
    resolve(backend, of_ben, "erased", note=f"{ben.name} shouted")
    erase(backend, ben.name)
    left = read(backend, by_ben)
    assert "reporterId" not in left and "text" not in left and left["userId"] == carla.name
    left = read(backend, of_ben)
    assert (left["reporterId"], left["text"], left["messageId"]) == (anna.name, "Her words", message["id"])
    assert "userId" not in left and "message" not in left and "note" not in left["resolution"]
    assert ben.name not in str([read(backend, by_ben), left])


def test_exports_have_no_reports(backend, anna, ben):
    group = anna.group(ben)
    made = report(anna, group, userId=ben.name, text="Her words")
    for path in (f"conversations/{group}", f"users/{anna.name}", f"users/{ben.name}"):
        exported = backend.get(f"/v1/export/{path}")
        assert exported.status_code == 200 and made["id"] not in exported.text and "Her words" not in exported.text


# MARK: As any other call


def test_reports_are_refused_as_any_other_call_is(system, backend, anna):
    made = report(anna, anna.group(), userId=anna.name)
    calls = [("GET", "/v1/reports", None), ("GET", path_of(made), None)]
    calls += [("POST", path_of(made) + "/resolution", {"action": "none"})]
    for method, path, body in calls:
        assert problem(anna.http.request(method, path, json=body)) == (403, "forbidden")
        assert system.http().request(method, path, json=body).status_code == 401
    for method, path, body in calls[1:]:
        assert backend.http.request(method, path.replace(made["id"], "x"), json=body).status_code == 400
    with system.sibling("ingest", PARLEY_RATE_PER_SECOND="1", PARLEY_RATE_BURST="1") as port:
        hasty = Person(system, backend.name, port=port, adm=True)
        for method, path, body in calls:
            assert any(hasty.http.request(method, path, json=body).status_code == 429 for _ in range(5)), path
    nobody = {f"PARLEY_BUS_{peer}": f"ipc://{system.state}/nobody-*.sock" for peer in ("STORE", "RECEIPT")}
    with system.sibling("ingest", "/healthz", PARLEY_REQUEST_DEADLINE="300ms", **nobody) as port:
        alone = Person(system, backend.name, port=port, adm=True)
        for method, path, body in calls:
            assert alone.http.request(method, path, json=body).status_code == 503
