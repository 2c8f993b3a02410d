# Everything works from a fresh clone. Paths are relative, so that the folder's name may have spaces.
PYTHON ?= python3
RUN := .venv/bin/python
# Files in the order of their names: integration tests, which take long, before unit tests. By default the files with the
# fewest tests come last, and those are the longest.
PARALLEL := --maxprocesses=8 --dist=loadfile --no-loadscope-reorder
# One process more than there are processors, because many tests wait for servers, browsers and conditions.
PROCESSES = --numprocesses=$$(($$(getconf _NPROCESSORS_ONLN) + 1))
EXTRAS := tests/distribution/test_extras.py
# Bytecode is kept, also where the environment forbids it. Else every program that a test starts compiles Clearwell again,
# and pytest takes ten seconds to rewrite the assertions of every test.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help serve test test-edge test-extras test-faults test-fast coverage check lint docs reference outputs dist bench schema sync browser screenshots environment environment-dev clean

help:
	@echo "make serve     run Clearwell on http://127.0.0.1:8080 (CLEARWELL_PORT=… for another port)"
	@echo "make test      every check and every test but those of test-extras, on real PostgreSQL and Valkey"
	@echo "make test-edge many more requests and values at the edge than make test tries, for some minutes"
	@echo "make test-extras the example of each extra, installed in a clean environment"
	@echo "make test-faults kills, network faults, a full disk and a wrong clock under load; FAULTS=1000 of them"
	@echo "make test-fast the unit and contract tests alone, in under a minute"
	@echo "make coverage  every test, with a report of the lines that none of them runs"
	@echo "make check     ruff, mypy and the import contracts"
	@echo "make lint      the same without mypy, in seconds"
	@echo "make docs      the documentation, in site/; fails on a broken link"
	@echo "make reference the pages of docs/reference/, written again from the code"
	@echo "make outputs   what the snippets of the documentation print, written into its pages"
	@echo "make dist      the wheel and the source archive, in dist/"
	@echo "make bench     the measurements of bench/"
	@echo "make schema    write schema.sql again from the migrations"
	@echo "make sync      write the synchronous classes again from the asynchronous ones"
	@echo "make browser   find or install Chromium, which the tests of the console use"
	@echo "make screenshots  pictures of every page of the console, in screenshots/"
	@echo "make clean     remove the environment and caches; data stays"

serve: environment
	@exec $(RUN) -m clearwell serve

# mypy runs beside the tests, where they leave the processors idle. What it says comes below what they say.
test: lint browser
	@told=$$(mktemp); nice $(RUN) -m mypy >"$$told" 2>&1 & mypy=$$!; \
	trap 'kill $$mypy 2>/dev/null; rm -f "$$told"' EXIT; trap 'exit 130' INT TERM; \
	$(RUN) -m pytest $(PROCESSES) $(PARALLEL) --durations=10 --ignore=$(EXTRAS); tests=$$?; \
	wait $$mypy; types=$$?; echo '$(RUN) -m mypy'; cat "$$told"; exit $$((tests ? tests : types))

# With other requests than those of make test, because more are drawn from the same seed.
test-edge: export EDGE_EXAMPLES ?= 25
test-edge: environment-dev
	$(RUN) -m pytest --quiet tests/integration/http/test_documented_answers.py tests/integration/http/test_values.py

# Minutes, most of which pip needs.
test-extras: environment-dev
	$(RUN) -m pytest --quiet $(EXTRAS)

# About half an hour for a thousand faults on a machine that does nothing else. Root has the full disk as well.
FAULTS ?= 1000
test-faults: environment-dev
	$(RUN) -m tests.faults $(FAULTS)

test-fast: environment-dev
	$(RUN) -m pytest --quiet --numprocesses=logical $(PARALLEL) tests/unit tests/contract

# Chromium and its fonts, for the tests of the console: found, or installed by apt for root.
browser: environment-dev
	@$(RUN) scripts/browser.py

screenshots: browser
	$(RUN) -m pytest --quiet -n 0 tests/browser/screenshots.py

coverage: environment-dev browser
	$(RUN) -m coverage erase
	$(RUN) -m pytest $(PROCESSES) $(PARALLEL) --cov --cov-report=term --ignore=$(EXTRAS)

check: lint
	$(RUN) -m mypy

lint: environment-dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

docs: reference
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict

reference: environment-dev
	$(RUN) scripts/reference.py

outputs: environment-dev
	WRITE_OUTPUTS=1 $(RUN) -m pytest --quiet tests/acceptance/test_snippets.py

dist: environment-dev
	rm -rf dist
	$(RUN) -m build --no-isolation
	$(RUN) -m twine check --strict dist/*

bench: environment-dev
	$(RUN) -m bench

schema: environment-dev
	PYTHONPATH=. $(RUN) scripts/schema.py

sync: environment-dev
	$(RUN) scripts/sync.py

environment:
	@$(PYTHON) scripts/environment.py

environment-dev:
	@$(PYTHON) scripts/environment.py --dev

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
