#!/bin/sh
# Compares what LANISTA reads, exports, predicts, repeats and resumes from stored studies with what version 0.1.0 gave.
#
# studies/NAME.tar.gz is a study. expected/NAME.tar.gz has the outputs that programs read: they never change.
#
# expected/NAME.txt has the outputs that people read: their words may change, their numbers may not.
#
# usage: check.sh LANISTA [NAME…]            Compare. Exit 77 if the machine cannot do a part.
#        check.sh LANISTA --texts [NAME…]    Write expected/NAME.txt again, if all numbers in it stay.
#        check.sh LANISTA --expect NAME…     Write all expected outputs of a new study.
set -u

here=$(cd "$(dirname "$0")" && pwd)
lanista=$(realpath "$1")
mode=--compare
shift
case ${1:-} in --*) mode=$1 && shift ;; esac
names=$*
# shellcheck disable=SC2012,SC2046  # names of letters and signs
[ $# -gt 0 ] || set -- $(cd "$here/studies" && ls ./*.tar.gz | sed 's|.*/||; s|\.tar\.gz$||')
if [ $# -lt 12 ] && [ "$mode" = --compare ] && [ -z "$names" ]; then
  echo "FAILED: $# studies in $here/studies, at least 12 are expected"
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The portable level gives the same bits on every machine. A new home folder has no settings and no stored times.
export LANISTA_ISA=portable HOME="$work/.home"
unset XDG_CACHE_HOME XDG_CONFIG_HOME LANISTA_DEVICE_SPEEDS COLUMNS
mkdir "$HOME"
failed=0 skipped=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# read_by_program FILE COMMAND…: the output of a command in FILE, and its exit code
read_by_program() {
  file=$1
  shift
  "$@" > "$file" 2> "$work/.errors" < /dev/null
  code=$?
  echo "$code $file" >> exit_codes
  [ "$code" = 0 ] || sed 's/^/  /' "$work/.errors" >> text
}

# read_by_people COMMAND…: a command and its output, in the file `text`
read_by_people() {
  { echo "\$ lanista $*" && "$lanista" "$@" 2> "$work/.errors" < /dev/null; } >> text
  code=$?
  echo "$code $*" >> exit_codes
  [ "$code" = 0 ] || sed 's/^/  /' "$work/.errors" >> text
}

# hashed NAME FILE: the hash of a large file in `hashes`
hashed() { [ ! -f "$2" ] || echo "$(sha256sum < "$2" | cut -d' ' -f1) $1" >> hashes; }

# The times that a study needed, and bounds of them, are no format.
without_times() { sed -i 's/,"workers":{.*$/}/' "$1"; }

# outputs_of_study INPUT: what is read from the study next to this folder, without any training
outputs_of_study() {
  read_by_people show ../study
  read_by_people show '../study#1'
  read_by_people show '../study#best'
  read_by_program show.json "$lanista" show ../study --json
  read_by_program best.json "$lanista" show '../study#best' --json
  read_by_program best.dot "$lanista" show '../study#best' --dot
  read_by_program status.json "$lanista" status ../study --json
  without_times show.json
  without_times status.json
  read_by_program canonical.jsonl "$lanista" show ../study --canonical
  read_by_program config.yaml "$lanista" show ../study --config
  read_by_program export.out "$lanista" export ../study --csv trials.csv --measurements measurements.csv \
    --jsonl trials.jsonl --optuna optuna.log
  read_by_program export.out "$lanista" export ../study --onnx "$work/.model.onnx" --safetensors "$work/.weights" \
    --cpp "$work/.model.cpp"
  [ ! -f "$work/.model.cpp" ] || sed -i 's|^ *//.*||' "$work/.model.cpp"
  hashed model.onnx "$work/.model.onnx"
  hashed weights.safetensors "$work/.weights"
  hashed "model.cpp without comments" "$work/.model.cpp"
  if [ -f ../"$1" ]; then read_by_program predicted.csv "$lanista" predict ../study ../"$1"; fi
  if [ -f ../labelled.csv ]; then read_by_program evaluated.json "$lanista" eval ../study ../labelled.csv --json; fi
  if [ -d ../zoo ]; then
    read_by_people zoo verify --zoo ../zoo
    read_by_program zoo.json "$lanista" zoo ls --zoo ../zoo --json
    read_by_program match.json "$lanista" zoo match ../study --zoo ../zoo --json
  fi
  rm -f export.out "$work/.model.onnx" "$work/.weights" "$work/.model.cpp"
}

# outputs_of_training NAME: what is trained from the study next to this folder
outputs_of_training() {
  if [ "$1" != paused ]; then
    read_by_people repeat '../study#best' --out ../again
    hashed repeated/weights.safetensors ../again/weights.safetensors
    hashed repeated/model.onnx ../again/model.onnx
  fi
  case $1 in
    paused) set -- ;;
    *) set -- --trials 2 ;;
  esac
  cp -r ../study ../resumed
  read_by_people resume ../resumed "$@" --workers 1 --quiet
  read_by_program resumed.jsonl "$lanista" show ../resumed --canonical
  hashed resumed/weights.safetensors ../resumed/best/weights.safetensors
  hashed resumed/model.onnx ../resumed/best/model.onnx
}

# refusals_of_training: what is refused, with its reason, since the study has an option that was removed
refusals_of_training() {
  for command in "resume ../study --trials 1" "repeat ../study#1"; do
    # shellcheck disable=SC2086  # words without spaces
    { echo "\$ lanista $command" && "$lanista" $command 2>&1 < /dev/null; echo "exit code $?"; } >> text
  done
}

# outputs NAME: all outputs in $work/NAME/read and $work/NAME/trained
outputs() {
  tar -xzof "$here/studies/$1.tar.gz" -C "$work" || return 1
  cd "$work/$1" && mkdir read trained || return 1
  input=$(echo new.*)
  (cd read && outputs_of_study "$input") || return 1
  case $1 in removed-*) cd trained && refusals_of_training && return ;; esac
  # A part that the machine cannot do is skipped with its reason: training in another numeric class gives other bits.
  recorded=$(sed -n 's/.*"class":"\([^"]*\)","record":"numerics".*/\1/p' read/canonical.jsonl | head -1)
  if [ "$recorded" != "$class" ]; then
    echo "SKIPPED: $1: nothing is repeated or resumed: the study is of numeric class $recorded, this build has $class"
    skipped=$((skipped + 1))
    return 0
  fi
  (cd trained && outputs_of_training "$1")
}

numbers() { grep -oE '[0-9]+([.:][0-9]+)?(e[-+]?[0-9]+)?' "$1" | sort; }

# compare_folder NAME PART: every file of the part is the expected one, and there is no other
compare_folder() {
  # shellcheck disable=SC2010  # names of letters and dots
  for file in $(cd "$work" && ls ".expected/$1/$2" "$1/$2" | grep -v ':$' | sort -u); do
    [ "$file" != text ] || continue
    cmp -s "$work/.expected/$1/$2/$file" "$work/$1/$2/$file" && continue
    if [ "$file" = predicted.csv ] && near "$work/.expected/$1/$2/$file" "$work/$1/$2/$file"; then
      echo "note: $1: predictions differ by less than 1e-12: the mathematical library of this machine is another one"
      continue
    fi
    fail "$1: $2/$file is not what version 0.1.0 gave"
    diff "$work/.expected/$1/$2/$file" "$work/$1/$2/$file" 2>&1 | cut -c1-240 | head -6
  done
}

# near A B: whether two CSV files have equal texts, and numbers that differ by at most 1e-12
near() {
  awk -F, 'NR == FNR { for (i = 1; i <= NF; i++) want[FNR, i] = $i; rows = FNR; next }
    { for (i = 1; i <= NF; i++) {
        d = $i - want[FNR, i]
        if ($i "" != want[FNR, i] "" && !(FNR > 1 && d <= 1e-12 && d >= -1e-12 && d != 0)) wrong = 1
      } }
    END { exit wrong || FNR != rows }' "$1" "$2"
}

compare() {
  mkdir -p "$work/.expected" && tar -xzof "$here/expected/$1.tar.gz" -C "$work/.expected" || return 1
  compare_folder "$1" read
  parts='read'
  if [ -e "$work/$1/trained/text" ]; then
    compare_folder "$1" trained
    parts="read trained"
  fi
  for part in $parts; do
    text_of "$here/expected/$1.txt" "$part" > "$work/.want"
    cmp -s "$work/.want" "$work/$1/$part/text" && continue
    fail "$1: the texts of expected/$1.txt, part $part, are others (words may change: check.sh LANISTA --texts $1)"
    diff "$work/.want" "$work/$1/$part/text" | cut -c1-240 | head -10
  done
}

# text_of FILE PART: that part of a file of texts
text_of() { sed -n "/^== $2\$/,/^== /p" "$1" | grep -v '^== '; }
whole_text() { for part in read trained; do echo "== $part" && cat "$work/$1/$part/text"; done; }

store_texts() {
  whole_text "$1" > "$work/.text"
  if [ -f "$here/expected/$1.txt" ]; then
    numbers "$here/expected/$1.txt" > "$work/.before"
    numbers "$work/.text" > "$work/.after"
    if ! cmp -s "$work/.before" "$work/.after"; then
      fail "$1: numbers would change, not only words; expected/$1.txt stays"
      diff "$work/.before" "$work/.after" | head -6
      return
    fi
  fi
  cp "$work/.text" "$here/expected/$1.txt"
}

store_all() {
  if [ -e "$here/expected/$1.tar.gz" ]; then
    fail "expected/$1.tar.gz exists; what an old version gave never changes"
    return
  fi
  store_texts "$1"
  (cd "$work" &&
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --exclude='*/text' -cf - "$1/read" "$1/trained" |
    gzip -9n > "$here/expected/$1.tar.gz")
}

class=$("$lanista" doctor 2> /dev/null | sed -n 's/.*numeric class \([^ ,]*\).*/\1/p' | head -1)
for name in "$@"; do
  outputs "$name" || { fail "$name: no outputs" && continue; }
  case $mode in
    --compare) compare "$name" ;;
    --texts) store_texts "$name" ;;
    --expect) store_all "$name" ;;
    *) fail "unknown option $mode" ;;
  esac
done
[ "$failed" = 0 ] || exit 1
[ "$skipped" = 0 ] || exit 77
case $mode in
  --compare) echo "compatibility: $# studies, all outputs are those of version 0.1.0" ;;
  *) echo "compatibility: wrote expected outputs of $# studies; look at the differences" ;;
esac
