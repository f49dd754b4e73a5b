# Every target sets up what it needs in .venv by itself. Needs Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Bytecode is kept even where the environment says otherwise: hundreds of processes of the tests import the package.
export PYTHONDONTWRITEBYTECODE :=

# Any Python that requires-python allows and the oldest versions have wheels for: 3.11 or 3.12.
PYTHON_OLDEST ?= $(PYTHON)
OLDEST := .venv-oldest
OLDEST_READY := $(OLDEST)/.ready

# Holds the wheel that `make dist` built, and the packages that it needs: no extras.
DIST_VENV := build/dist-venv

# The tests that need neither much time nor another target's output.
FAST := "not slow and not peers and not benchmarks and not site"

# Tests that call all kernels and are quick without compilation, where hashes warn of their overflow.
UNCOMPILED := tests/models/kernels tests/contexts/test_catalogue.py tests/fairness/test_group_rewards.py \
  tests/logs/test_csv_files.py tests/audit/test_pair_index.py tests/audit/test_log_sums.py \
  tests/ope/test_estimator_sums.py tests/ope/checks/test_propensity_check.py tests/ope/test_sequential_headline.py \
  tests/statistics/test_empirical_likelihood.py tests/policies/test_batch_learning.py \
  tests/policies/test_sorted_groups.py tests/models/test_network.py

.PHONY: help test lint unit coverage oldest crash torture peers reproduce fairbench simulations bench load guard docs dist clean

help:
	@echo "make reproduce   the paper's tables, figures and report, published beside measured (into results/)"
	@echo "make fairbench   the leaderboard of 22 policies in 25 worlds, and whether the default one keeps its promises (into results/fairbench/)"
	@echo "make test        everything that must pass: lint and tests"
	@echo "make lint        ruff, mypy --strict, import-linter"
	@echo "make coverage    line coverage of src, with a floor"
	@echo "make oldest      the tests with the oldest supported version of every dependency"
	@echo "make crash       servers, workers and learning processes, killed while they work: is anything lost?"
	@echo "make torture     kills, database faults, floods and hostile requests: what is promised, in a table"
	@echo "make peers       adapters in the environments of obp, Coba, MABWiser and MLflow; their example problems"
	@echo "make simulations how often intervals and conclusions are right, quickly; benchmarks/ has the full ones"
	@echo "make bench       how fast it is beside its peers, measured in one run"
	@echo "make load        how many decisions a second the service makes, beside an empty endpoint"
	@echo "make guard       whether the working tree is slower than the previous commit on main"
	@echo "make docs        the documentation site, with executed notebooks, links and accessibility checked (into docs/_build/html)"
	@echo "make dist        wheel and source archive (into dist/), tried in an empty environment"
	@echo "make clean       remove all that was made"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# At the same time, because mypy uses one core only.
test: $(READY)
	$(MAKE) --jobs=2 lint unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/python -m pytest -m $(FAST) --numprocesses 3 --dist loadfile --no-loadscope-reorder

coverage: $(READY)
	@echo "Line coverage of src, in a run of all tests and in a small one without compilation: about twelve minutes on two cores."
	$(BIN)/python -m coverage erase
	$(BIN)/python -m pytest -m $(FAST) --numprocesses 3 --dist loadfile --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses 2 --cov --cov-append --cov-report= \
	  -W "ignore:overflow:RuntimeWarning" $(UNCOMPILED)
	$(BIN)/python -m coverage report --fail-under=95

$(OLDEST_READY): pyproject.toml
	$(PYTHON_OLDEST) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST) --resolution lowest-direct -e '.[dev]'
	@touch $@

# Old versions warn about newer ones of what they need in turn, which pytest would take for errors. Numba's versions
# must not share a cache.
oldest: $(OLDEST_READY)
	@echo "The tests with the oldest versions that pyproject.toml allows: about ten minutes on two cores."
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/kernels \
	  $(OLDEST)/bin/python -m pytest -m $(FAST) -W default --numprocesses 2 --dist loadfile

crash: $(READY)
	@echo "Servers on SQLite and PostgreSQL, each killed twenty times while clients write; workers of clusters and learning processes, killed; threads that share a policy; what takes long."
	$(BIN)/python -m pytest -m slow --numprocesses 2 --dist loadfile

torture: $(READY)
	@echo "Servers on SQLite and PostgreSQL with one and two workers, attacked in every way: at most 30 minutes."
	$(BIN)/python -m tests.torture

peers: $(READY)
	@echo "Our policies in the peers' own runners, each in its own environment (kept in ~/.cache/fairbandits): about six minutes."
	$(BIN)/python -m pytest -m peers tests/adapters
	$(BIN)/python benchmarks/peer_problems.py

reproduce: $(READY)
	@echo "All tables and figures, 20 seeds: about two minutes on two cores. It can be interrupted, and goes on."
	$(BIN)/fairbandits reproduce

fairbench: $(READY)
	@echo "22 policies in 25 worlds, 20 seeds: at most 90 minutes on two cores. It can be interrupted, and goes on."
	$(BIN)/fairbandits fairbench
	$(BIN)/python benchmarks/fairbench_check.py results/fairbench/results.json

# The full simulations, 1,000 logs per cell, take hours; docs/reference/coverage.md and docs/how_to/learn.md have their results.
simulations: $(READY)
	@echo "Intervals and conclusions of audits, evaluations, certified learning and tuning on simulated logs: about ten minutes."
	$(BIN)/python benchmarks/audit_coverage.py --quick --logs 100
	$(BIN)/python benchmarks/audit_decomposition.py --logs 100
	$(BIN)/python benchmarks/audit_adjusted_coverage.py --logs 50
	$(BIN)/python benchmarks/ope_coverage.py --quick
	$(BIN)/python benchmarks/ope_checks.py --logs 30 --quick
	$(BIN)/python benchmarks/certified_learning.py --quick
	$(BIN)/python -m pytest -m benchmarks
	$(BIN)/python benchmarks/tuning_coverage.py --quick

bench: $(READY)
	@echo "Ours and all peers, each in its own environment (kept in ~/.cache/fairbandits): about twelve minutes."
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/batch_learning.py
	-$(BIN)/python benchmarks/threads_pay.py
	$(BIN)/python benchmarks/reproduce.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/report.py

load: $(READY)
	@echo "Decisions a second beside an empty endpoint, on SQLite and PostgreSQL, at 100 to 10,000 arms: about three minutes."
	$(BIN)/python benchmarks/load.py

guard: $(READY)
	@echo "The working tree and the commit before it on main, measured alternately: about three minutes."
	$(BIN)/python benchmarks/guard.py

# Notebooks and the gallery run anew every time, so that no output is older than the code.
docs: $(READY)
	@echo "The site, with all notebooks and examples executed, its internal links checked, and pages tried in a browser: about four minutes on two cores."
	rm -rf docs/_build docs/gallery
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_links.py docs/_build/html
	$(BIN)/python -m pytest -q -m site tests/test_site.py

# The wheel is built from the source archive, so a file that the archive lacks is missed here.
dist: $(READY)
	@echo "Wheel and source archive, then the wheel in an empty environment: 45 seconds of processor time."
	rm -rf dist $(DIST_VENV)
	$(BIN)/python -m build
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	$(DIST_VENV)/bin/python -I tools/smoke_test.py

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/_build docs/gallery results .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
