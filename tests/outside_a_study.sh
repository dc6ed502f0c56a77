#!/bin/sh
# A study runs, deletes and overwrites nothing outside of its folder. The inputs are study files and study folders of
# another author, and folders with files of the user. tests/path_attacks tries more paths and more kinds of files.
#
# usage: outside_a_study.sh LANISTA
set -eu

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failed=0
check() { # check WHAT COMMAND...: the command must succeed
  what=$1
  shift
  if "$@"; then echo "ok     $what"; else echo "FAILED $what"; failed=$((failed + 1)); fi
}
# The program ends within a minute; its exit code and its text are in $code and in the file text.
try() {
  code=0
  timeout 60 "$lanista" "$@" > text 2>&1 < /dev/null || code=$?
  [ "$code" -ne 124 ] || { echo "FAILED $*: hangs"; failed=$((failed + 1)); }
}
names() { grep -q -- "$1" text; }
is_refused() { [ "$code" -ne 0 ] && names "$1"; }
has() { [ "$(cat "$1")" = "$2" ]; }
none() { [ ! -e "$1" ]; }
all() { for path in "$@"; do [ -e "$path" ] || return 1; done; }

cat > study.yaml <<'YAML'
data: {source: builtin:digits, batch: 32}
model: {base: builtin:small-mlp}
train: {epochs: 2}
strategy: random
budget: {trials: 2}
keep: {top: 1, checkpoint_every: 0.05s}
YAML
"$lanista" run study.yaml --out base --quiet > /dev/null 2>&1

# Programs. The launchers are stand-ins that run what they are given; `worker` and `stage` are in the current folder.
mkdir bin
printf '#!/bin/sh\nwhile :; do case $1 in -T) shift;; -o) shift 2;; *) shift; break;; esac; done\nexec "$@"\n' > bin/ssh
printf '#!/bin/sh\n%s\n%s\n' 'for word; do echo "$word" >> "WORK/words"; done' \
  'while [ $# -gt 0 ]; do case $1 in sh) exec "$@";; esac; shift; done' | sed "s#WORK#$work#" > bin/srun
printf '#!/bin/sh\ntouch "%s/ran"\n' "$work" > worker
cp worker stage
chmod +x bin/ssh bin/srun worker stage
PATH="$work/bin:$PATH"
for cluster in 'ssh: [node1], program: sh' 'slurm: [time=2], program: sh' 'places: [node1, node2], program: sh' \
  'slurm: [time=2], program: --task-prolog=worker' 'ssh: [node1], program: -oProxyCommand=./worker'; do
  { cat study.yaml; echo "cluster: {$cluster}"; echo "run: {workers: 1}"; } > evil.yaml
  rm -rf ran evil words
  try run evil.yaml --out evil --quiet
  check "cluster: {$cluster}: the program of a study file is not run" none ran
  check "cluster: {$cluster}: the study file is refused" is_refused program
done
echo mine > kept.txt
{ cat study.yaml; echo 'cluster: {slurm: [time=2], program: --error=kept.txt}'; } > evil.yaml
try run evil.yaml --out evil --quiet
check "a program that is an option of the launcher empties no file" has kept.txt mine

# A folder that is not a zoo, and one that is.
mkdir -p project/weights/sub
echo x > project/weights/resnet50.pt
try zoo add base --zoo project
check "a folder with files of the user does not become a zoo" all project/weights/resnet50.pt project/weights/sub
check "the folder that is not a zoo is named" is_refused project
"$lanista" zoo add base --zoo zoo > /dev/null 2>&1
echo mine > zoo/weights/mine.pt
for verb in "add base#1" "gc" "verify" "ls"; do
  # shellcheck disable=SC2086
  try zoo $verb --zoo zoo
  check "zoo $verb keeps a file of the user in the zoo" has zoo/weights/mine.pt mine
done

# Received studies in which links replace files and folders of the study.
for name in ckpt log control best; do
  rm -rf received victim
  cp -r base received
  rm -rf "received/$name"
  mkdir victim
  cp -r "base/$name/." victim
  echo key > victim/id
  find victim -type f | sort | xargs cat > before
  ln -s ../victim "received/$name"
  try resume received --trials 2 --quiet
  find victim -type f | sort | xargs cat > after
  check "resume of a study with a linked $name changes nothing elsewhere" cmp -s before after
  check "resume names the linked $name" is_refused "received/$name"
done
for name in log/lock control/crash.marks; do
  rm -rf received new
  cp -r base received
  rm -f "received/$name"
  ln -s ../../new "received/$name"
  try resume received --trials 2 --quiet
  check "a dangling link at $name makes no file elsewhere" none new
  check "the dangling link at $name is named" is_refused "received/$name"
  rm -f "received/$name"
  mkfifo "received/$name"
  try resume received --trials 2 --quiet
  check "a FIFO at $name is named" is_refused "received/$name"
done

# Links at names that temporary files had.
rm -rf received
cp -r base received
rm -f received/report.html
echo mine > mine
ln -s ../mine received/report.html.tmp
try report received
check "report does not write through a link at report.html.tmp" has mine mine
for name in package.json model.onnx model.graph weights.safetensors; do ln -s ../../mine "received/best/$name.tmp"; done
try resume received --trials 4 --quiet
check "resume does not write through links in best/" has mine mine

# Files of the user in the folders that the program sweeps.
rm -rf received
cp -r base received
for name in ckpt best control log; do echo mine > "received/$name/notes.txt"; done
echo mine > received/ckpt/net.safetensors
try resume received --trials 2 --quiet
check "resume continues next to files of the user" [ "$code" -eq 0 ]
for name in ckpt/notes.txt best/notes.txt control/notes.txt log/notes.txt ckpt/net.safetensors; do
  check "resume keeps the user's $name" has "received/$name" mine
done

# Rights: only its owner may use the lock, and new files and folders respect the umask.
mode() { stat -c %a "$1"; }
(umask 077 && "$lanista" run study.yaml --out private --quiet > /dev/null 2>&1)
check "the lock file is private" [ "$(mode base/log/lock)" = 600 ]
check "a study's folder keeps the umask" [ "$(mode private)" = 700 ]
check "a study's log keeps the umask" [ "$(mode private/log/000001.log)" = 600 ]

[ "$failed" -eq 0 ] && echo "all is as it must be"
exit "$failed"
