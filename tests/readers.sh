#!/bin/sh
# Runs a check of tests/readers with a Python that has the packages: readers.sh SCRIPT ARGS...
# Python is $LANISTA_READERS_PYTHON, else the one in build/readers, else python3. Exit code 77: skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
script=$here/readers/$1
shift
python=${LANISTA_READERS_PYTHON:-}
if [ -z "$python" ]; then
  python=$here/../build/readers/bin/python
  [ -x "$python" ] || python=python3
fi
if ! command -v "$python" > /dev/null; then
  echo "skipped: $python is not installed"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$script" "$@"
