#!/bin/sh
# Unusual and hostile surroundings: closed and full streams, limits, pipes instead of files, numbers that are NaN or too
# large, and text with control codes of a terminal. Each command ends in time with a documented exit code, and no study
# is lost.
#
# usage: attacks.sh LANISTA
set -eu

lanista=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failed=0
fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}
# expect CODE WHAT COMMAND…: the command must end within a minute with this code; its output is in out and err
expect() {
  code=$1 what=$2
  shift 2
  got=0
  timeout 60 "$@" > out 2> err < /dev/null || got=$?
  [ "$got" -eq "$code" ] || { cat out err; fail "$what: exit $got, not $code"; }
}
# names TEXT WHAT: stderr contains the text
names() { grep -q -- "$1" err || { cat err; fail "$2: does not name '$1'"; }; }
# clean WHAT: the output contains no control code and no C1 character
clean() {
  if LC_ALL=C grep -q "$(printf '[\033\007\010\177]')" out err ||
    LC_ALL=C grep -q "$(printf '\302[\200-\237]')" out err; then
    LC_ALL=C cat -v out err
    fail "$1: the output has a control code"
  fi
}
plain="--trials 3 --epochs 2 --set model.base=builtin:small-mlp"
small="$plain --quiet"

# Closed standard streams: no file of lanista gets their descriptors.
# shellcheck disable=SC2086
for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  name=closed-$(echo "$closed" | tr -dc '0-9a-z<>&' | tr '<>&' 'iox')
  eval "timeout 60 \"$lanista\" run --out $name $plain > /dev/null 2> err $closed" || true
  expect 0 "status after $closed" "$lanista" status "$name"
  grep -q "ended (budget)" out || fail "the study under $closed has not ended"
done

# A full standard output is an error.
study=closed-2x
[ -d "$study" ] || study=$(ls -d closed-* | head -1)
for verb in "show $study" "show $study --json" "status $study" "show $study --canonical" "data ls" "--help"; do
  got=0
  # shellcheck disable=SC2086
  timeout 60 "$lanista" $verb > /dev/full 2> err < /dev/null || got=$?
  [ "$got" -eq 1 ] || fail "$verb > /dev/full: exit $got, not 1"
  names "standard output" "$verb > /dev/full"
done

# Numbers that are NaN, infinite, negative or too large.
for option in "--trials 99999999999999999999" "--trials 9223372036854775807" "--trials nan" "--trials 0" "--trials -1" \
  "--minutes nan" "--minutes inf" "--minutes 1e300" "--minutes -1"; do
  # shellcheck disable=SC2086
  expect 2 "resume $option" "$lanista" resume "$study" $option
  names "allowed" "resume $option"
  # shellcheck disable=SC2086
  expect 2 "run $option" "$lanista" run --out never $option
  names "allowed" "run $option"
done
[ ! -e never ] || fail "a refused run left a folder"
for setting in train.lr=.nan train.lr=nan train.lr=.inf train.warmup_epochs=1e400 budget.trials=1e30 \
  budget.guard_minutes=nan keep.checkpoint_every=nan "space.params={lr: log(nan, 1)}"; do
  expect 2 "--set $setting" "$lanista" run --out never --set "$setting"
done
expect 0 "the study is as it was" "$lanista" status "$study"

# A test metric that is NaN or infinite: the study ends, and can be read and extended.
awk 'BEGIN {
  srand(3); print "x,y"
  for (i = 0; i < 60; i++) { x = rand(); printf "%g,%g\n", x, i == 7 ? -3e38 : 2 * x }
}' > rows.csv
sed -i 's/^\([^,]*\),-3e+38$/3e38,-3e38/' rows.csv
beyond=0
for seed in 1 2 3; do
  expect 0 "a study with an outlier" "$lanista" run --out "outlier-$seed" --quiet --trials 2 --epochs 1 --seed "$seed" \
    --set "data.source=csv:rows.csv?target=y" --set data.targets=raw
  expect 0 "status of the study with an outlier" "$lanista" status "outlier-$seed" --json
  if grep -q '"test_loss":"\(nan\|inf\)"' out; then beyond=$((beyond + 1)); fi
  expect 0 "the extension of a study with an outlier" "$lanista" resume "outlier-$seed" --trials 1 --quiet
  expect 0 "the report of a study with an outlier" "$lanista" report "outlier-$seed"
done
[ "$beyond" -gt 0 ] || fail "no test metric is NaN or infinite"

# A limit on the size of files ends the study with a documented exit code. It resumes without the limit.
for blocks in 1 8 40; do
  got=0
  # shellcheck disable=SC2086
  (ulimit -f "$blocks" && timeout 60 "$lanista" run --out "limit-$blocks" $small) > out 2> err || got=$?
  case $got in 0 | 1 | 2 | 3) ;; *) cat err; fail "ulimit -f $blocks: exit $got" ;; esac
  if [ "$got" -ne 0 ] && "$lanista" status "limit-$blocks" > out 2> err; then
    timeout 60 "$lanista" resume "limit-$blocks" --quiet > out 2> err ||
      { cat err; fail "cannot resume after ulimit -f $blocks"; }
  fi
done

# Pipes and devices instead of files.
mkfifo pipe pipe.onnx pipe.csv
mkdir -p piped/log
mkfifo piped/log/000001.log
ln -s /dev/zero zero.yaml
ln -s /dev/zero zero.onnx
for verb in "run pipe --out never" "check pipe" "check pipe.onnx" "check zero.yaml" "check zero.onnx" \
  "data check csv:pipe.csv" "status piped" "resume piped" "show piped" "predict $study pipe.csv" \
  "run --set model.base=pipe --out never"; do
  got=0
  # shellcheck disable=SC2086
  timeout 10 "$lanista" $verb > out 2> err < /dev/null || got=$?
  case $got in 1 | 2 | 3) ;; *) cat err; fail "$verb: exit $got" ;; esac
done

# Hostile text with control codes of a terminal, in a study file, a table, folder names and arguments.
evil=$(printf 'a\033]0;owned\007\302\2332J\033[31m')
printf 'schema: 1\n"%s": 3\nname: "x\\e[2J\\nlanista: all is well"\n' "$(printf 'k\302\2332J')" > evil.yaml
expect 2 "a study file with control codes" "$lanista" check evil.yaml
clean "a study file with control codes"
if grep -q "^lanista: all is well" err; then fail "a study file could print a line of its own"; fi
{ printf '%s,y\n' "$evil"; seq 60 | awk -v evil="$evil" '{ print (NR % 2 ? evil : "b") "," $1 }'; } > evil.csv
expect 0 "data check of a table with control codes" "$lanista" data check "csv:evil.csv?target=y"
clean "data check of a table with control codes"
mkdir -p "studies"
cp -r "$study" "studies/$evil"
expect 0 "status over folder names" "$lanista" status
clean "status over folder names"
expect 2 "a verb with control codes" "$lanista" "$evil"
clean "a verb with control codes"
expect 2 "a folder with control codes" "$lanista" show "$evil/none"
clean "a folder with control codes"

# A study that ends without a model reports it, also with --quiet.
# shellcheck disable=SC2086
expect 1 "a study without a model" "$lanista" run --out none $small --set 'space.params={lr: [1e30]}'
names "ended without a model: .* trials failed; #.*: diverged" "a study without a model"

# Paths with '#', and with bytes that are not UTF-8.
mkdir -p 'a#b'
cp -r "$study" 'a#b/in'
cp -r "$study" 'c#1'
expect 0 "a folder below a#b" "$lanista" show 'a#b/in'
expect 0 "a trial below a#b" "$lanista" show 'a#b/in#1'
expect 0 "a folder called c#1" "$lanista" show 'c#1'
odd=$(printf 'odd-\377')
# shellcheck disable=SC2086
timeout 60 "$lanista" run --out "$odd" $small > out 2> err || { cat err; fail "a folder that is not UTF-8"; }
expect 0 "status of a folder that is not UTF-8" "$lanista" status "$odd" --json

[ "$failed" -eq 0 ] || { echo "attacks: $failed checks failed"; exit 1; }
echo "attacks: all checks passed"
