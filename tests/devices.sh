#!/bin/sh
# Studies on devices: on torch:cpu the decisions of own kernels, by blocks their bits, and refusals. usage: devices.sh LANISTA
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
# What was decided, and in what order: a study's proposals and verdicts, without measured numbers.
decisions() { "$lanista" show "$1" --canonical | grep -o '"type":"[a-z_]*"\|"verdict":"[a-z]*"\|"edits":[^]]*]\|"outcome":"[a-z]*"'; }

"$lanista" run $small --out own >/dev/null
"$lanista" run $small --set run.devices=torch:cpu --out torch >/dev/null
decisions own >own.txt
decisions torch >torch.txt
[ -s own.txt ] || fail "no decisions to compare"
cmp own.txt torch.txt || fail "other decisions than on own kernels"
"$lanista" show torch --canonical | grep -q 'aten/' || fail "the log does not tell the numeric class"

# A block a lane, on the host: the same bits, so a study may be begun here and go on there.
"$lanista" run $small --device block:host --out block >/dev/null
cmp own/best/weights.safetensors block/best/weights.safetensors || fail "blocks train other weights"
measured() { "$lanista" show "$1" --canonical | grep '"record":"measurement"' | sort; }
measured own >own.txt
measured block >block.txt
[ -s own.txt ] || fail "no measurements to compare"
cmp own.txt block.txt || fail "blocks measure other numbers"

refused() {
  want=$1
  shift
  if "$lanista" run $small --out refused "$@" >/dev/null 2>refusal.txt; then fail "not refused: $*"; fi
  grep -q "$want" refusal.txt || fail "says $(cat refusal.txt)"
  [ ! -e refused ] || fail "left a folder behind: $*"
}
refused "unknown value 'cuda:x'" --set 'run.devices=[cuda:x]'
[ -e /dev/nvidia0 ] || refused "cuda:0" --set 'run.devices=[cuda:0]'
[ -e /dev/nvidia0 ] || refused "libcuda.so.1" --set 'run.devices=[block:cuda:0]'
refused "abacus" --device abacus
refused "2 devices" --set 'run.devices=[cpu, torch:cpu]'
refused "run.isolation: process" --set run.devices=torch:cpu --isolation process
refused "train.shards" --set run.devices=torch:cpu --set train.shards=2
LANISTA_DEVICE_LIBRARY=/nowhere/lib.so refused "/nowhere/lib.so" --set run.devices=torch:cpu
"$lanista" doctor | grep -q 'LibTorch' || fail "doctor does not tell of the library"
