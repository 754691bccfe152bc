"""Commands in documents name programs, targets, services and options that exist.

A block whose commands a test elsewhere runs says so in a comment before it: `<!-- run by: PATH -->`.
"""

import re
import subprocess
import sys
from functools import cache

import pytest
import yaml
from repository import EXECUTABLES, REPOSITORY, Block, blocks, documents, files, prose, text
from services import SERVICES
from shell import commands, functions

LANGUAGES = {"html", "js", "json", "sh", "sql", "swift", "text"}
OURS = (*SERVICES, "parley")
# What a reader has, or knows to install.
KNOWN = set(
    "[ callgrind_annotate cat cd createdb curl debootstrap deno docker echo git head kill kubectl make perf pg_dump "
    "pg_restore psql sleep swift tar ulimit valgrind".split()
)
# What is checked in prose, where code is mostly no command.
IN_PROSE = re.compile(r"^(?:make|parley|store|receipt|media|docker compose|Tests/[\w./]+|deploy/[\w./-]+) \S")
COMPOSE = yaml.safe_load(text("docker-compose.yml"))
# Of the services of docker-compose.yml that are run once: what they are.
RUN_ONCE = {"parley": "parley", "migrate-store": "store", "migrate-receipt": "receipt", "migrate-media": "media"}
COMPOSE_OPTIONS = {
    "up": {"--build", "--detach", "--no-recreate", "--no-deps", "--force-recreate", "--scale"},
    "run": {"--rm", "--no-deps"},
    "exec": {"-T"},
    "down": {"--volumes"},
    "build": set(),
}
BLOCKS = [block for name in documents() for block in blocks(name)]
SCRIPTS = [block for block in BLOCKS if block.language == "sh"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_says_what_it_is(block):
    assert block.language in LANGUAGES, "commands are sh, and checked; what programs print is text"


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.place)
def test_a_block_is_a_script(block):
    checked = subprocess.run(["bash", "-n"], input=block.content, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.place)
def test_commands_in_blocks_exist(block):
    defined = functions(block.content)
    wrong = [said for words in commands(block.content) for said in problems(words, defined)]
    assert not wrong


@pytest.mark.parametrize("name", documents())
def test_commands_in_prose_exist(name):
    lines = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose(name))]
    lines = [line for line in lines if IN_PROSE.match(line)]
    assert not [said for line in lines for words in commands(line) for said in problems(words, set())]


def test_who_is_said_to_run_a_block_exists():
    named = [path for name in documents() for path in re.findall(r"<!-- run by: (\S+) -->\n\n?```sh", text(name))]
    mentioned = [path for name in documents() for path in re.findall(r"^<!-- run by: (\S+) -->", text(name), re.M)]
    assert named == mentioned, "it stands right before a block"
    assert not [path for path in named if path not in files()]


# MARK: What may be wrong with a command


def problems(words: list[str], defined: set[str]) -> list[str]:
    program, arguments = words[0], words[1:]
    name = program.rpartition("/")[2]
    if program in OURS or program == f".build/release/{name}" and name in OURS:
        return own(name, arguments)
    if program in defined:
        return []
    if program == "make":
        return targets(arguments)
    if words[:2] == ["docker", "compose"]:
        return compose(words[2:])
    if "/" in program and not program.startswith("/"):
        return script(program, arguments)
    return [] if program in KNOWN else [f"{program}: no program that a reader has"]


def options(arguments: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in arguments if re.match(r"--?[a-zA-Z]", word)]


def unknown(program: str, arguments: list[str], usage: str) -> list[str]:
    known = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", usage)) | {"--help"}
    return [f"{program} has no {option}" for option in options(arguments) if option not in known]


def own(name: str, arguments: list[str]) -> list[str]:
    command = arguments[0] if arguments else ""
    if name == "parley":
        if re.fullmatch(r"[A-Z_]+|\$@", command):  # COMMAND: any of them; "$@": of a function.
            return []
        if command not in parley_commands() | {"--help"}:
            return [f"parley has no command {command}"]
        usage = parley_help(command)
        if command == "load" and (scenario := arguments[1:2]) and not re.fullmatch(r"[A-Z]+|--\w+", scenario[0]):
            if not re.search(rf"^  {scenario[0]} ", usage, re.MULTILINE):
                return [f"parley load has no scenario {scenario[0]}"]
        return unknown(f"parley {command}", arguments[1:], usage)
    if command == "migrate" and name in ("store", "receipt", "media"):
        return unknown(f"{name} migrate", arguments[1:], text("Shared/Postgres/Migrator+Command.swift"))
    if command in ("", "health", "statement") or name == "store" and command in ("restored", "placement"):
        return []
    if name == "media" and command in ("collect", "copy"):
        source = text(f"Services/Media/{command.capitalize()}Command.swift")
        return unknown(f"media {command}", arguments[1:], source)
    return [f"{name} has no command {command}"]


@cache
def parley_help(command: str) -> str:
    called = [EXECUTABLES / "parley", *([command] if not command.startswith("--") else []), "--help"]
    return subprocess.run(called, capture_output=True, text=True, check=True, timeout=30).stdout


def parley_commands() -> set[str]:
    return set(re.findall(r"^  (\w+)  ", parley_help("--help"), re.MULTILINE))


def targets(arguments: list[str]) -> list[str]:
    known = re.findall(r"^([\w-]+)(?: [\w-]+)*:(?!=)", text("Makefile"), re.MULTILINE)
    known += re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)[1].split()
    variables = re.findall(r"\$\((\w+)\)|export (\w+)", text("Makefile"))
    wrong = []
    for argument in arguments:
        name, is_variable, _ = argument.partition("=")
        if is_variable and name not in {found for pair in variables for found in pair}:
            wrong.append(f"make has no variable {name}")
        elif not is_variable and name not in known:
            wrong.append(f"make has no target {name}")
    return wrong


def script(program: str, arguments: list[str]) -> list[str]:
    if program not in files():
        return [f"there is no {program}"]
    if not (REPOSITORY / program).stat().st_mode & 0o100:
        return [f"{program} cannot be run"]
    if program == "Tests/run":
        stages = re.findall(r"^stage_(\w+)\(\)", text("Tests/run"), re.MULTILINE)
        return [f"Tests/run has no stage {stage}" for stage in arguments if stage not in stages]
    usage = python_help(program) if program.endswith(".py") else text(program)
    return unknown(program, arguments, usage)


@cache
def python_help(program: str) -> str:
    called = [sys.executable, REPOSITORY / program, "--help"]
    return subprocess.run(called, capture_output=True, text=True, check=True, timeout=60).stdout


def compose(arguments: list[str]) -> list[str]:
    while arguments and arguments[0] == "--profile":
        if not any(arguments[1] in service.get("profiles", []) for service in COMPOSE["services"].values()):
            return [f"docker-compose.yml has no profile {arguments[1]}"]
        arguments = arguments[2:]
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in COMPOSE_OPTIONS:
        return [f"docker compose {verb} is not among the verbs that are known here"]
    named = []
    while rest:
        word, rest = rest[0], rest[1:]
        if word == "--scale" and rest:
            named.append(rest[0].partition("=")[0])
            rest = rest[1:]
        elif word.startswith("-"):
            if word not in COMPOSE_OPTIONS[verb]:
                return [f"docker compose {verb} {word} is not among the options that are known here"]
        else:
            named.append(word)
            if verb in ("run", "exec"):  # What follows is the command in the container.
                break
    wrong = [f"docker-compose.yml has no service {name}" for name in named if name not in COMPOSE["services"]]
    if not wrong and verb == "run" and rest and named[0] in RUN_ONCE:
        return own(RUN_ONCE[named[0]], rest)
    return wrong


def test_the_check_itself_finds_what_is_wrong():
    wrong = ["parley sing", "parley load day --lound", "make tea", "make fuzz TEA=1", "deploy/nothing", "sing --loud"]
    wrong += ["Tests/run everything", "docker compose up --scale tea=2", "docker compose run --rm parley sing"]
    wrong += ["store migrate --tea", "deploy/dev/down --tea", "Tests/Load/bench.py --tea", 'echo "$(sing)"']
    for line in wrong:
        assert [said for words in commands(line) for said in problems(words, set())], line


def test_blocks_are_found():
    assert Block("README.md", 0, "sh", "").language == "sh" and len(SCRIPTS) > 10
