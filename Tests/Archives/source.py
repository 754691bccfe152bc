"""A chat.db with the real schema of a version of macOS, and what the program makes of it."""

import json
import os
import plistlib
import sqlite3
import subprocess
import uuid
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from imessage_data_foundry.db import DatabaseBuilder

REPOSITORY = Path(__file__).resolve().parents[2]
PARLEY = Path(os.environ.get("PARLEY_EXECUTABLES", REPOSITORY / ".build" / "release")).resolve() / "parley"
VERSIONS = ["sonoma", "sequoia", "tahoe"]
SECOND = 1_000_000_000
EPOCH = datetime(2001, 1, 1, tzinfo=UTC)
START = 700_000_000 * SECOND  # In March 2023.


def rfc3339(nanoseconds: int) -> str:
    time = EPOCH + timedelta(milliseconds=nanoseconds // 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


class Source:
    """The tables, filled row by row."""

    def __init__(self, path: Path, version: str):
        self.path = path
        self.builder = DatabaseBuilder(path, version=version)
        self.sql = self.builder.connection
        self.date = START

    def handle(self, address: str, service: str = "iMessage") -> int:
        return self.builder.add_handle(address, service)

    def chat(self, guid: str, handles: list[int], **columns) -> int:
        service, kind, identifier = guid.split(";", 2)
        values = {
            "guid": guid,
            "style": 43 if kind == "+" else 45,
            "chat_identifier": identifier,
            "service_name": service,
            **columns,
        }
        row = self.insert("chat", values)
        for handle in handles:
            self.insert("chat_handle_join", {"chat_id": row, "handle_id": handle})
        return row

    def message(
        self, chat: int | None, text: str | None = None, *, sender: int | None = None, **columns
    ) -> tuple[int, str]:
        """A row, a second after the one before. Without a sender it is one's own."""
        self.date += SECOND
        guid = columns.pop("guid", str(uuid.uuid4()).upper())
        values = {
            "guid": guid,
            "text": text,
            "handle_id": sender or 0,
            "is_from_me": int(sender is None),
            "date": self.date,
            "service": "iMessage",
            **columns,
        }
        row = self.insert("message", values)
        if chat is not None:
            self.insert("chat_message_join", {"chat_id": chat, "message_id": row, "message_date": values["date"]})
        return row, guid

    def attachment(self, message: int, **columns):
        row = self.insert("attachment", {"guid": str(uuid.uuid4()).upper(), **columns})
        self.insert("message_attachment_join", {"message_id": message, "attachment_id": row})

    def insert(self, table: str, values: dict) -> int:
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        return self.sql.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())).lastrowid

    def finish(self) -> Path:
        self.builder.finalize()
        self.builder.close()
        return self.path


def summary(**entries) -> bytes:
    return plistlib.dumps(entries, fmt=plistlib.FMT_BINARY)


@dataclass
class Result:
    status: int
    records: list[dict]
    report: dict
    output: str

    def of(self, kind: str, /, **fields) -> list[dict]:
        return [
            record
            for record in self.records
            if record["type"] == kind and all(record.get(name) == value for name, value in fields.items())
        ]

    def conversations(self) -> dict[str, list[dict]]:
        found = defaultdict(list)
        for record in self.records:
            found[record.get("conversationId", record.get("id"))].append(record)
        return found


def archive(path: Path, *options: str, records: Path | None = None) -> Result:
    records = records or path.with_suffix(".ndjson")
    report = path.with_suffix(".json")
    arguments = [
        "import",
        "chatdb",
        str(path),
        "--dry-run",
        "--me",
        "me@example.com",
        "--records",
        str(records),
        "--json",
        str(report),
    ]
    done = subprocess.run([PARLEY, *arguments, *options], capture_output=True, text=True, timeout=100)
    assert done.returncode in (0, 1) and report.exists(), done.stderr
    lines = records.read_text().removesuffix("\n").split("\n")
    return Result(done.returncode, [json.loads(line) for line in lines], json.loads(report.read_text()), done.stdout)


def rows(path: Path, query: str) -> list[sqlite3.Row]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(query).fetchall()
