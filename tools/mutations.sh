#!/bin/sh
# Mutation tests: applies each patch of tests/mutations to a copy of the tree, and expects that its test fails.
# tools/mutations.py --help gives the options.
exec python3 "$(dirname "$0")/mutations.py" "$@"
