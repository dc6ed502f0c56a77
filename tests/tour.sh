#!/bin/sh
# Every command of the tour, copied from the page, in order, in an empty folder.
#
# usage: tour.sh LANISTA TOUR.md
set -eu

bin=$(cd "$(dirname "$1")" && pwd)
page=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$page" > commands
[ "$(grep -c '^lanista' commands)" -ge 20 ] || { echo "FAILED: the tour has hardly any command left"; exit 1; }
PATH=$bin:$PATH sh -eux commands
