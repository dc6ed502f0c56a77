#!/bin/sh
# Kills processes at places of pipelines while a study trains with them, at random moments; now and then the worker that has them, or the
# engine of all, which is then resumed. Each study must end with the same canonical export of its log and the same winner's weights, byte for
# byte, as one that a single thread trained and nobody disturbed; and no process may be left behind.
#
# usage: stage_kills.sh LANISTA KILLS SEED [far] [run options…]
#   LANISTA  the binary    KILLS  of places, at least    SEED  of the random moments
#   far      places are on two hosts, which a stand-in for ssh has here: they do not see the worker's memory
set -eu

lanista=$1 kills=$2 seed=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "${1:-}" = far ]; then
  shift
  set -- "$@" --set 'cluster.places=[node1,node2]'
  . "$(dirname "$0")/stand_in_ssh.sh"
  stand_in_ssh
fi

. "$(dirname "$0")/kill_support.sh"
children() { cat /proc/"$1"/task/*/children 2> /dev/null || true; }
is_stage() { cat /proc/"$1"/cmdline 2> /dev/null | tr "\\0" " " | grep -q ' stage $'; }
# stages ENGINE: of all its workers
stages() {
  for worker in $(children "$1"); do
    for place in $(children "$worker"); do
      if is_stage "$place"; then echo "$place"; fi
    done
  done
}
cat > "$work/study.yaml" << 'END'
name: places
data: {source: "builtin:digits", batch: 64}
model: {base: "builtin:small-cnn"}
space: {mutate: [widen, add_skip], params: {lr: log(0.001, 0.03)}}
train: {epochs: 4, optimizer: adam, accumulate: 4}
strategy: {name: random}
budget: {trials: 6}
keep: {checkpoint_every: 0.3s}
run: {workers: 1, seed: 3}
END
"$lanista" run "$work/study.yaml" --out "$work/reference" --quiet "$@" > "$work/reference.table"
fingerprint "$work/reference" > "$work/reference.sum"

killed=0 others=0 draw=0 run=0 failed=0
while [ "$killed" -lt "$kills" ]; do
  run=$((run + 1))
  study="$work/run-$run" here=0
  while :; do
    if [ -d "$study" ] && "$lanista" status "$study" > /dev/null 2>&1; then
      "$lanista" resume "$study" --quiet --isolation process > "$work/table" 2> "$work/errors" &
    else
      rm -rf "$study"
      "$lanista" run "$work/study.yaml" --out "$study" --quiet --isolation process --set run.pipeline=3 "$@" > "$work/table" 2> "$work/errors" &
    fi
    engine=$! ended=false status=0
    while ! $ended; do
      draw=$((draw + 1))
      sleep "$(awk -v f="$(fraction "$draw")" 'BEGIN { printf "%.3f", 0.02 + f * 0.8 }')"
      if [ "$killed" -ge "$kills" ] || ! kill -0 "$engine" 2> /dev/null; then
        wait "$engine" || status=$?
        ended=true
        continue
      fi
      what=$(awk -v f="$(fraction "$((draw + 50000))")" 'BEGIN { printf "%d", f * 20 }')
      all=$(stages "$engine")
      if [ "$what" = 0 ]; then
        kill -9 "$engine" 2> /dev/null && others=$((others + 1))
        wait "$engine" 2> /dev/null || true
        break
      elif [ "$what" = 1 ]; then
        worker=$(children "$engine" | cut -d' ' -f1)
        if [ -n "$worker" ] && kill -9 "$worker" 2> /dev/null; then others=$((others + 1)); fi
      elif [ -n "$all" ]; then
        place=$(echo "$all" | awk -v f="$(fraction "$((draw + 90000))")" '{ line[NR] = $1 } END { print line[1 + int(f * NR)] }')
        if kill -9 "$place" 2> /dev/null; then
          killed=$((killed + 1)) here=$((here + 1))
        fi
      fi
    done
    if $ended; then
      [ "$status" = 0 ] || { echo "run $run: failed"; cat "$work/errors"; exit 1; }
      break
    fi
  done
  if as_reference "$study"; then
    echo "run $run: $here places killed, equal; $("$lanista" status "$study" --json | grep -o '"last_lost":{[^}]*}' | grep -o '"reason":"[^"]*"' || true)"
  else
    echo "run $run: $here places killed, DIFFERENT"
    cat "$work/difference"
    failed=$((failed + 1))
  fi
  rm -rf "$study"
done
echo "$run runs, $killed places killed, $others workers and engines beside them, $failed different"
[ "$failed" -eq 0 ]
