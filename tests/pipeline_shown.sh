#!/bin/sh
# Studies whose trials are in stages, at threads and at processes: a step of theirs is timed, `show --plan` and the report draw it beside what was simulated,
# and log and weights are those of one thread. Logs without such steps are shown as before. What is near is measured by `plan --pipeline --measure`.
#
# usage: pipeline_shown.sh LANISTA
set -eu

lanista=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
fingerprint() { "$lanista" show "$1" --canonical | sha256sum; sha256sum < "$1/best/weights.safetensors"; }

cat > "$work/study.yaml" << 'END'
name: staged
data: {source: "builtin:digits", batch: 64}
model: {base: builtin:small-cnn}
train: {epochs: 2, optimizer: adam, accumulate: 4}
space: {params: {lr: log(0.001, 0.03)}}
strategy: {name: random, slots: 1}
budget: {trials: 3}
run: {workers: 1, seed: 3, lanes: 1}
END

one() { name=$1; shift; "$lanista" run "$work/study.yaml" --out "$work/$name" --quiet "$@" > "$work/said" 2>&1 || fail "$name: $(cat "$work/said")"; }

one alone
one threads --set run.pipeline=2
one processes --set run.pipeline=2 --isolation process
fingerprint "$work/alone" > "$work/wanted"
for name in threads processes; do
  fingerprint "$work/$name" > "$work/seen"
  cmp -s "$work/wanted" "$work/seen" || fail "$name: another log or other weights than of one thread"
  # All trials are of one model, so the step of one stands for all.
  for trial in 1 2 3; do
    "$lanista" show "$work/$name#$trial" --plan > "$work/shown" 2>&1 || fail "$name: $(cat "$work/shown")"
    grep -q '^in stages.* at 2 places; the passes of a step of 64 samples took' "$work/shown" || fail "$name, trial $trial: $(cat "$work/shown")"
    [ "$(grep -c '^  [0-9,]* *|.*F.*[BIW].*|' "$work/shown")" -ge 4 ] || fail "$name, trial $trial: no charts: $(cat "$work/shown")"
    grep -q '^  simulated, ' "$work/shown" && grep -q '^  measured, ' "$work/shown" || fail "$name, trial $trial: $(cat "$work/shown")"
  done
  [ "$(grep -c 'timed in trial #' "$work/shown")" -eq 1 ] || fail "$name: who was timed is not said: $(cat "$work/shown")"
  "$lanista" show "$work/$name" --plan --json | grep -q '"stage_ratios":\[' || fail "$name: no stages in JSON"
  "$lanista" report "$work/$name" > "$work/said" 2>&1 || fail "$name: $(cat "$work/said")"
  grep -q '"pipeline":\[{' "$work/$name/report.html" || fail "$name: no stages in the report"
done

# A log without such steps, as those of builds before.
"$lanista" show "$work/alone" --plan > "$work/shown" || fail "alone: $(cat "$work/shown")"
if grep -q 'in stages' "$work/shown"; then fail "one thread is in stages"; fi
"$lanista" report "$work/alone" > /dev/null 2>&1
if grep -q '"pipeline":' "$work/alone/report.html"; then fail "one thread is in stages in the report"; fi

# What is near is measured with the rest, and goes where the rest goes.
cat > "$work/devices.yaml" << 'END'
classes: [{name: core, count: 2, per_machine: 2, memory_mb: 8000, speed: 1, inside: {us: 20, gb_per_second: 10}}]
END
"$lanista" plan --pipeline "$work/study.yaml" --devices "$work/devices.yaml" --measure --costs "$work/costs.json" > "$work/said" 2>&1 || fail "plan: $(cat "$work/said")"
grep -q '"again": 0\.' "$work/costs.json" || fail "nothing is near in $(cat "$work/costs.json")"
"$lanista" simulate --pipeline "$work/costs.json" --devices "$work/devices.yaml" > "$work/said" 2>&1 || fail "simulate: $(cat "$work/said")"
"$lanista" plan --pipeline "$work/study.yaml" --devices "$work/devices.yaml" --batch 61 --measure --costs "$work/costs.json" > "$work/said" 2>&1 || fail "plan of 61: $(cat "$work/said")"
grep -q 'the plan ignores warm caches: .*a batch of 61 cannot be divided into 2 to 16 equal micro-batches' "$work/said" || fail "plan of 61: $(cat "$work/said")"
if grep -q '"again"' "$work/costs.json"; then fail "what cannot be measured is in the costs"; fi
echo "steps at threads and at processes are drawn; logs and weights are those of one thread"
