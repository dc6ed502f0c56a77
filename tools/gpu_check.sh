#!/bin/sh
# One call on a machine with a GPU: builds the rooms up to `device` from nothing, tests them, and writes OUT/gpu.json.
#   tools/gpu_check.sh OUT [DRY]
# LibTorch is that of python3's torch, or whatever CMake finds. No network. Every part stands under a limit of time; a
# part that cannot be here says "skipped" and why. Exit status: 0 if everything that ran was right. DRY: no build, the
# commands are printed.
set -u
out=${1:?usage: tools/gpu_check.sh OUT [DRY]}
dry=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
json=$out/gpu.json
build=$out/build
failed=0
parts=""

# note NAME STATUS SECONDS REASON
note() {
  parts="$parts${parts:+,}
  {\"part\": \"$1\", \"status\": \"$2\", \"seconds\": $3, \"reason\": \"$4\"}"
  printf '%-12s %-8s %5s s  %s\n' "$1" "$2" "$3" "$4"
}
skip() { note "$1" skipped 0 "$2"; }

# part NAME SECONDS COMMAND…: its output goes to OUT/NAME.log
part() {
  name=$1 limit=$2
  shift 2
  if [ -n "$dry" ]; then
    skip "$name" "dry: $(printf '%s' "$*" | tr '"\\' "''")"
    return 0
  fi
  begin=$(date +%s)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  status=$?
  took=$(($(date +%s) - begin))
  case $status in
    0) note "$name" ok "$took" "" ;;
    124) note "$name" failed "$took" "longer than $limit s" && failed=1 ;;
    *) note "$name" failed "$took" "status $status, see $name.log" && failed=1 ;;
  esac
  return $status
}

torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null)
gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1)

configure() {
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLANISTA_TORCH=ON -DLANISTA_UNITY=ON \
    -DBUILD_TESTING=ON "-DLANISTA_ROOMS=base;graph;step;kernels;nn;device" ${torch:+-DLibTorch_ROOT="$torch"}
}
if [ -n "$dry" ]; then
  part configure 60 cmake -S "$root" -B "$build" -DLANISTA_ROOMS="base;graph;step;kernels;nn;device"
  part build 360 cmake --build "$build" --target device_tests
  part twins 60 "$build/src/lanista/device/device_tests"
elif begin=$(date +%s) && configure >"$out/configure.log" 2>&1; then
  note configure ok $(($(date +%s) - begin)) ""
  part build 360 cmake --build "$build" --target device_tests &&
    part twins 60 "$build/src/lanista/device/device_tests" --gtest_brief=1
else
  note configure failed 0 "see configure.log"
  failed=1
fi

if [ -z "$gpu" ]; then
  why="no GPU that nvidia-smi tells of"
else
  why="this version has no CUDA form"
fi
for each in cuda_twins memcheck racecheck fuse peers; do skip "$each" "$why"; done

cat >"$json" <<END
{"v": 1, "gpu": "$gpu", "torch": "$torch", "correct": $([ $failed -eq 0 ] && echo true || echo false), "parts": [$parts
]}
END
exit $failed
