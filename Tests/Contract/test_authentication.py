"""Who is let in, and every way not to be."""

import json
import secrets
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from judged import PATIENCE
from people import open_socket
from tokens import part, sign, sign_bytes, unsigned

NOW = int(time.time())
ATTACKER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def tampered(secret):
    header, _, signature = sign(secret, sub="anna").split(".")
    return f"{header}.{part({'sub': 'ben', 'exp': NOW + 3600})}.{signature}"


def as_json_serialization(secret):
    header, payload, signature = sign(secret, sub="anna").split(".")
    return json.dumps({"protected": header, "payload": payload, "signature": signature})


def by_embedded_key(_):
    """RS256 by a key that the token itself brings along."""
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(ATTACKER.public_key()))
    return sign(ATTACKER, "RS256", {"jwk": public}, sub="anna")


REFUSED = {
    "no signature, alg none": lambda secret: unsigned("none", sub="anna"),
    "no signature, alg NoNe": lambda secret: unsigned("NoNe", sub="anna"),
    "no signature, alg empty": lambda secret: unsigned("", sub="anna"),
    "no signature, alg HS256": lambda secret: unsigned("HS256", sub="anna"),
    "alg none with the signature of HS256": lambda secret: unsigned(
        "none", sign(secret, sub="anna").split(".")[2], sub="anna"
    ),
    "another secret": lambda secret: sign(b"x" * 32, sub="anna"),
    "an empty secret": lambda secret: sign(b"", sub="anna"),
    "HS384 by the right secret": lambda secret: sign(secret, "HS384", sub="anna"),
    "HS512 by the right secret": lambda secret: sign(secret, "HS512", sub="anna"),
    "RS256 by the attacker's key": lambda secret: sign(ATTACKER, "RS256", sub="anna"),
    "RS256 by a key in the header": by_embedded_key,
    "other claims under the same signature": tampered,
    "half a signature": lambda secret: sign(secret, sub="anna")[:-20],
    "a longer signature": lambda secret: sign(secret, sub="anna") + "AAAA",
    "a fourth part": lambda secret: sign(secret, sub="anna") + ".e30",
    "two parts": lambda secret: sign(secret, sub="anna").rpartition(".")[0],
    "no parts": lambda secret: "anna",
    "JSON serialization": as_json_serialization,
    "claims that are no JSON": lambda secret: sign_bytes(secret, b"sub=anna"),
    "claims that are a list": lambda secret: sign_bytes(secret, b'[{"sub":"anna"}]'),
    "claims that are no UTF-8": lambda secret: sign_bytes(secret, b'{"sub":"\xff","exp":9999999999}'),
    "a critical extension": lambda secret: sign(secret, "HS256", {"crit": ["x"], "x": 1}, sub="anna"),
    "expired": lambda secret: sign(secret, sub="anna", exp=NOW - 60),
    "expired long ago": lambda secret: sign(secret, sub="anna", exp=-1),
    "without exp": lambda secret: sign(secret, sub="anna", exp=None),
    "exp as a text": lambda secret: sign(secret, sub="anna", exp=str(NOW + 3600)),
    "exp as a list": lambda secret: sign(secret, sub="anna", exp=[NOW + 3600]),
    "not yet valid": lambda secret: sign(secret, sub="anna", nbf=NOW + 600),
    "without sub": lambda secret: sign(secret),
    "sub as a number": lambda secret: sign(secret, sub=7),
    "sub empty": lambda secret: sign(secret, sub=""),
    "sub with a space": lambda secret: sign(secret, sub="anna b"),
    "sub with a line break": lambda secret: sign(secret, sub="anna\n"),
    "sub with U+0000": lambda secret: sign(secret, sub="anna\0"),
    "sub of 65 characters": lambda secret: sign(secret, sub="a" * 65),
    "sub beyond ASCII": lambda secret: sign(secret, sub="änna"),
}


@pytest.mark.parametrize("attack", REFUSED.values(), ids=REFUSED)
def test_a_bad_token_is_refused_over_http_and_in_hello(system, attack):
    token = attack(system.secret)
    response = system.http().get("/v1/conversations", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]
    with open_socket(system) as socket:
        socket.send(type="hello", token=token)
        socket.expect_close(4401, "unauthenticated")


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Basic YW5uYTphbm5h",
        "Token {token}",
        "{token}",
        "Bearer {token} x",
        "Bearer,{token}",
    ],
)
def test_without_a_bearer_token_there_is_no_entrance(system, anna, authorization):
    headers = {} if authorization is None else {"Authorization": authorization.format(token=anna.token)}
    assert system.http().get("/v1/conversations", headers=headers).status_code == 401


CONVERSATION = "/v1/conversations/0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
MARKS = ("mute", "pin", "archive", "unread")
MESSAGE = f"{CONVERSATION}/messages/0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"
CALLS = [
    ("POST", "/v1/conversations"),
    ("GET", "/v1/conversations"),
    ("GET", CONVERSATION),
    ("GET", f"{CONVERSATION}/members"),
    ("POST", f"{CONVERSATION}/messages"),
    ("GET", f"{CONVERSATION}/messages"),
    ("GET", MESSAGE),
    ("POST", "/v1/messages:batch"),
    ("GET", f"{CONVERSATION}/changes"),
    ("GET", f"{CONVERSATION}/digest"),
    ("POST", f"{CONVERSATION}/receipts"),
    ("PATCH", CONVERSATION),
    ("PUT", f"{CONVERSATION}/members/ben"),
    ("DELETE", f"{CONVERSATION}/members/ben"),
    ("PUT", f"{CONVERSATION}/permissions"),
    ("PUT", f"{CONVERSATION}/lifetime"),
    ("GET", f"{CONVERSATION}/bans"),
    ("DELETE", f"{CONVERSATION}/bans/ben"),
    ("GET", f"{CONVERSATION}/invitations"),
    ("POST", f"{CONVERSATION}/invitations"),
    ("DELETE", f"{CONVERSATION}/invitations/0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01"),
    ("GET", f"{CONVERSATION}/join-requests"),
    ("DELETE", f"{CONVERSATION}/join-requests/ben"),
    ("GET", "/v1/invitations/code"),
    ("POST", "/v1/invitations/code"),
    ("DELETE", f"{CONVERSATION}/history"),
    ("DELETE", CONVERSATION),
    ("PATCH", MESSAGE),
    ("DELETE", MESSAGE),
    ("GET", f"{MESSAGE}/revisions"),
    ("PUT", f"{MESSAGE}/tapback"),
    ("DELETE", f"{MESSAGE}/tapback"),
    ("GET", f"{MESSAGE}/tapbacks"),
    ("PUT", f"{MESSAGE}/vote"),
    ("GET", f"{MESSAGE}/votes"),
    ("POST", f"{MESSAGE}/close"),
    ("PUT", f"{MESSAGE}/pin"),
    ("DELETE", f"{MESSAGE}/pin"),
    ("GET", f"{CONVERSATION}/pinned"),
    ("GET", f"{CONVERSATION}/mentions"),
    ("GET", "/v1/scheduled"),
    ("PUT", f"{CONVERSATION}/scheduled/{MESSAGE.rpartition('/')[2]}"),
    ("DELETE", f"{CONVERSATION}/scheduled/{MESSAGE.rpartition('/')[2]}"),
    ("GET", f"{MESSAGE}/receipts"),
    ("PUT", f"{CONVERSATION}/settings"),
    ("POST", "/v1/reports"),
    ("GET", "/v1/profiles"),
    ("PUT", "/v1/profile"),
    *((method, f"{CONVERSATION}/{mark}") for mark in (*MARKS, "draft") for method in ("PUT", "DELETE")),
]


@pytest.mark.parametrize("method, path", CALLS)
def test_every_call_asks_who_it_is_before_anything_else(system, anna, method, path):
    """The body is no JSON and the query wrong: neither is looked at before the caller is known and allowed."""
    request = {"content": b"{" if method in ("POST", "PUT", "PATCH") else None, "params": {"limit": "x"}}
    assert system.http().request(method, path, **request).status_code == 401
    for_another = {"X-Parley-User": "ben"}
    assert anna.http.request(method, path, headers=for_another, **request).status_code == 403
    assert anna.http.request(method, path, **request).status_code in (400, 404)


def test_a_token_in_the_query_is_not_looked_at(system, anna):
    assert system.http().get("/v1/conversations", params={"access_token": anna.token}).status_code == 401


def test_two_authorizations_are_one_too_many(system, anna):
    headers = [("Authorization", f"Bearer {anna.token}"), ("Authorization", "Bearer x")]
    assert system.http().get("/v1/conversations", headers=headers).status_code in (400, 401)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"nbf": NOW - 5},
        {"iat": NOW, "jti": "x", "scope": ["a"], "nested": {"exp": 0}},
        {"exp": NOW + 10**9},
        {"dev": "phone"},
    ],
    ids=" ".join,  # The moments are others in each process of pytest.
)
def test_a_good_token_is_a_user_whoever_it_is(new_person, claims):
    newcomer = new_person("newcomer", **claims)
    assert newcomer.get("/v1/conversations").json() == {"conversations": []}


def test_the_scheme_may_be_in_any_case(system, anna):
    response = system.http().get("/v1/conversations", headers={"authorization": f"bearer {anna.token}"})
    assert response.status_code == 200


def test_an_administrator_acts_for_any_user(new_person, anna, ben):
    backend = new_person("backend", adm=True)
    group = anna.group(ben)
    assert backend.get(f"/v1/conversations/{group}").status_code == 404
    response = backend.post(
        f"/v1/conversations/{group}/messages",
        {"id": "0198c2a5-0f3a-7b52-8d11-6c2f9e4a7b01", "text": "From the backend"},
        headers={"X-Parley-User": anna.name},
    )
    assert (response.status_code, response.json()["senderId"]) == (201, anna.name)


@pytest.mark.parametrize("adm", [None, False, "true", 1])
def test_nobody_else_acts_for_another(new_person, anna, adm):
    mallory = new_person("mallory", adm=adm)
    for user in (anna.name, mallory.name):
        response = mallory.get("/v1/conversations", headers={"X-Parley-User": user})
        assert response.status_code in (401, 403) if adm not in (None, False) else response.status_code == 403


@pytest.mark.parametrize("user", ["", "a b", "a" * 65, "a,b", "ä"])
def test_an_administrator_has_to_name_a_possible_user(new_person, user):
    backend = new_person("backend", adm=True)
    calls = [("GET", f"/v1/{path}") for path in ("conversations", "settings", "blocks", "requests", "devices")]
    for method, path in [*calls, ("DELETE", "/v1/devices")]:
        assert backend.http.request(method, path, headers={"X-Parley-User": user.encode()}).status_code == 400


def test_the_answer_to_a_bad_token_does_not_repeat_it(system):
    token = sign(b"x" * 32, sub="anna")
    response = system.http().get("/v1/conversations", headers={"Authorization": f"Bearer {token}"})
    assert token.split(".")[2] not in response.text
    assert token.split(".")[2] not in system.logs()


@pytest.mark.parametrize("path", ["/v1/limits", "/openapi.json", "/healthz", "/readyz", "/metrics"])
def test_what_needs_no_token_works_without_and_with_a_bad_one(system, path):
    for headers in ({}, {"Authorization": "Bearer x"}):
        assert system.http().get(path, headers=headers).status_code == 200


# MARK: Public keys

KEYS = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
}


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_deployment_with_a_public_key_trusts_its_private_key_alone(system, tmp_path, algorithm):
    key = KEYS[algorithm]
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path = tmp_path / "public.pem"
    path.write_bytes(pem)
    other = next(key for name, key in KEYS.items() if name != algorithm)
    same_kind = ATTACKER if algorithm == "RS256" else ec.generate_private_key(ec.SECP256R1())
    refused = {
        "HS256 by the public key as the secret": sign(pem, sub="anna"),
        "HS256 by the secret of the others": sign(system.secret, sub="anna"),
        "the other algorithm": sign(other, "ES256" if algorithm == "RS256" else "RS256", sub="anna"),
        "another key": sign(same_kind, algorithm, sub="anna"),
        "no signature": unsigned("none", sub="anna"),
        "an empty signature": unsigned(algorithm, sub="anna"),
        "a signature of zeros": unsigned(algorithm, part(bytes(64)), sub="anna"),
        "expired": sign(key, algorithm, sub="anna", exp=NOW - 60),
    }
    with system.sibling("ingest", PARLEY_JWT_PUBLIC_KEY_FILE=str(path)) as port, system.http(port) as http:

        def status(token):
            return http.get("/v1/conversations", headers={"Authorization": f"Bearer {token}"}).status_code

        assert status(sign(key, algorithm, sub="anna")) == 200
        assert {name: status(token) for name, token in refused.items()} == dict.fromkeys(refused, 401)


def test_issuer_and_audience_are_checked_where_configured(system):
    secret = system.secret.decode()
    configured = {
        "PARLEY_JWT_SECRET": secret,
        "PARLEY_JWT_ISSUER": "https://app.example",
        "PARLEY_JWT_AUDIENCE": "parley",
    }
    right = {"sub": "anna", "iss": "https://app.example", "aud": "parley"}
    claims = {
        200: [right, right | {"aud": ["other", "parley"]}],
        401: [right | {name: value} for name in ("iss", "aud") for value in (None, "other", ["other"], 7, "")],
    }
    with system.sibling("ingest", **configured) as port, system.http(port) as http:
        for status, tokens in claims.items():
            for claim in tokens:
                headers = {"Authorization": f"Bearer {sign(system.secret, **claim)}"}
                assert http.get("/v1/conversations", headers=headers).status_code == status, claim


# MARK: Several keys


def jwk(name: str | None, key) -> dict:
    """A key as it stands in a JSON Web Key Set, of its public part only."""
    if isinstance(key, bytes):
        fields = {"kty": "oct", "k": part(key)}
    else:
        algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
        fields = algorithm.to_jwk(key.public_key(), as_dict=True)
    return fields | ({"kid": name} if name else {})


def write_keys(path, *keys):
    """As container platforms do it: by replacing what the path leads to."""
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({"keys": list(keys)}))
    temporary.replace(path)


def test_several_keys_are_trusted_at_once_and_changed_without_a_restart(system, tmp_path):
    path = tmp_path / "keys.json"
    old, new, unnamed = secrets.token_bytes(32), KEYS["RS256"], KEYS["ES256"]
    write_keys(path, jwk("old", old), jwk(None, unnamed))

    def by_old(**headers):
        return sign(old, headers=headers, sub="anna")

    def by_new():
        return sign(new, "RS256", headers={"kid": "new"}, sub="anna")

    def by_unnamed():
        return sign(unnamed, "ES256", sub="anna")

    with system.sibling("ingest", PARLEY_JWT_KEYS_FILE=str(path)) as port, system.http(port) as http:

        def status(token):
            return http.get("/v1/conversations", headers={"Authorization": f"Bearer {token}"}).status_code

        def becomes(token, expected):
            deadline = time.monotonic() + PATIENCE
            while status(token) != expected:
                assert time.monotonic() < deadline
                time.sleep(0.1)

        first = by_old(kid="old")
        assert [status(token) for token in (first, by_old(), by_unnamed(), by_new())] == [200, 200, 200, 401]
        write_keys(path, jwk("old", old), jwk("new", new), jwk(None, unnamed))
        becomes(by_new(), 200)
        assert status(first) == 200
        path.with_suffix(".new").write_text('{"keys": [{"kty": "oct", "k": "geheim"}]}')
        path.with_suffix(".new").replace(path)
        log = system.state / "logs" / "ingest-9.log"
        deadline = time.monotonic() + PATIENCE
        while "the key file cannot be used" not in log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "geheim" not in log.read_text()
        assert [status(token) for token in (first, by_new(), by_unnamed())] == [200, 200, 200]
        write_keys(path, jwk("new", new))
        becomes(first, 401)
        assert [status(token) for token in (by_old(), by_unnamed(), by_new())] == [401, 401, 200]


def test_a_key_has_one_algorithm_whatever_a_token_says(system, tmp_path):
    path = tmp_path / "keys.json"
    write_keys(path, jwk("r", KEYS["RS256"]), jwk("e", KEYS["ES256"]))
    with system.sibling("ingest", PARLEY_JWT_KEYS_FILE=str(path)) as port, system.http(port) as http:
        for name, key in (("r", KEYS["RS256"]), ("e", KEYS["ES256"])):
            pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            for secret in (pem, pem.strip(), der, b""):
                for headers in ({"kid": name}, {}, {"kid": "other"}):
                    token = sign(secret, headers=headers, sub="anna", adm=True)
                    answer = http.get("/v1/conversations", headers={"Authorization": f"Bearer {token}"})
                    assert answer.status_code == 401


def test_with_a_longest_lifetime_tokens_say_when_they_were_issued_and_do_not_live_longer(system):
    configured = {"PARLEY_JWT_SECRET": system.secret.decode(), "PARLEY_JWT_LONGEST_LIFETIME": "1h"}
    now = int(time.time())
    claims = {
        200: [
            {"iat": now, "exp": now + 3600},
            {"iat": now - 1800, "exp": now + 1800},
            {"iat": now + 20, "exp": now + 60},
        ],
        401: [
            {},
            {"iat": now, "exp": now + 3601},
            {"iat": now - 7200, "exp": now + 60},
            {"iat": now + 600, "exp": now + 900},
        ],
    }
    with system.sibling("ingest", **configured) as port, system.http(port) as http:
        for status, tokens in claims.items():
            for claim in tokens:
                headers = {"Authorization": f"Bearer {sign(system.secret, sub='anna', **claim)}"}
                assert http.get("/v1/conversations", headers=headers).status_code == status, claim
