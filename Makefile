# make demo    explain an alert of a simulated IoT device
# make workbench  the same alerts on a page where you move the decision yourself
# make docs    the site, into out/docs
# make test    every gate, in the order in which they are quickest to fail
# make test-long  larger draws of what make test samples: some ten minutes
# make fuzz    random questions, judged by code of its own: DRAWS=20000 for more, SEED=123 for one alone
# make bench   the comparison with other methods, and the physics: within an hour of one core
# make studies  one capability each, at the sizes their claims need: some hours
# make release  sdist and wheel into dist/, each tested in an empty environment of every Python found
# make clean   remove what the tools leave behind; make distclean: the environment too

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

SITE := $(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo workbench docs test test-long fuzz bench studies release clean distclean

help:
	@sed -n 's/^# make/make/p' Makefile

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

workbench: $(VENV)/.installed-demo
	$(BIN)/counterpoise demo --serve

# Notebooks and gallery scripts run when they have changed: what they made last time is kept in out/ and docs/gallery/.
docs: export OMP_NUM_THREADS := 1
docs: $(VENV)/.installed-dev
	$(SITE)
	@echo "open out/docs/index.html"

test: export OMP_NUM_THREADS := 1
test: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 -q
	@for example in $(filter-out examples/plot_%,$(wildcard examples/*.py)); do \
		echo "$$example"; $(BIN)/python "$$example" || exit 1; \
	done
	$(SITE)

test-long: export OMP_NUM_THREADS := 1
test-long: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -q -m long

fuzz: export OMP_NUM_THREADS := 1
fuzz: export PYTHONPATH := src:tests
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m fuzz $(if $(SEED),--seed $(SEED),--draws $(or $(DRAWS),2000) --first $(or $(FIRST),0))

# `make bench QUICK=1` measures a few rows of a few tasks, in minutes; JOBS=2 takes two processes for the comparison.
# NICE_CSV: the published numbers of NICE's own benchmark, `sheet, dataset, method, value`, where they are at hand.
NICE_CSV := $(wildcard ../shared/nice-benchmark.csv)
bench: RUN := $(if $(QUICK),--quick,--jobs $(or $(JOBS),1))
bench: PARTS := $(if $(QUICK),estimators,"nice_sets $(NICE_CSV)" ceval_check estimators loop cooling algorithm1)
studies: PARTS := constraints memory conformance firm useful

bench: export OMP_NUM_THREADS := 1
bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/run.py $(RUN)
	$(RUN_PARTS)

studies: export OMP_NUM_THREADS := 1
studies: $(VENV)/.installed-dev
	$(RUN_PARTS)

define RUN_PARTS
@for part in $(PARTS); do \
	set -- $$part; name=$$1; shift; \
	echo "benchmarks/$$name.py $$*"; $(BIN)/python benchmarks/$$name.py "$$@" || exit 1; \
done
endef

$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV) ..."
	$(PIP) -c constraints.txt -e '.[plots,web]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt requirements-dev.txt | $(BIN)/python
	@echo "installing into $(VENV) ..."
	$(PIP) -r requirements-dev.txt
	@touch $@

# A name on the path is no proof that it runs (version managers leave shims behind), so each candidate is asked.
# Half an environment is worse than none: if pip cannot be set up, nothing stays.
$(BIN)/python:
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "making $(VENV) with $$("$$python" --version)"; \
			"$$python" -m venv $(VENV) && exit 0; \
			rm -rf $(VENV); \
			echo "$$python could not make an environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
			exit 1; \
		fi; \
	done; \
	echo "Python 3.11 or later is needed; none was found on the path; install it or say: make PYTHON=/path/to/python" >&2; \
	exit 1

release:
	./.ci/release

clean:
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist out docs/gallery docs/sg_execution_times.rst
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV)
