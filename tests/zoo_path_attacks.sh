#!/bin/sh
# Path attacks in a zoo folder, and zoos that another user made, against each verb of the zoo and a study that uses it.
# Nothing outside the zoo changes, and no command waits.
#
# usage: zoo_path_attacks.sh LANISTA
set -u

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# shellcheck source=tests/expect_support.sh
. "$tests/expect_support.sh"

# hashes of everything in a folder: names, kinds and bytes
hashes() {
  (cd "$1" && find . \( -type f -exec sha256sum {} + \) -o -printf '%p %y %l\n' | sort)
}

quick="--trials 2 --epochs 1 --quiet --set model.base=builtin:small-mlp"
quick="$quick --set data.source=synthetic:blobs?rows=120&classes=3&features=4&seed=1"
expect 0 'rank  trial' "$lanista" run $quick --out study
expect 0 'added ' "$lanista" zoo add study --zoo whole
id=$(sed -n 's/^added //p' out)
weights=$(ls whole/weights)

# A folder with other files does not become a zoo.
mkdir -p proj/weights/sub
echo x > proj/weights/resnet50.pt
echo x > proj/train.py
hashes proj > before
expect 2 'has train.py, weights/resnet50.pt, weights/sub/; a zoo needs a new or empty folder' \
  "$lanista" zoo add study --zoo proj
for verb in ls verify gc; do expect 2 'proj' "$lanista" zoo $verb --zoo proj; done
expect 0 'nothing was taken of the zoo' \
  "$lanista" run $quick --set train.start=zoo --set train.zoo="$work/proj" --out barred
hashes proj > after
cmp -s before after || fail "a folder with other files changed"

# verbs ZOO ATTACK PATH: runs each verb once, and checks only that each one ends within a minute
verbs() {
  for verb in 'ls' 'ls --json' "show $id" "show $id --pin" 'match study' 'verify' 'add study --replicas 1' 'gc' \
    'gc --budget 0' "rm $id"; do
    timeout 60 "$lanista" zoo $verb --zoo "$1" > out 2>&1 < /dev/null
    [ "$?" -lt 124 ] || fail "zoo $verb with $2 at $3"
  done
}

# attack KIND PATH: makes a file system entry of this kind
attack() {
  case $1 in
    link) ln -s "$work/victim/key" "$2" ;;
    dangling) ln -s "$work/victim/none" "$2" ;;
    folder_link) ln -s "$work/victim/inner" "$2" ;;
    fifo) mkfifo "$2" ;;
    hard_link) ln "$work/victim/key" "$2" ;;
    other_user) echo theirs > "$2" && chown 65534 "$2" ;;
  esac
}

mkdir -p victim/inner
echo mine > victim/key
echo mine > victim/inner/resnet50.pt
echo mine > "victim/inner/$(printf '%064d' 7).safetensors"
hashes victim > before
kinds='link dangling folder_link fifo hard_link'
[ "$(id -u)" -eq 0 ] && kinds="$kinds other_user"
for kind in $kinds; do
  for name in index.sqlite index.sqlite-wal index.sqlite-shm index.sqlite-journal weights "weights/$weights" \
    "weights/$(printf '%064d' 8).safetensors" weights/tmp-1-0; do
    rm -rf zoo
    cp -r whole zoo
    rm -rf "zoo/$name"
    attack "$kind" "zoo/$name"
    verbs zoo "$kind" "$name"
    hashes victim > after
    cmp -s before after || fail "$kind at $name: a file outside of the zoo changed"
  done
  for name in index.sqlite weights; do
    rm -rf zoo run
    cp -r whole zoo
    rm -rf "zoo/$name"
    attack "$kind" "zoo/$name"
    expect 0 'nothing was taken of the zoo' \
      "$lanista" run $quick --set train.start=zoo --set train.zoo="$work/zoo" --out run
    hashes victim > after
    cmp -s before after || fail "$kind at $name: a study changed a file outside of its zoo"
  done
done

# A zoo folder that is itself a link.
rm -rf zoo
ln -s whole zoo
expect 2 'is a symbolic link; a zoo is a folder' "$lanista" zoo ls --zoo zoo

# An index that another program changed.
if command -v sqlite3 > /dev/null; then
  changed() {
    rm -rf zoo
    cp -r whole zoo
    sqlite3 zoo/index.sqlite "$1" > /dev/null
  }
  changed "CREATE TRIGGER bad AFTER UPDATE ON models BEGIN DELETE FROM models; END"
  for verb in ls verify gc "rm $id"; do expect 2 "trigger 'bad'" "$lanista" zoo $verb --zoo zoo; done
  changed "CREATE VIEW bad AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
  expect 2 "view 'bad'" "$lanista" zoo ls --zoo zoo
  changed "ALTER TABLE models RENAME TO m; CREATE VIEW models AS SELECT a.* FROM m a CROSS JOIN m b CROSS JOIN m c"
  expect 2 "'m" "$lanista" zoo ls --zoo zoo
  echo mine > victim.safetensors
  changed "UPDATE models SET weights = '../../victim'; UPDATE tensors SET weights = '../../victim'"
  expect 0 'allowed are 64 hex digits' "$lanista" zoo ls --zoo zoo
  expect 3 'allowed are 64 hex digits' "$lanista" zoo verify --zoo zoo
  expect 0 '' "$lanista" zoo rm "$id" --zoo zoo
  [ -f victim.safetensors ] || fail "a name of the index led to a file outside of the zoo"
  # A stored line feed starts no line, and a stored escape reaches no terminal.
  changed "UPDATE models SET origin = 'a' || char(10) || 'fake line' || char(27) || '[2J'"
  expect 0 'a?fake line?[2J' "$lanista" zoo ls --zoo zoo
  expect 0 'from        a?fake line?[2J' "$lanista" zoo show "$id" --zoo zoo
else
  echo "skipped: an index that another program changed needs sqlite3"
fi

[ "$failed" -eq 0 ] && echo "nothing outside of a zoo changed"
exit "$failed"
