#!/bin/sh
# Kills studies at random moments and resumes them, several times each. Each must end with the canonical export and the
# winner's weights of an undisturbed study, byte for byte.
#
# With --stops, requests to stop trials arrive shortly before each kill. The result then depends on the moment, so each
# study must only end, within two minutes after its last kill.
#
# usage: kill_resume.sh LANISTA RUNS KILLS SEED [--stops] [run options…]
#   LANISTA  the program                  RUNS  number of disturbed studies
#   KILLS    least number of kills, of all studies    SEED  seed of the random moments
set -eu

lanista=$1 runs=$2 kills=$3 seed=$4 stops=false
shift 4
if [ "${1:-}" = --stops ]; then
  stops=true
  shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$(dirname "$0")/kill_support.sh"
now() { date +%s.%N; }

# ask_for_stops STUDY N: requests to stop eight of the first forty trials, most of which run or have just ended
ask_for_stops() {
  [ -d "$1/control" ] || return 0
  awk -v seed="$seed" -v n="$2" \
    'BEGIN { srand(seed * 7919 + n); rand(); for (i = 0; i < 8; i++) print int(1 + 40 * rand()) }' |
    while read -r trial; do : > "$1/control/stop-trial-$trial"; done
  sleep "$(awk -v f="$(fraction "$2")" 'BEGIN { printf "%.3f", 0.3 + f * 0.1 }')"
}

begin=$(now)
"$lanista" run --out "$work/reference" --quiet "$@" > "$work/reference.table"
end=$(now)
seconds=$(echo "$begin $end" | awk '{ print $2 - $1 }')
fingerprint "$work/reference" > "$work/reference.sum"
echo "undisturbed study: $seconds s"

killed=0 sample=0 run=0 failed=0
per_run=$(( (kills + runs - 1) / runs ))
while [ "$run" -lt "$runs" ] || [ "$killed" -lt "$kills" ]; do
  run=$((run + 1))
  study="$work/run-$run"
  here=0 attempt=0
  while :; do
    attempt=$((attempt + 1))
    limit=
    if $stops && [ "$here" -ge "$per_run" ]; then limit='timeout -s KILL 120'; fi
    # A kill before the header is on disk leaves no study to resume: start it again, as a user would.
    if [ -d "$study" ] && "$lanista" status "$study" > /dev/null 2>&1; then
      $limit "$lanista" resume "$study" --quiet > "$work/table" 2> "$work/errors" &
    else
      rm -rf "$study"
      $limit "$lanista" run --out "$study" --quiet "$@" > "$work/table" 2> "$work/errors" &
    fi
    process=$!
    if [ "$here" -ge "$per_run" ]; then
      wait "$process" || { echo "run $run: failed after $here kills"; cat "$work/errors"; exit 1; }
      break
    fi
    sample=$((sample + 1))
    # The wait is at most 1.9 shares of the study's time, with one share a kill. Most kills arrive while it runs.
    sleep "$(awk -v f="$(fraction "$sample")" -v s="$seconds" -v k="$per_run" \
      'BEGIN { printf "%.3f", f * 1.5 * s / (k * 0.8) }')"
    if $stops; then ask_for_stops "$study" "$sample"; fi
    if kill -9 "$process" 2> /dev/null; then
      here=$((here + 1))
      killed=$((killed + 1))
    fi
    if wait "$process" 2> /dev/null; then break; fi
  done
  if $stops; then
    echo "run $run: $here kills, ended"
    rm -rf "$study"
    continue
  fi
  if as_reference "$study"; then
    echo "run $run: $here kills, equal"
  else
    echo "run $run: $here kills, DIFFERENT"
    cat "$work/difference"
    failed=$((failed + 1))
  fi
  rm -rf "$study"
done
echo "$run runs, $killed kills, $failed different"
[ "$failed" -eq 0 ]
