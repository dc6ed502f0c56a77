#!/bin/sh
# A model with activations that do not fit the memory of one worker. One rank is refused, and the message gives a
# sufficient number of ranks. That many ranks train the model, each in less memory than run.memory_gib, with the bits of
# one rank that has enough memory.
#
# usage: stage_memory.sh LANISTA [remote]
#   remote  ranks are on another host that a fake ssh runs on this machine; they share no memory with the worker
set -eu

lanista=$1 where=${2:-here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hosts='[]'
if [ "$where" = remote ]; then
  hosts='[node1]'
  . "$(dirname "$0")/fake_ssh.sh"
  fake_ssh
fi
fail() { echo "$*"; exit 1; }

# The forward pass keeps 24 values of 4096 numbers a sample for the backward pass: 16 MB each.
{
  cat << 'END'
name: wide
data: {source: "builtin:digits", batch: 1024}
model:
  space:
    layers:
      - conv2d: {out: 64, kernel: 3, padding: same}
END
  for i in $(seq 23); do
    echo "      - $([ $((i % 2)) = 0 ] && echo tanh || echo sigmoid)"
  done
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
sed 's/MEMORY/4/' "$work/any.yaml" > "$work/large.yaml"
sed 's/MEMORY/0.25/' "$work/any.yaml" > "$work/small.yaml"
limit_kb=262144
fingerprint() { sha256sum < "$1/best/weights.safetensors" | cut -d' ' -f1; }

"$lanista" run "$work/large.yaml" --out "$work/large" --quiet > /dev/null
"$lanista" run "$work/small.yaml" --out "$work/one" --quiet --isolation process > "$work/output" 2>&1 || true
"$lanista" show "$work/one" --json > "$work/one.json" || true
cat "$work/output" "$work/one.json" | grep -o 'the planner finds that [0-9] ranks suffice' | head -1 > "$work/advice"
echo "one rank: $(cat "$work/output" "$work/one.json" | grep -o "[^\"]*the planner finds [^\"]*" | head -1)"
ranks=$(cut -d' ' -f5 "$work/advice")
[ -n "$ranks" ] || fail "one rank was not refused, or without a number: $(cat "$work/output")"

# Records the peak memory of each process, of anonymous and shared memory and of all memory.
"$lanista" run "$work/small.yaml" --out "$work/some" --quiet --isolation process --set run.pipeline="$ranks" \
  --set "cluster.places=$hosts" > "$work/output" 2>&1 &
engine=$!
: > "$work/peaks"
while kill -0 "$engine" 2> /dev/null; do
  for worker in $(cat /proc/$engine/task/*/children 2> /dev/null); do
    for process in $worker $(cat /proc/"$worker"/task/*/children 2> /dev/null); do
      awk -v p="$process" '/RssAnon|RssShmem/ { own += $2 } /VmHWM/ { all = $2 } END { print p, own, all }' \
        /proc/"$process"/status 2> /dev/null >> "$work/peaks" || true
    done
  done
  sleep 0.02
done
wait "$engine" || fail "$ranks ranks do not train it: $(cat "$work/output")"
[ "$(fingerprint "$work/some")" = "$(fingerprint "$work/large")" ] || fail "$ranks ranks gave other bits"
awk '{ if ($2 > own[$1]) own[$1] = $2; if ($3 > all[$1]) all[$1] = $3 } END { for (p in own) print own[p], all[p] }' \
  "$work/peaks" | sort -n > "$work/each"
[ "$(wc -l < "$work/each")" -ge "$ranks" ] || fail "there were only $(wc -l < "$work/each") processes"
peaks=$(awk '{ printf "%d (%d) ", $1, $2 }' "$work/each")
echo "$ranks ranks; peak memory of each process in kB (with the program's file): ${peaks}of $limit_kb"
[ "$(tail -1 "$work/each" | cut -d' ' -f1)" -lt "$limit_kb" ] || fail "a process had more than run.memory_gib"
