#!/bin/sh
# The zoo: its verbs, and studies that add models to it and start from it.
#
# usage: zoo.sh LANISTA
set -u

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# shellcheck source=tests/expect_support.sh
. "$tests/expect_support.sh"

quick="--trials 4 --epochs 2 --quiet --set model.base=builtin:small-mlp"
quick="$quick --set data.source=synthetic:blobs?rows=120&classes=3&features=4&seed=1"
for verb in ls add match show rm verify gc; do expect 0 'examples:' "$lanista" zoo "$verb" --help; done

expect 2 'there is no zoo here' "$lanista" zoo ls
expect 0 'rank  trial' "$lanista" run $quick --out plain
expect 0 'added ' "$lanista" zoo add plain
id=$(sed -n 's/^added //p' out)
expect 0 "known $id" "$lanista" zoo add plain
expect 0 "$id" "$lanista" zoo ls
expect 0 "\"id\":\"$id\"" "$lanista" zoo ls --json
expect 0 'exactly the parent' "$lanista" zoo match plain
expect 0 "\"parent\":\"$id\"" "$lanista" zoo match plain --json
expect 0 'live, pinned' "$lanista" zoo show "$(echo "$id" | cut -c1-5)" --pin
expect 2 'there is no zoo here' "$lanista" zoo gc --zoo elsewhere
expect 0 ' bytes of weights remain' "$lanista" zoo gc --budget 0
expect 0 "$id" "$lanista" zoo ls
expect 0 'live' "$lanista" zoo show "$id" --unpin
expect 2 'the zoo has no model ffffffff' "$lanista" zoo show ffffffff
expect 0 'no model is damaged' "$lanista" zoo verify

# Model files: the export of a study is accepted, and refused for a task with another normalisation.
expect 0 '' "$lanista" export plain --onnx plain.onnx
expect 2 'has no description of its data' "$lanista" zoo add plain.onnx --quality 0.5
expect 2 'has no quality' "$lanista" zoo add plain.onnx --task-of plain
expect 0 '' "$lanista" zoo add plain.onnx --task-of plain --quality 0.9
expect 0 'rank  trial' "$lanista" run $quick --out scaled \
  --set 'data.source=synthetic:blobs?rows=120&classes=3&features=4&seed=2'
expect 2 'normalises its input with other statistics' "$lanista" zoo add plain.onnx --task-of scaled --quality 0.9

# Studies that use one zoo, one after another.
expect 0 'the zoo had no model of this task when the study began' "$lanista" run $quick --set train.start=zoo \
  --set train.zoo="$work/across" --out first
[ "$("$lanista" zoo ls --zoo across | wc -l)" -ge 3 ] || fail "the first study put less than two models into the zoo"
expect 0 'trials began with models of the zoo; ' "$lanista" run $quick --set train.start=zoo --seed 2 \
  --set train.zoo="$work/across" --out second
grep -qF 'where from random values these took' out || fail "the second study does not compare with random starts"
expect 0 "started from  the zoo's model " "$lanista" show 'second#1'
expect 0 'trials began with models of the zoo; ' "$lanista" show second
expect 0 'bit' "$lanista" repeat 'second#1'
grep -qF 'began with models of the zoo' second/report.html || fail "the report does not show the zoo"
expect 0 'trials may begin with' "$lanista" run $(echo "$quick" | sed 's/--quiet//') --set train.start=zoo --seed 3 \
  --set train.zoo="$work/across" --out third

# A zoo that cannot be opened is named, and the study continues without it. Damaged weights are found.
expect 0 'nothing was taken of the zoo' "$lanista" run $quick --set train.start=zoo \
  --set train.zoo="$work/plain.onnx/zoo" --out barred
file=$(find across/weights -name '*.safetensors' | head -1)
printf 'x' | dd of="$file" bs=1 seek="$(($(wc -c < "$file") - 3))" conv=notrunc 2> /dev/null
expect 3 'has another SHA-256' "$lanista" zoo verify --zoo across
expect 0 'removed ' "$lanista" zoo rm "$id"
"$lanista" zoo ls --json 2> /dev/null | grep -qF "$id" && fail "zoo rm $id: it is still listed"
expect 0 'files without a model removed' "$lanista" zoo gc

[ "$failed" -eq 0 ] && echo "zoo: all checks passed"
exit "$failed"
