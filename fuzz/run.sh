#!/bin/sh
# Runs the fuzzers, two at a time, and prints a line for each.
# usage: run.sh [SECONDS] [TARGETS…]     (default: 60 seconds, all that were built)
#
# LANISTA_FUZZ_SEED: the seed of libFuzzer (default 1, so that a run repeats). Long campaigns use other seeds.
# LANISTA_FUZZ_BUILD: the build folder of the fuzz preset (default: build/fuzz). Findings and grown corpora stay there,
# in findings/ and corpus/. Seeds in the source tree are only read. Exit 1 on any finding.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${LANISTA_FUZZ_BUILD:-build/fuzz}
seconds=60
case ${1:-} in
  [0-9]*) seconds=$1; shift ;;
esac
if [ $# -eq 0 ]; then
  for program in "$build"/fuzz/fuzz_*; do
    [ -x "$program" ] && set -- "$@" "${program##*/fuzz_}"
  done
fi
if [ $# -eq 0 ]; then
  echo "fuzz: nothing in $build/fuzz; build it: cmake --preset fuzz && cmake --build --preset fuzz" >&2
  exit 1
fi

run_one() {
  target=$1 program=$build/fuzz/fuzz_$1 out=$build/findings/$1
  if [ ! -x "$program" ]; then
    printf '%-12s not built\n' "$target"
    return 1
  fi
  mkdir -p "$out" "$build/corpus/$target"
  words=""
  [ -f "fuzz/$target.dict" ] && words="-dict=fuzz/$target.dict"
  "$program" "$build/corpus/$target" "fuzz/corpus/$target" $words \
    -seed="${LANISTA_FUZZ_SEED:-1}" -max_total_time="$seconds" -max_len=65536 \
    -timeout=25 -rss_limit_mb=1024 -malloc_limit_mb=512 -artifact_prefix="$out/" -print_final_stats=1 \
    >"$out/log.txt" 2>&1
  result=$?
  done_=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/log.txt" | tail -1)
  last=$(grep -o 'cov: [0-9]* .*corp: [0-9]*' "$out/log.txt" | tail -1)
  covered=$(echo "$last" | sed 's/cov: \([0-9]*\) .*/\1/')
  corpus=$(echo "$last" | sed 's/.*corp: //')
  if [ $result -eq 0 ]; then
    word=ok
  else
    word="FOUND: $(grep -m1 -o 'SUMMARY: .*' "$out/log.txt" | cut -c10-100) ($out)"
  fi
  printf '%-12s %10s runs  %6s edges  %5s inputs  %s\n' "$target" "${done_:-0}" "${covered:-0}" "${corpus:-0}" "$word"
  return $result
}

bad=0
while [ $# -gt 0 ]; do
  run_one "$1" & first=$!
  shift
  second=""
  if [ $# -gt 0 ]; then
    run_one "$1" & second=$!
    shift
  fi
  wait "$first" || bad=1
  [ -z "$second" ] || wait "$second" || bad=1
done
exit $bad
