# Functions of scripts that run commands of lanista and check their exit codes and output. The script sets $failed to 0
# and changes to a folder of its own.

fail() {
  echo "FAILED: $*"
  sed 's/^/  | /' out
  failed=$((failed + 1))
}

# expect CODE TEXT COMMAND…: the command ends within two minutes with this code, and its output contains the text
expect() {
  code=$1 text=$2
  shift 2
  timeout 120 "$@" > out 2>&1 < /dev/null
  seen=$?
  { [ "$seen" -eq "$code" ] && grep -qF -- "$text" out; } || fail "$* (exit $seen, expected $code and: $text)"
}
