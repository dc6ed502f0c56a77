#!/bin/sh
# Studies with pipelines, in threads and in processes. One step is timed; `show --plan` and the report show it with the
# simulated step. Log and weights are those of one thread. A log without timed steps is shown without stages.
# `plan --pipeline --measure` measures warm cache factors.
#
# usage: pipeline_display.sh LANISTA
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

# run NAME OPTIONS…: runs the study with these options
run() {
  name=$1
  shift
  "$lanista" run "$work/study.yaml" --out "$work/$name" --quiet "$@" > "$work/output" 2>&1 ||
    fail "$name: $(cat "$work/output")"
}

run alone
run threads --set run.pipeline=2
run processes --set run.pipeline=2 --isolation process
fingerprint "$work/alone" > "$work/expected"
for name in threads processes; do
  fingerprint "$work/$name" > "$work/seen"
  cmp -s "$work/expected" "$work/seen" || fail "$name: log or weights differ from those of one thread"
  # All trials have one model, so the timed step of one applies to all.
  for trial in 1 2 3; do
    "$lanista" show "$work/$name#$trial" --plan > "$work/shown" 2>&1 || fail "$name: $(cat "$work/shown")"
    grep -q '^in stages.* at 2 places; the passes of a step of 64 samples took' "$work/shown" ||
      fail "$name, trial $trial: $(cat "$work/shown")"
    [ "$(grep -c '^  [0-9,]* *|.*F.*[BIW].*|' "$work/shown")" -ge 4 ] ||
      fail "$name, trial $trial: no charts: $(cat "$work/shown")"
    grep -q '^  simulated, ' "$work/shown" && grep -q '^  measured, ' "$work/shown" ||
      fail "$name, trial $trial: $(cat "$work/shown")"
  done
  [ "$(grep -c 'timed in trial #' "$work/shown")" -eq 1 ] ||
    fail "$name: the timed trial is not named: $(cat "$work/shown")"
  "$lanista" show "$work/$name" --plan --json | grep -q '"stage_ratios":\[' || fail "$name: no stages in JSON"
  "$lanista" report "$work/$name" > "$work/output" 2>&1 || fail "$name: $(cat "$work/output")"
  grep -q '"pipeline":\[{' "$work/$name/report.html" || fail "$name: no stages in the report"
done

# A log without timed steps, as earlier builds wrote it.
"$lanista" show "$work/alone" --plan > "$work/shown" || fail "alone: $(cat "$work/shown")"
if grep -q 'in stages' "$work/shown"; then fail "one thread is in stages"; fi
"$lanista" report "$work/alone" > /dev/null 2>&1
if grep -q '"pipeline":' "$work/alone/report.html"; then fail "one thread is in stages in the report"; fi

# Warm cache factors are measured with the other costs, stored with them, and read by `simulate`.
cat > "$work/devices.yaml" << 'END'
classes: [{name: core, count: 2, per_machine: 2, memory_mb: 8000, speed: 1, inside: {us: 20, gb_per_second: 10}}]
END
# lanista ARGUMENTS…: the program, which must succeed
lanista() { "$lanista" "$@" > "$work/output" 2>&1 || fail "$*: $(cat "$work/output")"; }
lanista plan --pipeline "$work/study.yaml" --devices "$work/devices.yaml" --measure --costs "$work/costs.json"
grep -q '"again": 0\.' "$work/costs.json" || fail "no warm cache factor in $(cat "$work/costs.json")"
lanista simulate --pipeline "$work/costs.json" --devices "$work/devices.yaml"
lanista plan --pipeline "$work/study.yaml" --devices "$work/devices.yaml" --batch 61 --measure \
  --costs "$work/costs.json"
grep -q 'the plan ignores warm caches: .*a batch of 61 cannot be divided into 2 to 16 equal micro-batches' \
  "$work/output" || fail "plan of 61: $(cat "$work/output")"
if grep -q '"again"' "$work/costs.json"; then fail "a warm cache factor that was not measured is in the costs"; fi
echo "steps in threads and in processes are shown; logs and weights are those of one thread"
