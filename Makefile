# The commands of everyday work; README.md has the two that matter.

# An import of a module that Package.swift does not declare is an error: dependencies point one way.
SWIFT_FLAGS := --explicit-target-dependency-import-check error

.PHONY: help run up down status build test check test-containers faults fuzz bench bench-receipts format format-check clean

help:
	@echo "make run           build, start a system, show how to use it; Ctrl-C stops it"
	@echo "make test          everything that CI checks"
	@echo "make check         what takes two minutes after an edit: format, a debug build, unit tests, documents"
	@echo "make up            like run, in the background; again: starts what is not running"
	@echo "make status        the processes of that system"
	@echo "make down          stops it; its data stays in .parley"
	@echo "make build         the release executables, in .build/release"
	@echo "make bench         measures a system of its own, beside what this machine can do without it"
	@echo "make test-containers  the system in containers alone: scaled, killed, cut off (part of make test)"
	@echo "make faults        clients write while everything fails, for ten minutes: a report (a short form is in make test)"
	@echo "make fuzz          libFuzzer looks for inputs that break a reader of strangers' bytes"
	@echo "make bench-receipts  measures receipts on a system of its own"
	@echo "make format        formats the sources"
	@echo "make format-check  checks formatting, shell scripts and Python"
	@echo "make clean         stops the system, removes its data and everything built"

run up down status:
	@deploy/dev/$@

build:
	@deploy/bootstrap
	@Clients/web/build
	swift build --configuration release $(SWIFT_FLAGS)

test:
	@Tests/run

check:
	@Tests/run format debug quick documents

bench: build
	@Tests/Load/bench.py
	@Tests/Load/semantics.py
	@Tests/run python >/dev/null
	@.venv/bin/python Tests/Load/media.py

test-containers:
	@Tests/run build containers

# FAULTS='--seed 7 --seconds 600' repeats a run; --help tells the rest.
faults: export FAULTS ?= --seconds 600
faults:
	@Tests/run build faults

# FUZZ='--seconds 600 http frame' looks longer, and at these readers alone.
fuzz:
	@deploy/bootstrap
	@Tests/fuzz $(FUZZ)

bench-receipts: build
	@PARLEY_NO_BUILD=1 Tests/Load/receipts

format:
	swift format --in-place --recursive --parallel --configuration .swift-format Package.swift Clients Services Shared Tests
	.venv/bin/ruff check --fix Tests && .venv/bin/ruff format Tests  # in .venv since the first make format-check

format-check:
	@Tests/run format

clean:
	@deploy/dev/down --erase
	rm -rf .build .venv
