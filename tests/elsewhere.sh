#!/bin/sh
# Workers that another program begins and talks to by pipes, as ssh does: the same results as threads, whoever is killed, and no process left.
#
# usage: elsewhere.sh LANISTA
set -eu

lanista=$1
here=$(cd "$(dirname "$0")" && pwd)
study="$here/slurm_study.yaml"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\ncat | "$@" | cat\n' > "$work/relay"
chmod +x "$work/relay"

same() {
  for folder in "$work/threads" "$1"; do
    "$lanista" show "$folder" --canonical | sha256sum > "$folder.sum"
    sha256sum < "$folder/best/weights.safetensors" >> "$folder.sum"
  done
  cmp -s "$work/threads.sum" "$1.sum" || { echo "$2: another result"; exit 1; }
  echo "$2: the same result"
}
workers() { pgrep -f "^$lanista worker --stdio" || true; }

"$lanista" run "$study" --out "$work/threads" --quiet --workers 2 --epochs 60 > /dev/null
"$lanista" run "$study" --out "$work/pipes" --quiet --workers 3 --epochs 60 --launch "$work/relay" --launch env > /dev/null
same "$work/pipes" pipes

"$lanista" run "$study" --out "$work/killed" --quiet --workers 3 --epochs 60 --launch "$work/relay" --launch env > "$work/out" 2>&1 &
engine=$!
for _ in 1 2 3; do
  sleep 0.3
  workers | tail -1 | xargs -r kill -9 2> /dev/null || true
done
sleep 0.2
kill -9 $engine 2> /dev/null || true
wait $engine 2> /dev/null || true
if [ -d "$work/killed/log" ]; then set -- resume "$work/killed"; else set -- run "$study" --out "$work/killed" --epochs 60; fi
"$lanista" "$@" --quiet --launch "$work/relay" --workers 2 > /dev/null
same "$work/killed" killed

for _ in $(seq 50); do
  [ -z "$(workers)" ] && break
  sleep 0.1
done
[ -z "$(workers)" ] || { echo "workers are left"; exit 1; }

if "$lanista" run "$study" --out "$work/nobody" --quiet --workers 2 --epochs 20 --launch "$work/nobody-there" > /dev/null 2> "$work/errors"; then
  echo "it trained without workers"; exit 1
fi
grep -q "($work/nobody-there) ended with exit code 127; with --ssh here a study goes on here" "$work/errors" || { cat "$work/errors"; exit 1; }
"$lanista" resume "$work/nobody" --quiet --ssh here,here > /dev/null
echo "nobody: told, and goes on here"
