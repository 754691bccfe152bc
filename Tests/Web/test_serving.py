"""The page as ingest serves it."""

import gzip
import http.client
from urllib.parse import urlsplit

import pytest
from system import PATIENCE, System

FILES = ["/", "/parley.js", "/parley.css", "/service-worker.js", "/manifest.webmanifest", "/icon.svg"]


def ask(system: System, path: str, method: str = "GET", **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(urlsplit(system.address("ingest")).netloc, timeout=PATIENCE)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("path", FILES)
def test_a_file_is_sent_once_and_then_only_confirmed(system, path):
    first, body = ask(system, path, Accept_Encoding="gzip")
    tag = first.headers["ETag"]
    assert first.status == 200 and body and tag.startswith('"')
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again, nothing = ask(system, path, Accept_Encoding="gzip", If_None_Match=known)
        assert (again.status, nothing, again.headers["ETag"]) == (304, b"", tag)
    assert ask(system, path, Accept_Encoding="gzip", If_None_Match='"other"')[0].status == 200


@pytest.mark.parametrize("path", [path for path in FILES if path not in ("/", "/service-worker.js")])
def test_a_file_is_compressed_for_those_who_take_it(system, path):
    plain, content = ask(system, path)
    packed, compressed = ask(system, path, Accept_Encoding="br, gzip;q=0.8")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed) == content
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert "Content-Encoding" not in ask(system, path, Accept_Encoding="gzip;q=0, br")[0].headers


def test_the_policy_allows_nothing_but_the_pages_own(system):
    policy = ask(system, "/")[0].headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == "'self'"
    assert directives["connect-src"] == f"'self' {system.address('fanout').replace('http', 'ws')}"
    assert directives["require-trusted-types-for"] == "'script'"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy


def test_other_methods_and_paths_are_refused(system):
    answer, _ = ask(system, "/", "POST", Content_Length="0")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert ask(system, "/parley.js.map")[0].status == 404
    head, body = ask(system, "/parley.js", "HEAD")
    assert (head.status, body) == (200, b"") and int(head.headers["Content-Length"]) > 1000


def test_the_limits_tell_where_the_socket_is(system):
    _, body = ask(system, "/v1/limits")
    assert f'"socketUrl":"{system.address("fanout").replace("http", "ws")}/v1/socket"'.encode() in body
