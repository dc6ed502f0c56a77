#!/bin/sh
# The command line: exit codes, messages and files.
#
# usage: cli.sh LANISTA
set -u

lanista=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# wait_until COMMAND…: runs the command until it succeeds, for at most two minutes, since a machine may be busy
wait_until() {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 1200 ] || return 1
    sleep 0.1
  done
}

# expect CODE TEXT COMMAND…: the command ends with this code, and its output contains the text
expect() {
  code=$1 text=$2
  shift 2
  "$@" > out 2>&1 < /dev/null
  seen=$?
  if [ "$seen" -ne "$code" ] || ! grep -qF -- "$text" out; then
    echo "FAILED: $*"
    echo "  exit $seen, expected $code; expected text: $text"
    sed 's/^/  | /' out
    failed=$((failed + 1))
  fi
}

small="--epochs 2 --trials 4 --quiet"

expect 0 'lanista 0.' "$lanista" --version
expect 0 'examples:' "$lanista" --help
for verb in run plan resume repeat status show check report compare pause stop predict eval export data trust doctor \
  completion man; do
  expect 0 'examples:' "$lanista" "$verb" --help
done
expect 2 'examples:' "$lanista"
expect 2 "did you mean 'resume'?" "$lanista" resmue
expect 2 '--nope' "$lanista" run --nope
expect 0 '"cpu"' "$lanista" doctor --json
expect 0 '"gflops"' "$lanista" doctor --json
expect 0 'GFLOP/s a core' "$lanista" doctor
expect 0 '$schema' "$lanista" check --schema
expect 0 'no studies' "$lanista" status
expect 0 'group 4: trial' "$lanista" plan --trials 9 --workers 2
expect 0 'on 3 workers' "$lanista" plan --trials 4 --workers 3
expect 0 'passes: prefix' "$lanista" plan --trials 4 --explain --set strategy=random
expect 0 '"workers":' "$lanista" plan --trials 4 --json --measure
expect 2 'KEY=VALUE' "$lanista" plan --set nothing
expect 0 '  - minimize val_loss' "$lanista" run --dry-run --goal 'minimize val_loss'
expect 0 '  - minimize params' "$lanista" run --dry-run --goal '[maximize val_accuracy, minimize params]'
expect 0 'rule: "median"' "$lanista" run --dry-run --set stop=median
expect 0 'guard_minutes: 2.0' "$lanista" run --dry-run --minutes 2

# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out first $small
expect 2 'lanista resume first' "$lanista" run --out first
expect 0 'rank  trial' "$lanista" resume first --quiet
cp out first.table
expect 0 'ended (budget)' "$lanista" status first
expect 0 '"ended":true' "$lanista" status first --json
expect 0 'edits from' "$lanista" show 'first#2'
expect 0 'digraph' "$lanista" show 'first#2' --dot
# `show --plan` measures kernels. The log keeps the times; the canonical export leaves them out.
expect 0 '"class"' "$lanista" show first --canonical
cp out first.canonical
expect 0 'linear' "$lanista" show 'first#2' --plan
expect 0 '"measured_us"' "$lanista" show first --plan --json
grep -q '"work"' first/log/000001.log || fail "the costs of kernels are not logged"
expect 0 '"class"' "$lanista" show first --canonical
cmp -s out first.canonical || fail "a logged cost changes the canonical export"
expect 0 'rank  trial' "$lanista" resume first --quiet
expect 2 'has trials 1 to 4' "$lanista" show 'first#5'
expect 2 "unknown verb 'list'" "$lanista" zoo list
expect 2 "did you mean 'verify'?" "$lanista" zoo verfy
expect 2 '--dot needs a trial' "$lanista" show first --dot
expect 0 'name: digits' "$lanista" show first --config
expect 2 'has ended already' "$lanista" stop first
expect 2 'has ended already' "$lanista" stop first#1
expect 2 'is the folder of a study, not a study file; write: lanista resume first' "$lanista" run first
# Worker processes read the data by the rules of the study: with the first ones a line of numbers is a row.
awk 'BEGIN { print "2019,2020,2021"; for (i = 0; i < 40; ++i) print i / 7 "," i % 5 "," i / 3 }' > years.csv
for rules in 1 2; do
  expect 0 'val_loss' "$lanista" run --set rules=$rules --set run.isolation=process --set data.source=csv:years.csv \
    --trials 1 --epochs 1 --out rules$rules
done
grep -q '"rows": *41' rules1/best/package.json || fail "rules 1 read the first line as names"
grep -q '"rows": *40' rules2/best/package.json || fail "rules 2 read the first line as a row"
expect 2 "stop has 'first#best'; allowed are FOLDER and FOLDER#NUMBER" "$lanista" stop first#best
expect 2 "pause has 'first#1'; allowed are FOLDER" "$lanista" pause first#1
expect 2 'no study' "$lanista" resume nothing-here
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out second --workers 1 $small
cmp -s out first.table || fail "one worker gives another table"

# Outputs of a study: the page, the model in each form, the tables.
[ -s first/report.html ] || fail "run wrote no report"
expect 0 'wrote page.html' "$lanista" report first --out page.html
cmp -s page.html first/report.html || fail "report differs from what run wrote"
# Commands on the page are relative to the parent of the study folder, whatever folder `report` runs in.
grep -q '"folder":"first"' page.html || fail "the page does not name the folder first"
(cd first && "$lanista" report . --out ../inside.html) 2> /dev/null
"$lanista" report "$PWD/first/" --out absolute.html 2> /dev/null
for other in inside absolute; do
  cmp -s page.html $other.html || fail "the page depends on the folder that report runs in: $other"
done
expect 0 'wrote page.html' "$lanista" report first --out page.html --watch
cmp -s page.html first/report.html || fail "watching a study that has ended gives another page"
expect 0 '"importance":[{' "$lanista" show first --json
# The assessment of the model: a file next to the log. `resume` writes the same bytes again if it is lost. The package
# does not contain it.
grep -q '"confusion"' first/assessment.json || fail "the model is not assessed"
grep -q '"quality":{' page.html || fail "the page does not show the assessment"
mv first/assessment.json kept.json
expect 0 'wrote bare.html' "$lanista" report first --out bare.html
grep -q '"quality":null' bare.html || fail "a page shows an assessment without its file"
expect 0 'rank  trial' "$lanista" resume first --quiet
cmp -s kept.json first/assessment.json || fail "resume gives another assessment"
[ ! -e first/best/assessment.json ] || fail "the package contains targets"
expect 0 'equal to the study' "$lanista" repeat 'first#2' --out again
expect 2 'DIR#TRIAL' "$lanista" repeat first
expect 0 'largest difference' "$lanista" export first --onnx m.onnx --safetensors m.safetensors --cpp m.cpp \
  --package copy
expect 0 'wrote runs' "$lanista" export first --tensorboard runs --csv t.csv --measurements m.csv --jsonl t.jsonl \
  --optuna o.journal --trace t.json
expect 2 'nothing to export' "$lanista" export first
cmp -s copy/weights.safetensors first/best/weights.safetensors || fail "the exported package has other weights"
cmp -s m.onnx first/best/model.onnx || fail "the exported ONNX file is not the package's"
expect 0 'builtin:digits' "$lanista" data ls
expect 0 'wrote 2 files to arrays' "$lanista" data export builtin:digits --npy arrays --part test
expect 2 'nothing to write' "$lanista" data export builtin:digits
expect 0 'row,prediction,p_0' "$lanista" predict first arrays/x.npy
expect 2 'package.json' "$lanista" predict . arrays/x.npy
"$lanista" eval first npy:arrays/x.npy,arrays/y.npy --json > eval.json
accuracy=$(sed 's/.*"accuracy":\([0-9.]*\).*/\1/' eval.json)
grep -q "\"test_accuracy\": $accuracy" first/best/package.json || {
  echo "FAILED: eval of the test part gives $accuracy, the package another"
  failed=$((failed + 1))
}
expect 0 'confusion: a row for each label' "$lanista" eval first npy:arrays/x.npy,arrays/y.npy
grep -q '"confusion":\[\[' eval.json && grep -q '"f1_macro":0\.' eval.json || fail "eval --json lacks counts or metrics"
printf 'x' >> copy/weights.safetensors
expect 3 'weights.safetensors' "$lanista" predict copy arrays/x.npy

# Comparison of studies.
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out random $small --set strategy=random --set stop=none
expect 0 'strategy.name' "$lanista" compare first second random
expect 0 'The study files have equal settings.' "$lanista" compare first first
expect 0 'best val_accuracy after' "$lanista" compare first random --page compare.html
grep -q '<h1>' compare.html && fail "the comparison has markup in it"
grep -q '"name":"random"' compare.html || fail "the comparison does not name random"
expect 0 '"differences":[{"key":"strategy.name"' "$lanista" compare first random --json
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out otherwise $small --set goal=val_loss
expect 0 'The studies have different goals (first: maximize val_accuracy; otherwise: minimize val_loss)' \
  "$lanista" compare first otherwise
expect 2 'folders' "$lanista" compare first
expect 2 'no study here' "$lanista" compare first nothing-here
expect 2 'no-folder' "$lanista" compare first second --page no-folder/x.html

# Pages of a running study: written by the run, and by `report --watch`. Both get their final form at the end.
mkdir desktop
printf '#!/bin/sh\nprintf "%%s" "$1" > "$LANISTA_TEST_OPENED"\n' > desktop/xdg-open && chmod +x desktop/xdg-open
DISPLAY=:9 PATH="$work/desktop:$PATH" LANISTA_TEST_OPENED="$work/opened" "$lanista" run --out lively --quiet --open \
  --epochs 3000 --trials 3 --set stop=none > out 2>&1 &
process=$!
both_are_written() { [ -s opened ] && [ -s lively/report.html ]; }
wait_until both_are_written
[ "$(cat opened 2> /dev/null)" = "$PWD/lively/report.html" ] || fail "--open opened '$(cat opened 2> /dev/null)'"
grep -q '"reload":[0-9]' lively/report.html || fail "the page of a run does not reload"
"$lanista" report lively --watch --out watched.html > watch.out 2>&1 &
watcher=$!
wait_until [ -s watched.html ]
grep -q '"reload":[0-9]' watched.html || fail "a watched page does not reload"
cp watched.html watched.before
is_written_again() { ! cmp -s watched.html watched.before; }
wait_until is_written_again
cmp -s watched.html watched.before && fail "a watched page is not written again"
expect 0 'request sent' "$lanista" stop lively
wait "$process"
wait "$watcher" || fail "the watcher ended with $?"
grep -q 'wrote watched.html' watch.out || fail "the watcher did not print what it wrote"
for page in lively/report.html watched.html; do
  grep -q '"reload":null' "$page" || fail "$page still reloads after the end of the study"
done
cmp -s lively/report.html watched.html || fail "the watcher's last page is not the run's"
ls lively/*.tmp > /dev/null 2>&1 && fail "a page left a temporary file"
expect 2 'no study here' "$lanista" report nothing-here --watch
# shellcheck disable=SC2086
expect 0 'page unseen/report.html' env -u DISPLAY -u WAYLAND_DISPLAY "$lanista" run --out unseen --open --epochs 2 \
  --trials 2

# A trial without stored weights: the message gives the command that trains them again, and the command works.
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" run --out few $small --set keep.top=1
gone=$(for n in 1 2 3 4; do "$lanista" predict "few#$n" arrays/x.npy > /dev/null 2>&1 || echo "$n"; done | head -1)
expect 2 "train it again with: lanista repeat 'few#$gone' --out FOLDER" "$lanista" predict "few#$gone" arrays/x.npy
expect 0 'equal to the study' "$lanista" repeat "few#$gone" --out few.again
expect 0 'row,prediction' "$lanista" predict few.again arrays/x.npy

# Completions and the manual page, read by the shells and by man.
for shell in bash zsh fish; do
  "$lanista" completion "$shell" > "completion.$shell"
  if command -v "$shell" > /dev/null 2>&1; then
    expect 0 fine sh -c '"$1" -n "$2" && echo fine' sh "$shell" "completion.$shell"
  fi
done
if command -v bash > /dev/null 2>&1; then
  cat > complete.bash << 'END'
source ./completion.bash
COMP_WORDS=(lanista "$@")
COMP_CWORD=2
_lanista
echo "${COMPREPLY[*]}"
END
  expect 0 'check' bash complete.bash data ch
  expect 0 '--trials' bash complete.bash run --tri
fi
"$lanista" man > lanista.1
if command -v man > /dev/null 2>&1; then
  expect 0 'LANISTA(1)' env MANWIDTH=100 man --warnings -l lanista.1
fi

# A pipe receives no control codes, and with --json only JSON.
# shellcheck disable=SC2086
"$lanista" run --out piped --epochs 2 --trials 4 > piped.out 2> piped.err
if LC_ALL=C grep -q "$(printf '\033')" piped.out piped.err; then fail "control codes in a pipe"; fi
# shellcheck disable=SC2086
"$lanista" run --out json $small --json > json.out 2> /dev/null
if [ ! -s json.out ] || grep -qv '^{"' json.out; then fail "--json prints something else"; fi
mv first moved
expect 0 'rank  trial' "$lanista" resume moved --quiet

# Mistakes in study files: position, value, what is allowed, the nearest known name.
printf 'train:\n  epoch: 3\n' > bad.yaml
expect 2 "bad.yaml:2:3: train.epoch: unknown key 'epoch'; did you mean 'epochs'?" "$lanista" run bad.yaml
printf 'strategy: {name: evolutoin}\n' > bad.yaml
expect 2 "bad.yaml:1:18: strategy.name: 'evolutoin' is not known" "$lanista" check bad.yaml
expect 2 'none.yaml' "$lanista" run none.yaml
expect 2 'KEY=VALUE' "$lanista" run --set train.epochs

# Invalid data files: the message names the file and the line.
printf 'a,b\n1,2\n3\n' > ragged.csv
expect 3 'line 3' "$lanista" run --set 'data.source=csv:ragged.csv?target=b'
printf 'not numpy' > x.npy
expect 3 'x.npy' "$lanista" run --set 'data.source=npy:x.npy,x.npy'
printf '\200\004\225pickled' > model.pt
expect 3 'weights_only=True' "$lanista" predict model.pt x.npy
expect 3 'pickle' "$lanista" run --set 'data.source=npy:model.pt,x.npy'
expect 3 'pickle' "$lanista" check model.pt
expect 2 'none.csv' "$lanista" run --set 'data.source=csv:none.csv?target=b'
[ ! -d studies ] || fail "a refused run left a study behind"

# Data of the user: paths are relative to the study file, also if the study is resumed in another folder.
mkdir own
awk 'BEGIN {
  print "x,y,kind"
  for (i = 0; i < 200; i++) {
    x = (i * 37 % 100) / 50 - 1; y = (i * 61 % 100) / 50 - 1; print x "," y "," (x + y > 0 ? "up" : "down")
  }
}' > own/points.csv
cat > own/study.yaml << 'END'
data: {source: "csv:points.csv?target=kind", batch: 16}
model: {base: builtin:small-mlp}
train: {epochs: 3, lr: 0.1}
budget: {trials: 1}
END
expect 0 'nothing varies in this study, so 1 trial is all' "$lanista" check own/study.yaml
expect 0 'cluster.places has no effect, because run.pipeline is 1' "$lanista" run own/study.yaml --dry-run \
  --set 'cluster.places=[node1]'
# A study file cannot name a program, and --program needs a study with workers on other hosts.
expect 2 'cluster.program: is not allowed in a study file' "$lanista" run own/study.yaml --dry-run \
  --set cluster.program=sh
expect 2 '--program: is' "$lanista" run own/study.yaml --dry-run --program /opt/lanista
expect 2 "'node2' is not a host of this study; allowed: node1" "$lanista" run own/study.yaml --dry-run --ssh node1 \
  --program node2=/opt/lanista
expect 2 "starts with '-'" "$lanista" run own/study.yaml --dry-run --ssh node1 --program node1=-oProxyCommand=id
expect 0 'name: points' "$lanista" run own/study.yaml --dry-run --ssh node1,here --program node1=/opt/lanista \
  --program /usr/bin/lanista
expect 0 'val_accuracy' "$lanista" run own/study.yaml --out own/result --quiet
(cd own && "$lanista" run study.yaml --quiet) > /dev/null 2>&1
[ -d own/studies/points-1 ] || fail "a study without a name is not called after its data"
expect 0 'rank  trial' "$lanista" resume own/result --trials 2 --quiet

# Without a test part there is no test. An exported model keeps its precision with a column far from zero (years).
{
  echo 'year,age,vote'
  for i in $(seq 200); do echo "$((1984 + i % 3 * 4)),$((20 + i * 7 % 50)),c$((i * 7 % 50 / 25))"; done
} > votes.csv
expect 0 'without a search: val_accuracy' "$lanista" run --out untested --epochs 3 --trials 4 --quiet \
  --set 'data.source=csv:votes.csv?target=vote' --set 'data.split=[0.8, 0.2, 0]'
if grep -q 'nan' out; then fail "a test metric without a test part: $(cat out)"; fi
expect 0 'read back' "$lanista" export untested --onnx votes.onnx

# A study resumes with its first settings, and other settings are refused. A new study imports the trials that fit.
cp own/result/config.resolved.yaml first.yaml
expect 0 'rank  trial' "$lanista" resume own/result own/study.yaml --quiet
expect 0 'rank  trial' "$lanista" resume own/result --set train.lr=0.1 --quiet
expect 2 'train.lr: was 0.1, is 0.2' "$lanista" resume own/result --set train.lr=0.2 --quiet
expect 2 '1 setting differs' "$lanista" resume own/result --set train.lr=0.2 --quiet
expect 2 'lanista resume own/result --trials N' "$lanista" resume own/result --set budget.trials=9 --quiet
expect 2 'space.params.lr: was not set, is log(0.01, 0.3)' "$lanista" resume own/result own/study.yaml \
  --set 'space.params.lr=log(0.01, 0.3)' --quiet
expect 2 'lanista run own/study.yaml --set ' "$lanista" resume own/result own/study.yaml \
  --set 'space.params.lr=log(0.01, 0.3)' --quiet
expect 2 "did you mean 'lr'" "$lanista" resume own/result --set train.lrr=1
sed 's/lr: 0.1$/lr: 0.3/' first.yaml > own/result/config.resolved.yaml
expect 2 'train.lr: was 0.1, is 0.3' "$lanista" resume own/result --quiet
cp first.yaml own/result/config.resolved.yaml
expect 0 'rank  trial' "$lanista" resume own/result --quiet
expect 0 'the strategy uses 1 trial of own/result' "$lanista" run own/study.yaml --import own/result \
  --out own/wider --trials 2 --set 'space.params.lr=log(0.01, 0.3)'
grep -q '"earlier":{"left_out":0,"study":"points","trials":1}' own/wider/report.html ||
  fail "the page does not show the imported trials"
expect 0 'rank  trial' "$lanista" resume own/wider --trials 1 --quiet
expect 2 'it has other data' "$lanista" run --import own/result --out own/refused
expect 2 'lr had another value in training' "$lanista" run own/study.yaml --import own/result --out own/refused \
  --set train.lr=0.2
expect 2 '--import nowhere' "$lanista" run own/study.yaml --import nowhere --out own/refused
printf '%s\n' '[{"lr": 0.02}, {"lr": 0.07}]' > own/first.json
expect 0 'the strategy uses 1 trial' "$lanista" run own/study.yaml --enqueue own/first.json --import own/result \
  --out own/enqueued --trials 3 --set 'space.params.lr=log(0.01, 0.3)'
expect 0 '"lr":0.07' "$lanista" show own/enqueued#2 --json
printf '%s\n' '- {lr: 0.02}' '- {lr: 7}' > own/first.yaml
expect 2 'own/first.yaml:2:8: strategy.enqueue[1].lr: 7 is not in' "$lanista" run own/study.yaml \
  --enqueue own/first.yaml --out own/refused --set 'space.params.lr=log(0.01, 0.3)'
expect 2 'nowhere.yaml' "$lanista" run own/study.yaml --enqueue own/nowhere.yaml --out own/refused
[ ! -e own/refused ] || fail "a refused import left a study behind"

# Metrics that only goals, constraints and rungs name.
expect 0 'val_f1  val_log_loss' "$lanista" run own/study.yaml --out own/judged --quiet \
  --set 'goal=[val_f1, val_log_loss]' --set 'subject_to=val_roc_auc >= 0.1' \
  --set 'stop={rule: asha, rungs: [1], on: val_matthews}' --trials 3
expect 0 '"test_matthews"' "$lanista" status own/judged --json
expect 2 "did you mean 'val_f1_macro'?" "$lanista" run own/study.yaml --set goal=val_f1_makro

# A model of the user, and a study folder with parents that do not exist yet.
printf '%%0 = input(shape=[1,8,8])\n%%1 = flatten(%%0)\n%%2 = linear(%%1, out=10)\n%%3 = output(%%2)\n' > own/my.graph
printf 'model: {base: my.graph}\nbudget: {trials: 2}\ntrain: {epochs: 2}\n' > own/model.yaml
expect 0 'my.graph' "$lanista" run own/model.yaml --out a/new/place --quiet
expect 0 'my.graph' "$lanista" resume a/new/place --trials 1 --quiet

# Studies that start at the same time get different folders.
mkdir race
for n in 1 2 3 4 5; do
  # shellcheck disable=SC2086
  (cd race && "$lanista" run $small --workers 1 > "$n.out" 2>&1; echo $? > "$n.code") &
done
wait
for n in 1 2 3 4 5; do
  if [ "$(cat race/$n.code)" != 0 ] || [ ! -f "race/studies/digits-$n/best/package.json" ]; then
    echo "FAILED: one of five studies that start at the same time"
    sed 's/^/  | /' "race/$n.out"
    failed=$((failed + 1))
  fi
done

# The command that the last line recommends trains more trials.
again=$("$lanista" run --out longer --epochs 2 --trials 4 2>&1 > /dev/null |
  sed -n 's/^again  lanista \(.*\)   use .*/\1/p')
[ "$again" = "resume longer --trials 4" ] || fail "recommended is '$again'"
# shellcheck disable=SC2086
expect 0 'rank  trial' "$lanista" $again --quiet
expect 0 ' 8 trials' "$lanista" status longer

# A signal pauses the study, and the message gives the command to resume it.
signalled() {
  code=$1 signal=$2
  rm -rf "paused-$signal"
  "$lanista" run --out "paused-$signal" --quiet --epochs 3000 --trials 3 --set stop=none > out 2>&1 &
  process=$!
  has_begun() { "$lanista" status "paused-$signal" 2> /dev/null | grep -q '[1-9][0-9]* under way'; }
  wait_until has_begun
  kill "-$signal" "$process"
  wait "$process"
  seen=$?
  if [ "$seen" -ne "$code" ] || ! grep -qF "lanista resume paused-$signal" out; then
    echo "FAILED: $signal ended with $seen, expected $code"
    sed 's/^/  | /' out
    failed=$((failed + 1))
  fi
}
signalled 130 INT
signalled 75 TERM
signalled 75 USR1
log_size() { cat paused-INT/log/* | wc -c; }
before=$(log_size)
"$lanista" resume paused-INT --quiet > /dev/null 2>&1 &
process=$!
has_resumed() { [ "$(log_size)" -gt "$before" ]; }
wait_until has_resumed
expect 2 'another process' "$lanista" resume paused-INT
expect 0 'request sent' "$lanista" pause paused-INT
wait "$process"
[ $? -eq 75 ] || fail "lanista pause did not end the study with 75"
expect 0 'not ended' "$lanista" status paused-INT

# A folder without write permission, and a file as parent.
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod 500 locked
  expect 2 'locked/x' "$lanista" run --out locked/x
fi
: > file
expect 2 'a file is in the way' "$lanista" run --out file/x

# The list of trusted code is private, and contains SHA-256 hashes.
mkdir -p config && printf 'print(1)\n' > train.py && mkdir plugins && cp train.py plugins/
export XDG_CONFIG_HOME="$work/config"
expect 0 'file:'"$(sha256sum < train.py | cut -d' ' -f1)" "$lanista" trust add train.py
expect 0 'trusted folder:' "$lanista" trust add plugins
expect 0 "$work/train.py" "$lanista" trust ls
[ "$(stat -c %a config/lanista config/lanista/trusted | tr '\n' ' ')" = '700 600 ' ] ||
  fail "the list of trusted code is not private"
ln -s /etc/passwd plugins/link
expect 2 'plugins/link: is a symbolic link' "$lanista" trust add plugins
rm plugins/link
expect 0 'removed file:' "$lanista" trust rm train.py
expect 2 'has no entry' "$lanista" trust rm train.py
expect 0 'removed folder:' "$lanista" trust rm plugins
chmod 666 config/lanista/trusted
expect 2 'so other users may write it' "$lanista" trust ls
chmod 600 config/lanista/trusted
mv config/lanista/trusted moved.list && ln -s "$work/moved.list" config/lanista/trusted
expect 2 'trusted: is a symbolic link' "$lanista" trust add train.py
unset XDG_CONFIG_HOME

[ "$failed" -eq 0 ] && echo "command line: all checks passed"
exit "$failed"
