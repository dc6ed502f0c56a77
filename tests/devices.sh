#!/bin/sh
# Studies on devices: torch:cpu gives the decisions of the CPU backend, block:host gives its bits, and invalid devices
# are refused.
#
# usage: devices.sh LANISTA
set -eu
lanista=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
  echo "devices: $*" >&2
  exit 1
}
small="--set run.seed=3 --set budget.trials=6 --set train.epochs=2 --quiet"
# decisions STUDY: its proposals and verdicts in order, without measured numbers
decisions() {
  "$lanista" show "$1" --canonical |
    grep -o '"type":"[a-z_]*"\|"verdict":"[a-z]*"\|"edits":[^]]*]\|"outcome":"[a-z]*"'
}

"$lanista" run $small --out own >/dev/null
"$lanista" run $small --set run.devices=torch:cpu --out torch >/dev/null
decisions own >own.txt
decisions torch >torch.txt
[ -s own.txt ] || fail "no decisions to compare"
cmp own.txt torch.txt || fail "the decisions differ from those of the CPU backend"
"$lanista" show torch --canonical | grep -q 'aten/' || fail "the log does not have the numeric class"

# The block backend on the host gives the bits of the CPU backend, so a study may move between them.
"$lanista" run $small --device block:host --out block >/dev/null
cmp own/best/weights.safetensors block/best/weights.safetensors || fail "blocks train other weights"
measured() { "$lanista" show "$1" --canonical | grep '"record":"measurement"' | sort; }
measured own >own.txt
measured block >block.txt
[ -s own.txt ] || fail "no measurements to compare"
cmp own.txt block.txt || fail "blocks measure other numbers"

# Two devices of one class: the bits of one.
"$lanista" run $small --device cpu,block:host --out both >/dev/null
cmp own/best/weights.safetensors both/best/weights.safetensors || fail "two devices of one class train other weights"
measured both >both.txt
cmp own.txt both.txt || fail "two devices of one class measure other numbers"
"$lanista" show both --canonical | grep -q '"device"' && fail "the canonical export of a study of one class has devices"

# Two classes: each trial on one device, which the log names and which gives the same bits again.
LANISTA_DEVICE_SPEEDS=2,3 "$lanista" run $small --set 'run.devices=[cpu, torch:cpu]' --out mixed >/dev/null
"$lanista" show mixed --canonical | grep -q '"class":"own.* + aten/' || fail "the log does not have both classes"
for device in cpu torch:cpu; do
  trial=$("$lanista" show mixed --canonical | grep '"record":"proposed"' | grep "\"device\":\"$device\"" |
    grep -o '"trial":[0-9]*' | head -1 | cut -d: -f2)
  [ -n "$trial" ] || fail "$device trains nothing"
  "$lanista" show "mixed#$trial" | grep -q "trained on    $device" || fail "show does not print $device"
  "$lanista" repeat "mixed#$trial" 2>/dev/null | grep -q "to the bit" || fail "trial $trial is not repeated on $device"
done
"$lanista" status mixed | grep -q "torch:cpu: [0-9]* % of the work" || fail "status does not print devices"
"$lanista" status mixed --json | grep -q '"devices":\[{"device":"cpu"' || fail "status --json does not have devices"
LANISTA_DEVICE_LIBRARY=/nowhere/lib.so "$lanista" repeat "mixed#$trial" 2>refusal.txt &&
  fail "repeated without its device"
grep -q "trained on device torch:cpu" refusal.txt || fail "prints $(cat refusal.txt)"
"$lanista" plan --trials 6 --set 'run.devices=[cpu, torch:cpu]' >plan.txt
grep -q "^device cpu: trial" plan.txt || fail "plan does not print the trials of the CPU"
grep -q "^device torch:cpu: " plan.txt || fail "plan does not print torch:cpu"
"$lanista" plan --trials 6 --set run.devices=torch:cpu >plan.txt
grep -q "^device torch:cpu: trials 1 2 3 4 5 6, 100 % of the work" plan.txt ||
  fail "plan gives trials to the CPU, and another device trains"

# Warnings of a device are printed, also if another device trains with it. Here the data set does not fit its memory.
for devices in torch:host cpu,torch:host; do
  speeds=$(echo "$devices" | sed 's/cpu/1/; s/torch:host/3/')
  memory=$([ "$devices" = torch:host ] && echo 0.0025 || echo 0.005)
  LANISTA_DEVICE_SPEEDS=$speeds "$lanista" run $small --device "$devices" --set run.memory_gib="$memory" \
    --out "warnings-$devices" >/dev/null 2>warnings.txt
  grep -q "no memory for the data set" warnings.txt || fail "$devices: its warning is not printed"
done

# refused TEXT OPTIONS…: the run is refused with this text and leaves no folder
refused() {
  expected=$1
  shift
  if "$lanista" run $small --out refused "$@" >/dev/null 2>refusal.txt; then fail "not refused: $*"; fi
  grep -q "$expected" refusal.txt || fail "prints $(cat refusal.txt)"
  [ ! -e refused ] || fail "left a folder behind: $*"
}
refused "unknown value 'cuda:x'" --set 'run.devices=[cuda:x]'
[ -e /dev/nvidia0 ] || refused "cuda:0" --set 'run.devices=[cuda:0]'
[ -e /dev/nvidia0 ] || refused "libcuda.so.1" --set 'run.devices=[block:cuda:0]'
refused "abacus" --device abacus
refused "listed twice" --set 'run.devices=[cpu, torch:cpu, cpu]'
refused "several devices" --set 'run.devices=[cpu, torch:cpu]' --isolation process
refused "to run without it: --device cpu,torch:cpu" --device cpu,abacus,torch:cpu
LANISTA_DEVICE_SPEEDS=1,x refused "LANISTA_DEVICE_SPEEDS" --set 'run.devices=[cpu, torch:cpu]'
refused "run.isolation is process" --set run.devices=torch:cpu --isolation process
refused "train.shards" --set run.devices=torch:cpu --set train.shards=2
LANISTA_DEVICE_LIBRARY=/nowhere/lib.so refused "/nowhere/lib.so" --set run.devices=torch:cpu
"$lanista" doctor | grep -q 'LibTorch' || fail "doctor does not print the library"
