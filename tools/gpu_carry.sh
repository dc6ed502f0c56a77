#!/bin/sh
# Fills a folder with the headers and sources that a build needs on a bare machine: nlohmann-json, CLI11, xxHash and
# GoogleTest. tools/gpu_check.sh reads it from ./.carry or LANISTA_CARRIED.
#
#   tools/gpu_carry.sh [FOLDER]
# Debian: nlohmann-json3-dev libcli11-dev libxxhash-dev googletest
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/.carry}
include=${LANISTA_CARRY_FROM:-/usr}/include
share=${LANISTA_CARRY_FROM:-/usr}/share/cmake/nlohmann_json
tests=${LANISTA_CARRY_FROM:-/usr}/src/googletest/googletest
for each in "$include/nlohmann" "$include/CLI" "$include/xxhash.h" "$share" "$tests"; do
  if [ ! -e "$each" ]; then
    echo "gpu_carry: $each is missing (nlohmann-json3-dev libcli11-dev libxxhash-dev googletest)" >&2
    exit 1
  fi
done
rm -rf "$out"
mkdir -p "$out/include" "$out/share/cmake" "$out/src/googletest"
cp -RL "$include/nlohmann" "$include/CLI" "$out/include/"
cp -L "$include/xxhash.h" "$out/include/"
[ ! -e "$include/xxh3.h" ] || cp -L "$include/xxh3.h" "$out/include/"
cp -RL "$share" "$out/share/cmake/"
cp -RL "$tests/include" "$tests/src" "$out/src/googletest/"
du -sh "$out"
