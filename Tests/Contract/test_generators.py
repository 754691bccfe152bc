"""Generators make clients of the document without a warning, and these clients speak to the running system."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from contract import DOCUMENT, PATH
from people import new_id

TOOLS = Path(sys.executable).parent


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from references(child)


def test_every_reference_names_a_component():
    """Generators make a type of each component. They do not look for one within another."""
    for reference in references(DOCUMENT):
        root, components, kind, name = reference.split("/")
        assert (root, components) == ("#", "components") and name in DOCUMENT["components"][kind], reference


def generate(*command) -> str:
    # The generator calls ruff, which is beside it.
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": f"{TOOLS}:/usr/bin:/bin"})
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "warning" not in said.lower(), said
    return said


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A directory from which Python imports."""
    directory = tmp_path_factory.mktemp("generated")
    sys.path.insert(0, str(directory))
    yield directory
    sys.path.remove(str(directory))


# MARK: openapi-python-client


@pytest.fixture(scope="module")
def generated(modules):
    # It has no word for lines of JSON and for files: to it they are bytes.
    config = modules / "config.json"
    bytes_to_it = ("application/x-ndjson", "application/offset+octet-stream", "image/webp")
    config.write_text(json.dumps({"content_type_overrides": dict.fromkeys(bytes_to_it, "application/octet-stream")}))
    options = ("--meta", "none", "--fail-on-warning", "--config", config)
    output = modules / "parley_client"
    generate(TOOLS / "openapi-python-client", "generate", "--path", PATH, "--output-path", output, *options)
    return importlib.import_module("parley_client")


@pytest.fixture
def call(generated, system, anna):
    """Calls an operation for anna by its place in the generated client; returns the response."""
    url = f"http://127.0.0.1:{system.http_port}"
    client = generated.AuthenticatedClient(base_url=url, token=anna.token, httpx_args={"trust_env": False})

    def call(operation: str, *arguments, **options):
        module = importlib.import_module(f"parley_client.api.{operation}")
        return module.sync_detailed(*arguments, client=client, **options)

    with client:
        yield call


@pytest.fixture
def models(generated):
    return importlib.import_module("parley_client.models")


def test_a_client_has_every_operation(generated):
    made = {path.stem.replace("_", "") for path in Path(generated.__file__).parent.glob("api/*/*.py")}
    for item in DOCUMENT["paths"].values():
        for operation in item.values():
            if "operationId" in operation:
                assert operation["operationId"].lower() in made


def test_a_client_has_every_schema_that_is_an_object(models):
    for name, schema in DOCUMENT["components"]["schemas"].items():
        # Of a schema with alternatives it makes a type for each of them.
        if "oneOf" not in schema and ("enum" in schema or schema.get("type") == "object"):
            assert hasattr(models, name), name


@pytest.fixture
def group(call, models, ben):
    created = call(
        "conversations.create_conversation",
        body=models.NewConversation(
            id=new_id(), kind=models.ConversationKind.GROUP, members=[ben.name], title="Sunday"
        ),
    )
    assert created.status_code == 201
    assert created.parsed.role is models.Role.OWNER and created.parsed.windows[0].from_ == 1
    return created.parsed.id


def test_a_client_sends_replies_edits_and_reads(call, models, group, anna, ben):
    question = call("messages.send_message", group, body=models.NewMessage(id=new_id(), text="Nine?")).parsed
    assert question.kind is models.MessageKind.TEXT and question.status is models.DeliveryStatus.SENT
    body = models.NewMessage(id=new_id(), text="Ten.", reply_to=question.id, mentions=[ben.name])
    reply = call("messages.send_message", group, body=body).parsed
    assert reply.reply_to.preview == "Nine?" and reply.mentions == [ben.name]
    edited = call("messages.edit_message", group, question.id, body=models.Edit(text="Nine, then?")).parsed
    assert edited.text == "Nine, then?" and edited.edited_at >= edited.created_at
    revisions = call("messages.list_revisions", group, question.id).parsed.revisions
    assert [revision.text for revision in revisions] == ["Nine?", "Nine, then?"]
    history = call("messages.read_history", group, limit=10).parsed
    assert [message.id for message in history.messages] == [question.id, reply.id]
    changes = call("messages.list_changes", group, after=0).parsed.changes
    assert [change.kind.value for change in changes] == [
        "conversation.created",
        "message.created",
        "message.created",
        "message.edited",
    ]


def test_a_client_reacts_and_sees_who_has_read(call, models, group, anna, ben):
    message = call("messages.send_message", group, body=models.NewMessage(id=new_id(), text="Nine?")).parsed
    set_tapback = call("messages.set_tapback", group, message.id, body=models.NewTapback(kind="love")).parsed
    assert set_tapback.tapback_counts.to_dict() == {"love": 1}
    ben.post(f"/v1/conversations/{group}/receipts", {"readSeq": message.seq})
    receipts = call("receipts.list_receipts", group, message.id).parsed
    assert [receipt.user_id for receipt in receipts.read] == [ben.name]
    read = call("messages.get_message", group, message.id).parsed
    assert read.status is models.DeliveryStatus.READ and read.date_read >= read.created_at
    everyone = models.DeleteMessageScope.EVERYONE
    assert call("messages.delete_message", group, message.id, scope=everyone).status_code == 204
    tombstone = call("messages.get_message", group, message.id).parsed
    assert tombstone.text is None and tombstone.deleted_for_everyone is True


def test_a_client_gets_problems_and_limits_as_types(call, models):
    refused = call("conversations.get_conversation", new_id())
    assert refused.status_code == 404
    assert isinstance(refused.parsed, models.Problem) and refused.parsed.code is models.ProblemCode.NOTFOUND
    limits = call("service.get_limits").parsed
    assert limits.text_bytes == 16384 and limits.costs["sync"].base == 10
    assert call("settings.put_settings", body=models.NewSettings(presence=False)).parsed.presence is False


# MARK: datamodel-code-generator


@pytest.fixture(scope="module")
def types(modules):
    files = ("--input", PATH, "--input-file-type", "openapi", "--output", modules / "parley_types.py")
    options = ("--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin")
    generate(TOOLS / "datamodel-codegen", *files, *options)
    return importlib.import_module("parley_types")


def test_types_write_requests_and_read_responses(types, anna, ben):
    new = types.NewConversation(id=new_id(), kind="group", members=[ben.name], title="Sunday")
    created = anna.post("/v1/conversations", new.model_dump_json(exclude_none=True).encode())
    conversation = types.Conversation.model_validate_json(created.content)
    path = f"/v1/conversations/{new.id.root}"
    body = types.NewMessage(id=new_id(), text="Nine?", mentions=[ben.name])
    sent = types.Message.model_validate_json(
        anna.post(f"{path}/messages", body.model_dump_json(exclude_none=True).encode()).content
    )
    assert conversation.role is types.Role.owner and conversation.windows[0].to is None
    assert sent.kind is types.MessageKind.text and sent.status is types.DeliveryStatus.sent
    history = types.History.model_validate_json(anna.get(f"{path}/messages").content)
    assert history.messages == [sent]
    changes = types.ChangePage.model_validate_json(ben.get(f"{path}/changes?after=0").content).changes
    assert [change.kind for change in changes] == [
        types.ChangeKind.conversation_created,
        types.ChangeKind.message_created,
    ]
    # A change shows everybody the same: not how far the message is.
    assert not hasattr(changes[1].message, "status") and changes[1].message.mentions[0].root == ben.name
    problem = types.Problem.model_validate_json(anna.get(f"/v1/conversations/{new_id()}").content)
    assert problem.code is types.ProblemCode.notFound and problem.status == 404


def test_types_read_the_frames_of_the_socket(types, anna, ben):
    group = anna.group(ben)
    with ben.socket() as socket:
        welcome = types.WelcomeFrame.model_validate(socket.welcome)
        assert [conversation.id.root for conversation in welcome.conversations] == [group]
        message = anna.send(group, "Nine?")
        frame = types.ChangeFrame.model_validate(socket.expect("change"))
        assert frame.change.kind is types.ChangeKind.message_created and frame.change.message.text == "Nine?"
        read = types.ReceiptItem(conversationId=group, seq=message["seq"])
        socket.send(type="read", **json.loads(read.model_dump_json()))
        status = types.StatusFrame.model_validate(socket.expect("status", where=lambda frame: "read" in frame))
        assert {user: seq.root for user, seq in status.read.items()} == {ben.name: message["seq"]}
        private = types.PrivateFrame.model_validate(socket.expect("private"))
        assert private.kind is types.PrivateKind.read_moved and private.readSeq.root == message["seq"]
