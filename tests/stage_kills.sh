#!/bin/sh
# Kills processes of pipeline ranks at random moments while a study trains with them. One kill in twenty hits the
# engine, which is then resumed, and one in twenty hits a worker. Each study must end with the canonical export and the
# winner's weights of an undisturbed study of one thread, byte for byte.
#
# usage: stage_kills.sh LANISTA KILLS SEED [remote] [run options…]
#
#   LANISTA  the program, KILLS the least number of killed ranks, SEED the seed of the random moments
#
#   remote   ranks are on two hosts that a fake ssh runs on this machine; they share no memory with the worker
set -eu

lanista=$1 kills=$2 seed=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "${1:-}" = remote ]; then
  shift
  set -- "$@" --set 'cluster.places=[node1,node2]'
  . "$(dirname "$0")/fake_ssh.sh"
  fake_ssh
fi

. "$(dirname "$0")/kill_support.sh"
children() { cat /proc/"$1"/task/*/children 2> /dev/null || true; }
is_stage() { cat /proc/"$1"/cmdline 2> /dev/null | tr "\\0" " " | grep -q ' stage $'; }
# stages ENGINE: the process ids of the ranks of all its workers
stages() {
  for worker in $(children "$1"); do
    for rank in $(children "$worker"); do
      if is_stage "$rank"; then echo "$rank"; fi
    done
  done
}
cat > "$work/study.yaml" << 'END'
name: ranks
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

killed=0 others=0 sample=0 run=0 failed=0
while [ "$killed" -lt "$kills" ]; do
  run=$((run + 1))
  study="$work/run-$run" here=0
  while :; do
    if [ -d "$study" ] && "$lanista" status "$study" > /dev/null 2>&1; then
      "$lanista" resume "$study" --quiet --isolation process > "$work/table" 2> "$work/errors" &
    else
      rm -rf "$study"
      "$lanista" run "$work/study.yaml" --out "$study" --quiet --isolation process --set run.pipeline=3 "$@" \
        > "$work/table" 2> "$work/errors" &
    fi
    engine=$! ended=false status=0
    while ! $ended; do
      sample=$((sample + 1))
      sleep "$(awk -v f="$(fraction "$sample")" 'BEGIN { printf "%.3f", 0.02 + f * 0.8 }')"
      if [ "$killed" -ge "$kills" ] || ! kill -0 "$engine" 2> /dev/null; then
        wait "$engine" || status=$?
        ended=true
        continue
      fi
      what=$(awk -v f="$(fraction "$((sample + 50000))")" 'BEGIN { printf "%d", f * 20 }')
      all=$(stages "$engine")
      if [ "$what" = 0 ]; then
        kill -9 "$engine" 2> /dev/null && others=$((others + 1))
        wait "$engine" 2> /dev/null || true
        break
      elif [ "$what" = 1 ]; then
        worker=$(children "$engine" | cut -d' ' -f1)
        if [ -n "$worker" ] && kill -9 "$worker" 2> /dev/null; then others=$((others + 1)); fi
      elif [ -n "$all" ]; then
        rank=$(echo "$all" | awk -v f="$(fraction "$((sample + 90000))")" \
          '{ line[NR] = $1 } END { print line[1 + int(f * NR)] }')
        if kill -9 "$rank" 2> /dev/null; then
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
    lost=$("$lanista" status "$study" --json | grep -o '"last_lost":{[^}]*}' | grep -o '"reason":"[^"]*"' || true)
    echo "run $run: $here ranks killed, equal; $lost"
  else
    echo "run $run: $here ranks killed, DIFFERENT"
    cat "$work/difference"
    failed=$((failed + 1))
  fi
  rm -rf "$study"
done
echo "$run runs, killed $killed ranks and $others workers and engines, $failed different"
[ "$failed" -eq 0 ]
