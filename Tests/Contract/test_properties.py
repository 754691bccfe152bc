"""Properties of every call, by generated requests: within the document and, on purpose, outside of it.

Schemathesis takes the calls from the document, so one that is added later is tested without a line here. Whatever is
asked: no server error, an answer as the document describes it, and what the document forbids is refused.
"""

import time

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig

from contract import DOCUMENT, Contract, server_of
from files import Uploader, picture
from people import Person

EXAMPLES = 10
"""Generated requests per call, beside those at the edges of each of its parameters and fields."""

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
load_all_checks()
[REFUSED] = CHECKS.get_by_names(["negative_data_rejection"])
DESCRIBED = CHECKS.get_by_names(
    [
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "missing_required_header",
    ]
)
REFUSALS = [400, 401, 403, 404, 409, 412, 413, 414, 415, 416, 422, 431, 460]
CHECKED = dict.fromkeys(("negative_data_rejection", "missing_required_header"), {"expected-statuses": REFUSALS})
CONFIGURATION = {"seed": 1, "checks": CHECKED}
CALLS = schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig.from_dict(CONFIGURATION)).exclude(
    # The first is fanout's: what it says to wrong handshakes is in test_socket_abuse.py. The body of the other has no
    # schema that a generator of whole documents could use: wrong lines are in test_import.py.
    operation_id=["openSocket", "importRecords"]
)
BEYOND_SCHEMAS = (
    "forward: beside it there are only",
    "only one of them may be given",
    "must be the cursor",
    "must be the nextCursor",
    "must not be blank",
    "exactly one other user",
    "nobody blocks themselves",
    "exactly one emoji",
    "sealed: a poll is not sealed",
    "attachments: a poll carries none",
    "replyTo: a poll replies to nothing",
    "poll: a poll is not scheduled",
    "must have no control characters and none that set the direction of text",
    "must be positions of the poll's options",
    "must name each file once",
    "text: is missing",  # without attachments
    "text: a sealed message has none",
    "replyTo: what a sealed message replies to is said inside",
    "Idempotency-Key: must be a UUID",  # not the nil UUID, which the generator takes in spite of `not`
    "Upload-Metadata: must be keys and values",
    "Upload-Checksum: must be an algorithm",  # for "0", which the generator takes in spite of the pattern
    "versions: must be as many as ids",
    "messageId, userId: one of them must be given",
    "extra: at most",  # bytes, and levels
    "must be a time from 1970 to 9999",
    "expiresAt: must be in the future",
    "until: must be in the future",
    "deviceId: must be 1 to 128 bytes without control characters",
    "expected an integer",  # 1.0 is an integer to JSON Schema
    "U+0000",
    "half of a surrogate pair",
)
"""Why a request is refused that the document's schemas allow; all of it is said there in words."""


class World:
    """Who asks: an administrator with a conversation and messages, so that well-formed ids name something."""

    def __init__(self, system, new_person):
        self.asker: Person = new_person("asker", adm=True)
        self.system = system
        self.judge = Contract()
        self.session = requests.Session()
        self.session.trust_env = False
        self.headers = {"Authorization": f"Bearer {self.asker.token}"}
        self.other = new_person("other")
        self.group = self.asker.group(self.other)
        self.message = self.asker.send(self.group, "a message")["id"]
        with Uploader(self.asker) as uploader:
            self.file = uploader.upload(picture())

    def place(self, case):
        """Most well-formed ids become those of what is there: unknown ones are refused before anything is looked at."""
        known = {"conversationId": self.group, "messageId": self.message, "mediaId": self.file}
        for name, id in known.items():
            given = (case.path_parameters or {}).get(name)
            if isinstance(given, str) and len(given) == len(id) and given[-1] not in "01" and given == given.lower():
                case.path_parameters[name] = id

    def ask(self, case):
        """A busy machine may say `unavailable`, and what costs much is `rateLimited`: then, as the document has it, the
        request is repeated."""
        while True:
            address = self.system.address(server_of(case.operation.path))
            response = case.call(base_url=address, headers=self.headers, session=self.session)
            if response.status_code not in (429, 503):
                return response
            time.sleep(float(response.headers["retry-after"][0]))  # Names are in lower case here.

    def may_pass(self, case) -> bool:
        """Items of a batch are refused one by one, options are for any path, unknown parameters are ignored."""
        if case.method == "OPTIONS" or case.operation.definition.raw["operationId"] == "sendMessages":
            return True
        known = {parameter.name for parameter in case.operation.query}
        return not known.issuperset(case.query or {})

    def check(self, case, response):
        assert response.status_code < 500
        case.validate_response(response, checks=DESCRIBED + ([] if self.may_pass(case) else [REFUSED]))
        if case.meta.generation.mode.is_positive and response.status_code == 400:
            assert any(reason in response.text for reason in BEYOND_SCHEMAS), response.text
        answer = httpx.Response(
            response.status_code,
            headers={name: values[0] for name, values in response.headers.items()},
            content=response.content,
            request=httpx.Request(response.request.method, response.request.url),
        )
        self.judge.check_response(answer)


@pytest.fixture(scope="module")
def world(system):
    people = []

    def new_person(name, **claims):
        people.append(Person(system, f"{name}-of-properties", **claims))
        return people[-1]

    yield World(system, new_person)
    for person in people:
        person.http.close()


@CALLS.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_whatever_is_asked_the_answer_is_as_described(case, world):
    world.place(case)
    world.check(case, world.ask(case))
