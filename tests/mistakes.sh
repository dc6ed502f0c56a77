#!/bin/sh
# Mistakes in study files with their messages: mistakes/NAME.yaml is the study file, and mistakes/NAME.txt has the exit
# code and stderr of `lanista check`.
#
# usage: mistakes.sh LANISTA [--update]    --update rewrites the messages; read them before you commit them
set -eu

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/mistakes"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
failed=0 count=0

for file in *.yaml; do
  golden=${file%.yaml}.txt
  code=0
  "$lanista" check "$file" > /dev/null 2> "$seen" || code=$?
  { echo "exit $code"; cat "$seen"; } > "$seen.all"
  if [ "${2:-}" = --update ]; then cp "$seen.all" "$golden"; fi
  if ! diff -u "$golden" "$seen.all"; then
    echo "FAILED: $file"
    failed=$((failed + 1))
  fi
  [ "$code" -eq 2 ] || { echo "FAILED: $file is accepted"; failed=$((failed + 1)); }
  rm -f "$seen.all"
  count=$((count + 1))
done
[ "$count" -ge 20 ] || { echo "FAILED: only $count mistakes"; failed=$((failed + 1)); }
[ "$failed" -eq 0 ] && echo "$count mistakes, each with its message"
exit "$failed"
