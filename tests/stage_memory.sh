#!/bin/sh
# A model whose activations no worker has room for: one place is refused and says how many would do, so many train it, each in less memory than
# run.memory_gib, to the bits of one that has room.
#
# usage: stage_memory.sh LANISTA [far]
#   far  places are on another host, which a stand-in for ssh has here: they do not see the worker's memory
set -eu

lanista=$1 where=${2:-here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hosts='[]'
if [ "$where" = far ]; then
  hosts='[node1]'
  . "$(dirname "$0")/stand_in_ssh.sh"
  stand_in_ssh
fi
fail() { echo "$*"; exit 1; }

# 24 values of 4096 numbers a sample are kept from the forward to the backward pass: 16 MB each.
{
  cat << 'END'
name: wide
data: {source: "builtin:digits", batch: 1024}
model:
  space:
    layers:
      - conv2d: {out: 64, kernel: 3, padding: same}
END
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do echo "      - $([ $((i % 2)) = 0 ] && echo tanh || echo sigmoid)"; done
  cat << 'END'
      - max_pool2d
      - flatten
      - linear: {out: classes}
train: {epochs: 2, optimizer: adam}
space: {params: {lr: log(0.001, 0.03)}}
strategy: {name: random, slots: 1}
budget: {trials: 1}
run: {workers: 1, seed: 3, lanes: 1, memory_gib: MEMORY}
END
} > "$work/any.yaml"
sed 's/MEMORY/4/' "$work/any.yaml" > "$work/roomy.yaml"
sed 's/MEMORY/0.25/' "$work/any.yaml" > "$work/tight.yaml"
limit_kb=262144
fingerprint() { sha256sum < "$1/best/weights.safetensors" | cut -d' ' -f1; }

"$lanista" run "$work/roomy.yaml" --out "$work/roomy" --quiet > /dev/null
"$lanista" run "$work/tight.yaml" --out "$work/one" --quiet --isolation process > "$work/said" 2>&1 || true
"$lanista" show "$work/one" --json > "$work/one.json" || true
cat "$work/said" "$work/one.json" | grep -o 'the planner finds that [0-9] ranks suffice' | head -1 > "$work/advice"
echo "one place: $(cat "$work/said" "$work/one.json" | grep -o "[^\"]*the planner finds [^\"]*" | head -1)"
places=$(cut -d' ' -f5 "$work/advice")
[ -n "$places" ] || fail "one place was not refused, or without a number: $(cat "$work/said")"

# The most that each process had, until it ended: of memory that is no file's, and of all.
"$lanista" run "$work/tight.yaml" --out "$work/some" --quiet --isolation process --set run.pipeline="$places" --set "cluster.places=$hosts" > "$work/said" 2>&1 &
engine=$!
: > "$work/most"
while kill -0 "$engine" 2> /dev/null; do
  for worker in $(cat /proc/$engine/task/*/children 2> /dev/null); do
    for process in $worker $(cat /proc/"$worker"/task/*/children 2> /dev/null); do
      awk -v p="$process" '/RssAnon|RssShmem/ { own += $2 } /VmHWM/ { all = $2 } END { print p, own, all }' /proc/"$process"/status 2> /dev/null >> "$work/most" || true
    done
  done
  sleep 0.02
done
wait "$engine" || fail "$places places do not train it: $(cat "$work/said")"
[ "$(fingerprint "$work/some")" = "$(fingerprint "$work/roomy")" ] || fail "$places places gave other bits"
awk '{ if ($2 > most[$1]) most[$1] = $2; if ($3 > all[$1]) all[$1] = $3 } END { for (p in most) print most[p], all[p] }' "$work/most" | sort -n > "$work/each"
[ "$(wc -l < "$work/each")" -ge "$places" ] || fail "there were only $(wc -l < "$work/each") processes"
echo "$places places; the most that each process had, in kB (with the program's file): $(awk '{ printf "%d (%d) ", $1, $2 }' "$work/each")of $limit_kb"
[ "$(tail -1 "$work/each" | cut -d' ' -f1)" -lt "$limit_kb" ] || fail "a process had more than run.memory_gib"
