# `make demo`, `make eval` and `make test` do all their own set-up in .venv; `make check` is the full gate.
SOURCES := $(shell find boost_langchain -name '*.py') pyproject.toml
PY := .venv/bin/python

.PHONY: demo eval test check clean

demo: .venv/.installed
	@$(PY) scripts/demo.py

eval: .venv/.installed
	@$(PY) scripts/evaluate_retrieval.py --floors tests/eval/floors.json $(ARGS)

# Plain pytest: `python -m pytest` would put the checkout first on the import path.
test: .venv/.tested
	.venv/bin/pytest -n auto --cov --cov-report=term $(ARGS)

# pyenv shows only what .python-version selects; the gate wants every Python it has.
check: .venv/.tested
	PYENV_VERSION="$$(pyenv versions --bare 2>/dev/null | grep '^3\.1[2-9]' | paste -sd: -)" \
	.venv/bin/tox run $(ARGS)

clean:
	rm -rf .venv .tox dist build

.venv/.python: scripts/find_python.sh .python-version
	@sh scripts/find_python.sh .venv
	@touch $@

# A wheel, never an editable install: there the engine's copy of the package would win.
.venv/.installed: .venv/.python $(SOURCES)
	@rm -rf .venv/wheel
	@$(PY) -m pip wheel --quiet --no-deps --wheel-dir .venv/wheel .
	@$(PY) -m pip install --quiet .venv/wheel/*.whl
	@$(PY) -m pip install --quiet --no-deps --force-reinstall .venv/wheel/*.whl
	@touch $@

.venv/.tested: .venv/.installed
	@$(PY) -m pip install --quiet --group test tox tox-uv
	@touch $@
