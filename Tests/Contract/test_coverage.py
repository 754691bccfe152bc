"""After all other tests of the run: was everything seen that the document describes?"""

import pytest

from contract import DOCUMENT, METHODS

# Only while the process ends, or has as many connections as it can hold.
NOT_SEEN = {("openSocket", "503")}


def described():
    for item in DOCUMENT["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            for status in operation["responses"]:
                yield operation["operationId"], status
    for side in ("clientFrames", "serverFrames"):
        for kind in DOCUMENT["x-parley-websocket"][side]:
            yield side, kind


def test_every_described_outcome_was_seen(system, request):
    if request.session.testscollected < 300:
        pytest.skip("only a part of the tests was run")
    missing = set(described()) - NOT_SEEN - system.contract.seen
    assert not missing, sorted(missing)
