#!/bin/sh
# A shortened study of the examples: `check` accepts it, and `run` prints a table and writes a model. `repeat` repeats a
# trial.
#
# usage: examples.sh LANISTA STUDY.yaml
set -eu

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
study=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*"
  sed 's/^/  | /' out
  exit 1
}

"$lanista" check "$study" > out 2>&1 || fail "check of $study"
"$lanista" run "$study" --out study --quiet --set budget.trials=4 --set train.epochs=1 --set stop=none \
  --set train.zoo="$work/zoo" > out 2>&1 ||
  fail "run of $study"
grep -q 'rank  trial' out || fail "$study ends without a table"
[ "$(grep -cE '^ +[0-9]+ +#[0-9]+[+!]? ' out)" -ge 2 ] || fail "$study ranks fewer than two trials"
[ -s study/best/model.onnx ] || fail "$study leaves no model"
"$lanista" repeat 'study#1' > out 2>&1 || fail "trial 1 of $study cannot be repeated"
echo "$(basename "$study"): four trials, a table, a model, and a trial repeated"
