# Everything is made inside this folder: .venv (Python), .jars (Delta), build (results).
# All that must be there before: Python 3.11 or newer, Java 17 or 21, git and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
CODE := jobs schemas udfs tests
# Processes that share the tests, a file at a time, each with a Spark session of its own.
WORKERS := 2
# The one tool that is not in the lock file: it makes the lock file.
PIP_TOOLS := pip-tools==7.6.2
LOCK_COMMAND := pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
LOCK_PROJECT := $(LOCK_COMMAND) --extra dev --output-file requirements.lock pyproject.toml
LOCK_AIRFLOW := $(LOCK_COMMAND) --output-file conf/airflow-requirements.txt \
	conf/airflow-requirements.in

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: .venv/.done .jars/.done ## Install all that is needed into .venv and .jars

.venv/.done: requirements.lock conf/build-constraints.txt
	@scripts/require_java.sh
	@python=$$(scripts/find_python.sh); \
	echo "setup: $$python makes .venv (a few minutes, about 1.5 GB)"; \
	"$$python" -m venv .venv; \
	export PIP_CONSTRAINT=conf/build-constraints.txt PIP_BUILD_CONSTRAINT=conf/build-constraints.txt; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 \
		--require-hashes -r requirements.lock
	@touch $@

.jars/.done: conf/jars.sha256 .venv/.done
	@scripts/fetch_jars.sh
	@touch $@

.PHONY: audit-sample
audit-sample: setup ## Audit the sample dump: one hanging transaction must be found
	@scripts/audit_sample.sh

.PHONY: sample-report
sample-report: audit-sample ## Write docs/sample-report anew: the report of the sample dump
	mkdir -p docs/sample-report
	cp build/sample/{report.{html,json,sarif,junit.xml},recheck.py,repair.json,verdict.json,manifest.json,SHA256SUMS} \
		docs/sample-report/
	@scripts/picture_report.sh docs/sample-report

.PHONY: audit-cluster
audit-cluster: setup ## Audit the sample on a small Spark cluster of its own
	@scripts/audit_on_cluster.sh

.PHONY: test
test: setup ## Run the tests, but for Airflow and larger runs of brokers
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: cases
cases: cases-given setup ## Audit cases of your own: make cases FILES="a.yaml b.yaml"
	@PYTHONPATH=.:tests $(BIN)/python tests/cases.py $(FILES)

# Before setup, which takes minutes.
.PHONY: cases-given
cases-given:
	@test -n "$(FILES)" || { echo 'make cases needs FILES="a.yaml b.yaml"' >&2; exit 2; }

.PHONY: test-corpus
test-corpus: setup ## Audit all dumps, and the larger corpus beside the checkout
	EOSAUDIT_CORPUS=1 $(BIN)/python -m pytest tests/stages/test_dumps.py \
		tests/incidents/test_real_breaks.py

.PHONY: laws
laws: setup ## Degrade all legal dumps as production does: no law may make a violation
	PYTHONPATH=.:tests $(BIN)/python -m laws.run --samples 1000 --cases 3
	PYTHONPATH=.:tests $(BIN)/python -m laws.run --broken

.PHONY: second-opinion
second-opinion: setup ## 100,000 random logs, and all dumps, compared with a second opinion
	PYTHONPATH=.:tests $(BIN)/python -m second_opinion.run --logs $(or $(LOGS),100000) --dumps \
		--exports $(or $(LOGS),100000) --answers

.PHONY: fuzz
fuzz: setup ## Feed a million changed files to all decoders; INPUTS, SEED and FUZZ_SECONDS bound it
	PYTHONPATH=.:tests $(BIN)/python -m fuzz.run --inputs $(or $(INPUTS),1000000) \
		--seconds $(or $(FUZZ_SECONDS),36000) --seed $(or $(SEED),1)

.PHONY: model
model: setup ## Audit seeded legal histories: make model TRANSACTIONS=10000000
	PYTHONPATH=.:tests $(BIN)/python -m model.run --transactions $(or $(TRANSACTIONS),100000) $(MODEL)

.PHONY: cleaner
cleaner: setup ## Clean seeded clusters as brokers do, and audit them: make cleaner CLEANER="--rounds 4"
	PYTHONPATH=.:tests $(BIN)/python -m cleaner.run $(CLEANER)

.PHONY: mutants
mutants: setup ## One deliberate fault in each of many histories: is it named, and only it?
	PYTHONPATH=.:tests $(BIN)/python -m mutants.run $(MUTANTS)

.PHONY: faults
faults: setup ## Kills, full disks, changing files, a failing store while it runs: FAULTS="--moments 20"
	PYTHONPATH=.:tests $(BIN)/python -m faults.run $(FAULTS)

.PHONY: fuzz-coverage
fuzz-coverage: setup build/atheris/.done ## The same, led by the code that an input reaches
	PYTHONPATH=.:tests:build/atheris $(BIN)/python -m fuzz.coverage \
		-runs=$(or $(INPUTS),100000) -max_total_time=$(or $(FUZZ_SECONDS),3600)

build/atheris/.done: conf/fuzz-requirements.txt
	rm -rf build/atheris
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps \
		--require-hashes --target build/atheris -r conf/fuzz-requirements.txt
	@touch $@

.PHONY: test-brokers
test-brokers: setup ## Fetch from real brokers of several versions, and audit what was fetched
	@scripts/fetch_kafka.sh 3.9.1 4.1.0
	EOSAUDIT_BROKERS=1 $(BIN)/python -m pytest tests/brokers

.PHONY: soak
soak: setup build/clients/.done ## Real brokers under seeded load and faults, then audited: make soak SOAK="--seeds 5"
	@scripts/fetch_kafka.sh 2.8.2 3.3.2 3.7.2 3.9.1 4.0.0 4.1.0 4.3.0
	rm -rf build/soak
	PYTHONPATH=.:tests:build/clients $(BIN)/python -m soak.run --to build/soak $(SOAK)
	EOSAUDIT_DUMPS=build/soak PYTHONPATH=.:tests $(BIN)/python -m second_opinion.run --answers
	EOSAUDIT_DUMPS=build/soak $(BIN)/python -m pytest tests/stages/test_dumps.py

build/clients/.done: conf/clients-requirements.txt
	rm -rf build/clients
	mkdir -p build/clients
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps \
		--require-hashes --target build/clients -r $< || \
		echo "soak: librdkafka cannot be had for this Python; its clients are left out" >&2
	@touch $@

.PHONY: test-kfake
test-kfake: setup ## Fetch from a broker that is not Kafka: kfake of franz-go; needs Go
	EOSAUDIT_KFAKE=1 $(BIN)/python -m pytest tests/brokers/test_kfake.py

.PHONY: test-airflow
test-airflow: setup .venv-airflow/.done ## Test the DAG under a real Airflow, with real audits
	@scripts/test_airflow.sh

.venv-airflow/.done: conf/airflow-requirements.txt
	@python=$$(scripts/find_python.sh); \
	echo "test-airflow: $$python makes .venv-airflow (a few minutes, about 0.7 GB)"; \
	rm -rf .venv-airflow; "$$python" -m venv .venv-airflow; \
	.venv-airflow/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r conf/airflow-requirements.txt
	@touch $@

.PHONY: check
check: setup ## Format, lint, types, import contracts, generated pages: what CI asks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m jobs.cli.docs --check

.PHONY: fmt
fmt: setup ## Format the code and repair what the linter can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

.PHONY: generate
generate: setup ## Write the generated pages of docs/ anew
	$(BIN)/python -m jobs.cli.docs

.PHONY: bench
bench: setup ## Run the benchmarks
	$(BIN)/python -m benchmarks.run

.PHONY: lock
lock: build/lock/.done ## Choose the newest allowed versions and write requirements.lock
	CUSTOM_COMPILE_COMMAND='make lock   ($(LOCK_PROJECT))' build/lock/bin/$(LOCK_PROJECT) --upgrade

.PHONY: lock-airflow
lock-airflow: build/lock/.done ## The same for the environment of test-airflow
	CUSTOM_COMPILE_COMMAND='make lock-airflow' build/lock/bin/$(LOCK_AIRFLOW) --upgrade

build/lock/.done:
	@python=$$(scripts/find_python.sh); \
	rm -rf build/lock; "$$python" -m venv build/lock; \
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '$(PIP_TOOLS)'
	@touch $@

.PHONY: clean
clean: ## Remove results and caches; keep .venv and .jars
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
		spark-warehouse metastore_db derby.log *.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
