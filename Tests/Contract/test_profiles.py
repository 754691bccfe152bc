"""What users are called and look like: set by themselves or the backend, read by those who are or were somewhere with
them."""

import json

import pytest

from people import Person, new_id
from test_blocks import block, direct
from test_sync import follow


def put(person, status=200, headers=None, **fields):
    response = person.http.put("/v1/profile", json=fields, headers=headers)
    assert response.status_code == status, response.text
    return response.json()


def read(person, *others, versions=None, **options):
    parameters = {"ids": ",".join(getattr(other, "name", other) for other in others)}
    if versions is not None:
        parameters["versions"] = ",".join(map(str, versions))
    response = person.get("/v1/profiles", params=parameters, **options)
    assert response.status_code == 200, response.text
    return response.json()["profiles"]


def problem(response):
    return response.status_code, response.json()["code"]


@pytest.fixture
def group(anna, ben):
    return anna.group(ben)


# MARK: Writing


def test_a_profile_is_replaced_as_a_whole(anna):
    assert put(anna) == {"userId": anna.name, "version": 0}
    extra = {"team": "blue", "n": [1.5, -0.0, None, {"ü": "\U0001f9d7"}]}
    whole = {"displayName": 'Anna "A" Ö', "avatarUrl": "https://a.example/a.png", "extra": extra}
    assert put(anna, **whole) == {"userId": anna.name, "version": 1} | whole
    assert put(anna, **whole)["version"] == 1
    assert put(anna, displayName="Anna", avatarUrl=None) == {"userId": anna.name, "version": 2, "displayName": "Anna"}
    assert read(anna, anna) == [{"userId": anna.name, "version": 2, "displayName": "Anna"}]
    assert put(anna) == {"userId": anna.name, "version": 3}
    assert read(anna, anna) == [{"userId": anna.name, "version": 3}]


def test_what_the_application_keeps_comes_back_byte_by_byte(anna):
    extra = '{ "a":1.50 ,"b":[ "\\u00e9" ]}'
    response = anna.http.put("/v1/profile", content='{"extra":' + extra + "}")
    assert response.text == f'{{"userId":"{anna.name}","version":1,"extra":{extra}}}'


@pytest.mark.parametrize(
    "body, field",
    [
        ({"displayName": ""}, "displayName"),
        ({"displayName": " \u3000"}, "displayName"),
        ({"displayName": "a\nb"}, "displayName"),
        ({"displayName": "moc.live\u202e"}, "displayName"),
        ({"displayName": "\u2067a"}, "displayName"),
        ({"displayName": "a\u0000"}, "displayName"),
        ({"displayName": 7}, "displayName"),
        ({"avatarUrl": "http://a.example/a.png"}, "avatarUrl"),
        ({"avatarUrl": "javascript:alert(1)"}, "avatarUrl"),
        ({"avatarUrl": "https://bank.example@evil.example/"}, "avatarUrl"),
        ({"avatarUrl": 'https://a.example/" onload='}, "avatarUrl"),
        ({"avatarUrl": {}}, "avatarUrl"),
        ({"extra": []}, "extra"),
        ({"extra": "{}"}, "extra"),
    ],
)
def test_what_is_no_profile_is_refused_and_the_field_named(anna, body, field):
    response = anna.http.put("/v1/profile", content=json.dumps(body).encode())
    assert problem(response) == (400, "invalid") and response.json()["detail"].startswith(field)
    assert read(anna, anna) == []


def test_an_object_within_objects_has_an_end(anna):
    def nested(levels):
        return '{"extra":{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}}"

    assert anna.http.put("/v1/profile", content=nested(16)).status_code == 200
    assert problem(anna.http.put("/v1/profile", content=nested(17))) == (413, "tooLarge")


def test_a_repetition_under_its_key_does_not_undo_what_came_since(anna):
    key = {"Idempotency-Key": new_id()}
    put(anna, displayName="Anna", headers=key)
    put(anna, displayName="Annika")
    assert put(anna, displayName="Anna", headers=key)["displayName"] == "Annika"
    assert problem(anna.http.put("/v1/settings", json={}, headers=key)) == (409, "conflict")
    another = {"Idempotency-Key": new_id()}
    assert anna.http.put("/v1/settings", json={}, headers=another).status_code == 200
    assert problem(anna.http.put("/v1/profile", json={}, headers=another)) == (409, "conflict")
    assert anna.http.put("/v1/profile", json={}, headers={"Idempotency-Key": "x"}).status_code == 400


def test_a_deployment_decides_who_sets_profiles(system, new_person):
    anna, backend = new_person("anna"), new_person("backend", adm=True)
    acting = {"X-Parley-User": anna.name}
    assert system.http().get("/v1/limits").json()["profileWriters"] == "both"
    assert put(backend, displayName="By the backend", headers=acting)["userId"] == anna.name
    assert put(anna, displayName="By herself")["version"] == 2
    for writers, statuses in (("backend", (403, 200)), ("users", (200, 403))):
        with system.sibling("ingest", PARLEY_PROFILE_WRITERS=writers) as port:
            assert system.http(port).get("/v1/limits").json()["profileWriters"] == writers
            users, backends = Person(system, anna.name, port=port), Person(system, backend.name, port=port, adm=True)
            put(users, displayName=f"{writers} 1", status=statuses[0])
            put(backends, displayName=f"{writers} 2", status=statuses[1], headers=acting)
            assert len(read(users, anna)) == 1


# MARK: Reading


def test_a_client_gets_what_it_does_not_have(anna, ben, carla, stranger):
    anna.group(ben, carla)
    for person in (ben, stranger):
        put(person, displayName=person.name)
    shown = {"userId": ben.name, "version": 1, "displayName": ben.name}
    assert read(anna, carla, ben, stranger, "nobody") == [shown]
    assert read(anna, carla, ben, versions=[0, 1]) == []
    # A client forgets what there is not, or not any more, and learns nothing by asking for versions.
    gone = [{"userId": name, "version": 0} for name in (stranger.name, "nobody")]
    assert read(anna, ben, stranger, "nobody", versions=[0, 1, 2]) == [shown, *gone]
    put(ben)
    assert read(anna, ben, versions=[1]) == [{"userId": ben.name, "version": 2}]


def test_one_reads_whom_one_was_somewhere_with(anna, ben, carla, group):
    for person in (anna, ben, carla):
        put(person, displayName=person.name)
    assert read(carla, anna, ben) == [] and read(anna, carla) == []
    members = f"/v1/conversations/{group}/members"
    assert anna.http.delete(f"{members}/{ben.name}").status_code == 204
    assert anna.http.put(f"{members}/{carla.name}").status_code == 200
    assert [each["userId"] for each in read(carla, anna, ben)] == [anna.name]
    assert [each["userId"] for each in read(ben, anna, carla)] == [anna.name]
    assert [each["userId"] for each in read(anna, ben, carla)] == [ben.name, carla.name]


def test_a_backend_reads_all_and_as_a_user_what_the_user_may(new_person, anna, ben, stranger, group):
    put(ben, displayName="Ben")
    backend = new_person("backend", adm=True)
    assert len(read(backend, ben)) == 1
    assert len(read(backend, ben, headers={"X-Parley-User": anna.name})) == 1
    assert read(backend, ben, headers={"X-Parley-User": stranger.name}) == []


def test_names_with_signs_are_read_as_they_are(new_person, system):
    name = f"a+b:c@d-{new_id()}"
    person = Person(system, name)
    put(person, displayName="Signs")
    assert person.get(f"/v1/profiles?ids={name}").json()["profiles"][0]["userId"] == name
    assert len(read(person, name, "x")) == 1
    person.http.close()


@pytest.mark.parametrize(
    "query",
    [
        "", "?ids=", "?ids=a b", "?ids=a,,b", "?ids=a,", "?ids=a&ids=b", "?ids=%zz", "?ids=a&versions=",
        "?ids=a&versions=x", "?ids=a&versions=-1", "?ids=a&versions=01", "?ids=a&versions=1,2", "?ids=a,b&versions=1",
        "?ids=a&versions=9007199254740992",
    ],
)  # fmt: skip
def test_questions_that_make_no_sense_are_refused(anna, query):
    response = anna.get(f"/v1/profiles{query}")
    assert problem(response) == (400, "invalid") and response.json()["detail"].split(":")[0] in ("ids", "versions")


def test_to_who_is_blocked_a_profile_is_what_it_was(anna, ben, stranger):
    direct(ben, anna)
    put(anna, displayName="Anna")
    block(anna, ben)
    put(anna, displayName="Annika")
    assert read(ben, anna, versions=[1])[0]["displayName"] == "Annika"
    # Begun after the block: to ben as with anybody, to anna as with a stranger.
    block(anna, stranger)
    direct(stranger, anna)
    put(stranger, displayName="Stranger")
    assert read(stranger, anna)[0]["displayName"] == "Annika"
    assert read(anna, stranger) == []


# MARK: Who is told


def test_other_devices_and_open_clients_are_told(anna, ben, stranger, group):
    _, _, cursor = follow(anna)
    with anna.socket() as phone, ben.socket() as other, stranger.socket() as nobody:
        put(anna, displayName="Anna")
        live = phone.expect("private")
        assert (live["kind"], live["profileVersion"]) == ("profile.changed", 1)
        told = other.expect("profile")
        assert (told["userId"], told["version"]) == (anna.name, 1)
        assert read(ben, anna, versions=[0])[0]["version"] == 1
        put(anna, displayName="Anna")
        other.expect_silence("profile")
        nobody.expect_silence("profile", during=0.1)
        assert not any(frame["type"] == "profile" for frame in phone.frames)
        put(anna, displayName="Annika")
        assert other.expect("profile")["version"] == 2
    _, later, _ = follow(anna, cursor)
    # Replayed, it is the version of now.
    assert [(change["kind"], change["profileVersion"]) for change in later] == [("profile.changed", 2)] * 2


def test_who_shares_several_conversations_is_told_once_and_of_the_last_change(anna, ben):
    for _ in range(5):
        anna.group(ben)
    with ben.socket() as other:
        for number in range(5):
            put(anna, displayName=f"Anna {number}")
        versions = [other.expect("profile")["version"]]
        while versions[-1] < 5:
            versions.append(other.expect("profile")["version"])
        other.expect_silence("profile")
    assert len(versions) <= 6 and versions == sorted(versions)


def test_whoever_came_after_somebody_left_is_not_told_of_them(anna, ben, carla, group):
    members = f"/v1/conversations/{group}/members"
    assert anna.http.delete(f"{members}/{ben.name}").status_code == 204
    assert anna.http.put(f"{members}/{carla.name}").status_code == 200
    with carla.socket() as socket:
        put(ben, displayName="Ben")
        put(anna, displayName="Anna")
        assert socket.expect("profile")["userId"] == anna.name
        socket.expect_silence("profile")


def test_an_erased_user_has_no_profile(new_person, anna, ben, group):
    put(ben, displayName="Ben")
    backend = new_person("backend", adm=True)
    assert backend.http.delete(f"/v1/users/{ben.name}").status_code in (200, 202)
    assert read(anna, ben, versions=[1]) == [{"userId": ben.name, "version": 0}]
    assert read(backend, ben) == []
    assert backend.http.put("/v1/profile", json={}, headers={"X-Parley-User": ben.name}).status_code == 403
