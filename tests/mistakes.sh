#!/bin/sh
# Mistakes with their messages.
#
# mistakes/NAME.yaml is a study file, for `lanista check`; mistakes/NAME.args has the arguments of another command.
#
# mistakes/NAME.txt has the exit code and stderr of the command.
#
# mistakes/NAME.before.txt has what an earlier version printed and was not enough. It must not come back.
#
# usage: mistakes.sh LANISTA [--update]    --update rewrites the messages; read them before you commit them
set -eu

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/mistakes"
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
failed=0 count=0

for file in *.yaml *.args; do
  name=${file%.*} code=0
  golden=$name.txt
  case $file in
    *.yaml) set -- "${2:-}" check "$file" ;;
    *) eval "set -- \"${2:-}\" $(cat "$file")" ;;
  esac
  mode=$1
  shift
  "$lanista" "$@" > /dev/null 2> "$seen" < /dev/null || code=$?
  set -- "$lanista" "$mode"
  { echo "exit $code"; cat "$seen"; } > "$seen.all"
  if [ "$mode" = --update ]; then cp "$seen.all" "$golden"; fi
  if ! diff -u "$golden" "$seen.all"; then
    echo "FAILED: $file"
    failed=$((failed + 1))
  fi
  [ "$code" -eq 2 ] || { echo "FAILED: $file is accepted"; failed=$((failed + 1)); }
  if [ -e "$name.before.txt" ] && cmp -s "$name.before.txt" "$seen.all"; then
    echo "FAILED: $file has the message of before"
    failed=$((failed + 1))
  fi
  rm -f "$seen.all"
  count=$((count + 1))
done
[ "$count" -ge 20 ] || { echo "FAILED: only $count mistakes"; failed=$((failed + 1)); }
[ "$failed" -eq 0 ] && echo "$count mistakes, each with its message"
exit "$failed"
