#!/bin/sh
# Lists the ten units and the ten headers of a build that need the most time to compile.
#
# usage: tools/build_times.sh [BUILD-FOLDER]     default: build/release
#
# Units: wall time from the log of ninja. Build whole and without ccache before: CCACHE_DISABLE=1 ninja -C BUILD-FOLDER.
# Headers: seconds to parse the header alone with the precompiled header, times the units that include it. Only the 60
# headers that most units include are measured, in about a minute.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
if [ ! -e "$build/.ninja_log" ]; then
  echo "build_times: $build has no .ninja_log: build first" >&2
  exit 1
fi

echo "units, seconds:"
awk -F '\t' '$4 ~ /\.o$/ && $4 !~ /_pch/ { seconds[$4] = ($2 - $1) / 1000 }
             END { for (unit in seconds) printf "%8.1f  %s\n", seconds[unit], unit }' "$build/.ninja_log" |
  sort -rn | head -10

# The compile command of one unit, without its outputs and its source.
command=$(ninja -C "$build" -t commands src/lanista/app/report/liblanista_app_report.a |
  grep -m 1 "cmake_pch.hxx.*app_report" | sed 's/^.* \([^ ]*c++\) /\1 /; s/-fpch-preprocess//; s/ -MD .*//')
# parse_seconds FILE: prints the CPU seconds of the compiler's front end.
parse_seconds() {
  (cd "$build" && bash -c "TIMEFORMAT=%U; time $command -fsyntax-only -x c++ $1") 2>&1 | tail -1
}
empty=$(mktemp --suffix .cpp)
trap 'rm -f "$empty"' EXIT
none=$(parse_seconds "$empty")
echo "headers, seconds in all units:"
ninja -C "$build" -t deps | grep -o 'src/lanista/.*\.h$' | sort | uniq -c | sort -rn | head -60 |
  while read -r units header; do
    printf '#include "%s"\n' "${header#src/}" >"$empty"
    echo "$units $(parse_seconds "$empty") $none $header"
  done | awk '{ printf "%8.1f  %s (%d units)\n", $1 * ($2 - $3), $4, $1 }' | sort -rn | head -10
