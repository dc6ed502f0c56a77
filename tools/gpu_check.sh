#!/bin/sh
# Checks a machine with a GPU in one call. Builds from nothing, tests and measures devices, measures other libraries,
# and writes OUT/gpu.json.
#
#   tools/gpu_check.sh OUT [part…]
#
# The parts, in this order: build equivalence cuda_equivalence block memcheck racecheck bench search peers. The default
# is all. Each part but the first starts with the build if there is none. The part `search` runs 64 trials and needs a
# complete build in LANISTA_GPU_BUILD. LibTorch is that of python3's torch, or the one that CMake finds.
# No network is used. What a bare machine lacks comes from LANISTA_CARRIED, or ./.carry (tools/gpu_carry.sh).
#
#   LANISTA_GPU_BUILD    a folder with a finished build: nothing is built
#
#   LANISTA_GPU_SECONDS, LANISTA_GPU_BUILD_SECONDS  limits of the whole and of the build (default: 540, 360)
#
#   LANISTA_GPU_DEVICES  of bench and search (default: torch:cuda:0,block:cuda:0; the search uses the first)
#
#   LANISTA_GPU_BENCH    more arguments of `lanista bench gpu` (default: --lanes 1,16,64,256 --repeats 3)
#
#   LANISTA_GPU_PEERS    more arguments of gpu_peers.py (default: --lanes 64,16,1, all arms but torch-compile)
#
#   LANISTA_GPU_DRY      no GPU: parts that need one run on the CPU as far as they can
#
# Each part has a limit of time. A part that cannot run prints "skipped" and the reason. The exit status is 0 if each
# part that ran was right, at any speed.
set -u
out=${1:?usage: tools/gpu_check.sh OUT [part…]}
shift
parts=${*:-build equivalence cuda_equivalence block memcheck racecheck bench search peers}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
build=${LANISTA_GPU_BUILD:-${TMPDIR:-/tmp}/lanista-gpu}
carried=${LANISTA_CARRIED:-$root/.carry}
dry=${LANISTA_GPU_DRY:-}
cores=$(getconf _NPROCESSORS_ONLN)
end=$(($(date +%s) + ${LANISTA_GPU_SECONDS:-540}))
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0

torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null)
gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1)

# write KEY FILE…: puts what FILE holds (JSON, or lines of JSON) under KEY of gpu.json; "parts" are added.
write() {
  python3 - "$out/gpu.json" "$@" <<'END'
import json, os, sys
path, key, files = sys.argv[1], sys.argv[2], sys.argv[3:]
all = json.load(open(path)) if os.path.exists(path) else {"v": 2, "correct": True, "parts": []}
for file in files:
    text = open(file).read()
    try:
        value = json.loads(text)
    except ValueError:
        value = []
        for line in text.splitlines():
            try:
                value.append(json.loads(line))
            except ValueError:
                pass
    if key == "parts":
        all["parts"].append(value)
        all["correct"] = all["correct"] and value["status"] != "failed"
    else:
        all[key] = value
with open(path + ".new", "w") as file:
    json.dump(all, file, indent=1)
os.replace(path + ".new", path)
END
}

# note NAME STATUS SECONDS REASON
note() {
  [ "$2" != failed ] || failed=1
  python3 -c 'import json, sys; print(json.dumps(dict(zip(("part", "status", "seconds", "reason"),
    (sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])))))' "$@" >"$work/part" && write parts "$work/part"
  printf '%-10s %-8s %4s s  %s\n' "$1" "$2" "$3" "$4"
}

# part NAME SECONDS COMMAND…: both outputs go to log.txt (the last 200 kB), standard output also to $work/NAME.
part() {
  name=$1 limit=$2
  shift 2
  left=$((end - $(date +%s)))
  if [ $left -lt 5 ]; then
    note "$name" skipped 0 "no time is left"
    return 1
  fi
  [ $limit -le $left ] || limit=$left
  begin=$(date +%s)
  timeout -k 5 "$limit" "$@" >"$work/$name" 2>"$work/error"
  status=$?
  took=$(($(date +%s) - begin))
  {
    echo "==== $name: $*" && cut -b 1-500 "$work/$name" | tail -c 100000
    echo "---- $name, errors" && cut -b 1-500 "$work/error" | tail -c 100000
  } >>"$out/log.txt"
  case $status in
    0) note "$name" ok "$took" "" ;;
    124 | 137) note "$name" failed "$took" "longer than $limit s" ;;
    *)
      last=$(cat "$work/$name" "$work/error" | grep -aE 'FAILED  \]|rror|gpu_check|lanista bench:' | tail -n 1)
      note "$name" failed "$took" "status $status; $(printf '%s' "$last" | cut -c 1-300)"
      ;;
  esac
  return $status
}

# shards N COMMAND…: a test binary in N processes.
shards() {
  n=$1
  shift
  printf 'export GTEST_TOTAL_SHARDS=%s; seq 0 %s | xargs -P %s -I {} env GTEST_SHARD_INDEX={}' "$n" $((n - 1)) "$n"
  for each; do printf " '%s'" "$each"; done
}

# Libraries that CMake is to find, of what was carried. xxHash and GoogleTest are compiled, in seconds.
dependencies() {
  [ -d "$carried" ] || return 0
  mkdir -p "$build/carried/lib" && cp -R "$carried/include" "$carried/share" "$build/carried/" &&
    cp -R "$carried/src/googletest/include/gtest" "$build/carried/include/" || return 1
  cd "$build/carried" || return 1
  printf '#define XXH_STATIC_LINKING_ONLY\n#define XXH_IMPLEMENTATION\n#include "xxhash.h"\n' >xxhash.c
  cc -O3 -fPIC -Iinclude -c xxhash.c -o xxhash.o & first=$!
  for each in gtest-all gtest_main; do
    c++ -O1 -std=c++17 -fPIC -Iinclude "-I$carried/src/googletest" -c "$carried/src/googletest/src/$each.cc" \
      -o "$each.o" &
  done
  wait $first && wait && ar rcs lib/libxxhash.a xxhash.o && ar rcs lib/libgtest.a gtest-all.o &&
    ar rcs lib/libgtest_main.a gtest_main.o
}

build() {
  rm -rf "$build" && mkdir -p "$build" || return 1
  dependencies || { echo "dependencies in $carried cannot be built" >&2; return 1; }
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLANISTA_TORCH=ON -DLANISTA_UNITY=ON \
    -DBUILD_TESTING=ON -DLANISTA_WERROR=OFF -DLANISTA_BENCH_LOOPS=OFF \
    "-DLANISTA_ONLY=base;ipc;model/graph;model/autodiff;model/space;plan/cost;plan/pipeline;search/study;search/tuning;\
exec/kernels;exec/program;exec/pipeline_parallel;exec/backends;exec/backends/aten" \
    "-DCMAKE_PREFIX_PATH=$build/carried" ${torch:+-DLibTorch_ROOT="$torch"} || return 1
  wanted="lanista-bench"
  for each in lanista_torch exec_aten_tests block_tests; do
    ! ninja -C "$build" -t query "$each" >/dev/null 2>&1 || wanted="$wanted $each"
  done
  ninja -C "$build" $wanted
}
if [ "${1:-}" = --build-only ]; then  # of the part `build`, under its limit
  build
  exit
fi
[ -z "$gpu" ] || printf '"%s"' "$gpu" >"$work/gpu"
[ -n "$gpu" ] || printf 'null' >"$work/gpu"
printf '"%s"' "$torch" >"$work/torch"
rm -f "$out/log.txt" "$out/gpu.json"
write gpu "$work/gpu" && write torch "$work/torch"
[ -n "$gpu" ] || [ -n "$dry" ] || echo "nvidia-smi lists no GPU: parts that need one are skipped"

bench=$build/lanista-bench
tests=$build/src/lanista/exec/backends
if [ -n "${LANISTA_GPU_BUILD:-}" ] && [ -x "$bench" ]; then
  note build ok 0 "as it lies in $build"
else
  part build "${LANISTA_GPU_BUILD_SECONDS:-360}" env LANISTA_GPU_BUILD="$build" sh "$0" "$work" --build-only
fi

# wanted PART [gpu]: succeeds if the part is requested and can run.
wanted() {
  case " $parts " in *" $1 "*) ;; *) return 1 ;; esac
  [ -x "$bench" ] || { note "$1" skipped 0 "nothing is built"; return 1; }
  if [ "${2:-}" = gpu ] && [ -z "$gpu$dry" ]; then
    note "$1" skipped 0 "nvidia-smi lists no GPU"
    return 1
  fi
}
# has PART TEST: succeeds if the build has this test binary.
has() { [ -x "$tests/$2" ] || { note "$1" skipped 0 "this build has no $2"; return 1; }; }

block=block:cuda:0 devices=torch:cuda:0,block:cuda:0
[ -z "$dry" ] || [ -n "$gpu" ] || block=block:host devices=torch:cpu,block:host
devices=${LANISTA_GPU_DEVICES:-$devices}

if wanted equivalence && has equivalence aten/exec_aten_tests; then
  part equivalence 60 sh -c "$(shards "$cores" "$tests/aten/exec_aten_tests" --gtest_brief=1 '--gtest_filter=-*cuda*')"
fi
if wanted cuda_equivalence gpu && has cuda_equivalence aten/exec_aten_tests; then
  part cuda_equivalence 60 sh -c "$(shards 4 "$tests/aten/exec_aten_tests" '--gtest_filter=*cuda*')"
  # On a machine with a GPU, a skipped test has not found it.
  if grep -aq 'SKIPPED' "$work/cuda_equivalence"; then
    why=$(grep -a -A 3 'Skipped' "$work/cuda_equivalence" | grep -av 'Skipped' | head -n 1 | cut -c 1-300)
    if [ -n "$gpu" ]; then
      note cuda_equivalence failed 0 "tests were skipped: $why"
    else
      note cuda_equivalence skipped 0 "$why"
    fi
  fi
fi
if wanted block && has block block_tests; then
  part block 90 sh -c "$(shards $((cores < 8 ? cores : 8)) "$tests/block_tests" --gtest_brief=1)"
fi
for tool in memcheck racecheck; do
  wanted $tool gpu || continue
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$sanitizer" ]; then
    note $tool skipped 0 "compute-sanitizer is not installed"
    continue
  fi
  # The blocks of a lane share memory, and so do the threads of a block. A small case is enough for the slow racecheck.
  cases=mlp-64,nb201-cell limit=30
  [ $tool = memcheck ] || cases=mlp-64 limit=60
  part $tool $limit "$sanitizer" --tool $tool --target-processes all --error-exitcode 9 "$bench" gpu \
    --devices "$block" --lanes 3 --repeats 1 --case $cases --json
  if grep -q '"status":"skipped"' "$work/$tool"; then
    note $tool skipped 0 "$(grep -o '"reason":"[^"]*"' "$work/$tool" | head -n 1 | cut -c 11-300)"
  fi
  [ ! -x "$tests/aten/exec_aten_tests" ] ||
    part ${tool}_tiles 45 "$sanitizer" --tool $tool --error-exitcode 9 "$tests/aten/exec_aten_tests" \
      '--gtest_filter=*LaneProductsTest.KeepNan*cuda*:*LaneRowsTest.KeepNan*cuda*'
done
if wanted bench gpu; then
  part bench 100 "$bench" gpu --devices "$devices" --json ${LANISTA_GPU_BENCH:---lanes 1,16,64,256 --repeats 3}
  write bench "$work/bench"
fi
if wanted search gpu; then
  if [ -x "$build/lanista" ]; then
    part search 100 "$build/lanista" run "$root/bench/peers/search-cnn.yaml" --out "$work/study" --quiet --no-color \
      --device "${devices%%,*}" --set train.epochs=20 --set strategy.slots=64 --set run.lanes=64 --set run.workers=1
  else
    note search skipped 0 "this build has no lanista"
  fi
fi
if wanted peers gpu; then
  on=cuda
  [ -n "$gpu" ] || on=cpu
  left=$((end - $(date +%s) - 10))
  if part cases 60 "$bench" gpu --write "$work/case-files" --lanes 64; then
    arms=torch-eager,torch-graph,torch-vmap,torch-hfta,jax,torch-search,torch-search-graph
    part peers $left python3 "$root/tools/gpu_peers.py" "$work/case-files" --device $on --out "$out/peers.json" \
      --total $((left - 10)) ${LANISTA_GPU_PEERS:---lanes 64,16,1 --arms $arms}
    [ ! -e "$out/peers.json" ] || write peers "$out/peers.json"
  fi
fi
exit $failed
