#!/bin/sh
# Make a virtual environment with a Python >= 3.12: find_python.sh DIRECTORY
# Looks at $PYTHON, what pyenv selects, the usual names on PATH, then uv.
set -u
directory=$1

usable() {
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1
}

for python in "${PYTHON:-}" "$(pyenv which python 2>/dev/null)" \
    python3.12 python3.13 python3.14 python3 python; do
    if [ -n "$python" ] && usable "$python"; then
        rm -rf "$directory"
        "$python" -m venv "$directory" || exit 1
        "$directory/bin/python" -m pip install --quiet --upgrade 'pip>=25.1' || exit 1
        exit 0
    fi
done

if command -v uv >/dev/null 2>&1; then
    uv venv --quiet --clear --seed --python "$(cat .python-version)" "$directory" || exit 1
    exit 0
fi

echo "boost-langchain needs Python 3.12 or newer (or uv): none found on PATH; install one, or set PYTHON=/path/to/python3.12" >&2
exit 1
