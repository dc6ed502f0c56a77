#!/bin/sh
# The command line as a user meets it: exit codes, messages, and that nothing is lost.
#
# usage: cli.sh LANISTA
set -u

lanista=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# expect CODE TEXT COMMAND…: the command ends with this code, and its output holds the text
expect() {
  code=$1 text=$2
  shift 2
  "$@" > out 2>&1 < /dev/null
  seen=$?
  if [ "$seen" -ne "$code" ] || ! grep -qF -- "$text" out; then
    echo "FAILED: $*"
    echo "  exit $seen, wanted $code; wanted text: $text"
    sed 's/^/  | /' out
    failed=$((failed + 1))
  fi
}

small="--epochs 2 --trials 4 --quiet"

expect 0 'lanista 0.' "$lanista" --version
expect 0 'examples:' "$lanista" --help
for verb in run resume status show check pause stop doctor; do
  expect 0 'examples:' "$lanista" "$verb" --help
done
expect 2 'examples:' "$lanista"
expect 2 "did you mean 'resume'?" "$lanista" resmue
expect 2 '--nope' "$lanista" run --nope
expect 0 '"cpu"' "$lanista" doctor --json
expect 0 '$schema' "$lanista" check --schema
expect 0 'no studies' "$lanista" status

# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out first $small
expect 2 'lanista resume first' "$lanista" run --out first
expect 0 'rank  trial' "$lanista" resume first --quiet
cp out first.table
expect 0 'ended (budget)' "$lanista" status first
expect 0 '"ended":true' "$lanista" status first --json
expect 0 'edits from' "$lanista" show 'first#2'
expect 0 'digraph' "$lanista" show 'first#2' --dot
expect 0 'linear' "$lanista" show 'first#2' --plan
expect 2 'has trials 1 to 4' "$lanista" show 'first#5'
expect 0 'name: digits' "$lanista" show first --config
expect 2 'has ended already' "$lanista" stop first
expect 2 'no study' "$lanista" resume nothing-here
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out second --workers 1 $small
cmp -s out first.table || { echo "FAILED: one worker gives another table"; failed=$((failed + 1)); }
mv first moved
expect 0 'rank  trial' "$lanista" resume moved --quiet

# Mistakes in study files: place, value, what is allowed, the nearest known name.
printf 'train:\n  epoch: 3\n' > bad.yaml
expect 2 "bad.yaml:2:3: train.epoch: unknown key 'epoch'; did you mean 'epochs'?" "$lanista" run bad.yaml
printf 'strategy: {name: evolutoin}\n' > bad.yaml
expect 2 "bad.yaml:1:18: strategy.name: 'evolutoin' is not known" "$lanista" check bad.yaml
expect 2 'none.yaml' "$lanista" run none.yaml
expect 2 'KEY=VALUE' "$lanista" run --set train.epochs

# Data files: the rule they broke.
printf 'a,b\n1,2\n3\n' > ragged.csv
expect 3 'line 3' "$lanista" run --set 'data.source=csv:ragged.csv?target=b'
printf 'not numpy' > x.npy
expect 3 'x.npy' "$lanista" run --set 'data.source=npy:x.npy,x.npy'
expect 2 'none.csv' "$lanista" run --set 'data.source=csv:none.csv?target=b'
[ ! -d studies ] || { echo "FAILED: a refused run left a study behind"; failed=$((failed + 1)); }

# Own data, from the folder of the study file, resumed from elsewhere.
mkdir own
awk 'BEGIN { print "x,y,kind"; for (i = 0; i < 200; i++) { x = (i * 37 % 100) / 50 - 1; y = (i * 61 % 100) / 50 - 1; print x "," y "," (x + y > 0 ? "up" : "down") } }' > own/points.csv
printf 'data: {source: "csv:points.csv?target=kind", batch: 16}\nmodel: {base: builtin:small-mlp}\ntrain: {epochs: 3, lr: 0.1}\nbudget: {trials: 1}\n' > own/study.yaml
expect 0 'val_accuracy' "$lanista" run own/study.yaml --out own/result --quiet
expect 0 'rank  trial' "$lanista" resume own/result --trials 2 --quiet

# Signals: a clean pause, resumable, with the same end as without it.
signalled() {
  code=$1 signal=$2
  rm -rf "paused-$signal"
  "$lanista" run --out "paused-$signal" --quiet --epochs 3000 --trials 3 --set stop=none > out 2>&1 &
  process=$!
  sleep 1
  kill "-$signal" "$process"
  wait "$process"
  seen=$?
  if [ "$seen" -ne "$code" ] || ! grep -qF "lanista resume paused-$signal" out; then
    echo "FAILED: $signal ended with $seen, wanted $code"
    sed 's/^/  | /' out
    failed=$((failed + 1))
  fi
}
signalled 130 INT
signalled 75 TERM
signalled 75 USR1
"$lanista" resume paused-INT --quiet > /dev/null 2>&1 &
process=$!
sleep 1
expect 2 'another process' "$lanista" resume paused-INT
expect 0 'asked' "$lanista" pause paused-INT
wait "$process"
[ $? -eq 75 ] || { echo "FAILED: lanista pause did not end the study with 75"; failed=$((failed + 1)); }
expect 0 'not ended' "$lanista" status paused-INT

# A folder that cannot be written, and a missing parent.
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod 500 locked
  expect 2 'locked/x' "$lanista" run --out locked/x
fi
: > file
expect 2 'a file is in the way' "$lanista" run --out file/x

[ "$failed" -eq 0 ] && echo "command line: all as promised"
exit "$failed"
