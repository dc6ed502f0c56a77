#!/bin/sh
# Studies with Slurm jobs as workers, on a Slurm that runs on this machine only (tools/slurm_box.sh), and its failures.
# Each study ends with the canonical export and the winner's weights of an undisturbed study of threads, and leaves no
# job. Skips (77) with a reason without root or without Slurm.
#
# usage: slurm.sh LANISTA [CASES…]
set -eu

lanista=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
box="$here/../tools/slurm_box.sh"
engine=
requeuer=
leave() {
  [ -z "$requeuer" ] || kill "$requeuer" 2> /dev/null || true
  [ -z "$engine" ] || kill -9 "$engine" 2> /dev/null || true
  sh "$box" stop "$work/box"
  rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' TERM INT
sh "$box" start "$work/box" 4 > "$work/started" ||
  { status=$?; [ $status -eq 77 ] && exit 77; cat "$work/started"; exit 1; }
export SLURM_CONF="$work/box/slurm.conf"

study="$here/slurm_study.yaml"
now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{ printf "%.2f", $2 - $1 }'; }
fingerprint() {
  "$lanista" show "$1" --canonical | sha256sum | cut -d' ' -f1
  sha256sum < "$1/best/weights.safetensors" | cut -d' ' -f1
}

# begin NAME [options…]: runs a study in the background with four jobs
begin() {
  name=$1
  shift
  folder="$work/$name"
  began=$(now)
  "$lanista" run "$study" --out "$folder" --quiet --workers 4 --slurm "" "$@" \
    > "$work/$name.table" 2> "$work/$name.errors" &
  engine=$!
}
# number STUDY KEY: the first number with this key in the study's status
number() { "$lanista" status "$1" --json 2> /dev/null | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; }
# training PERCENT: waits until this share of the study's steps is done
training() {
  for _ in $(seq 1200); do
    done_=$(number "$folder" steps)
    [ "${done_:-0}" -ge $(($1 * steps / 100)) ] && return
    kill -0 "${engine:-$$}" 2> /dev/null || return 0
    sleep 0.1
  done
  echo "$name: not $1 % of the steps in two minutes"; exit 1
}
# finish [REFERENCE]: waits for the end; the result must equal the reference, and no job may be left
finish() {
  wait "$engine" || { echo "$name: failed"; cat "$work/$name.errors"; exit 1; }
  same "${1:-reference}"
}
same() {
  fingerprint "$folder" > "$work/$name.sum"
  cmp -s "$work/$1.sum" "$work/$name.sum" || { echo "$name: another result"; exit 1; }
  for _ in $(seq 400); do
    left=$(squeue -h | wc -l)
    [ "$left" -eq 0 ] && break
    sleep 0.1
  done
  [ "$left" -eq 0 ] || { echo "$name: jobs are left"; squeue; exit 1; }
  echo "$name: the same result, $(since "$began") s, $(number "$folder" lost) workers lost"
}
# up NODES: waits until this many nodes are idle or busy
up() {
  for _ in $(seq 600); do
    [ "$(sinfo -h -N -t idle,alloc,mix | wc -l)" -ge "$1" ] && return
    sleep 0.2
  done
  echo "nodes do not come back"; sinfo -N; exit 1
}

case_plain() { begin plain; finish; }

case_grow() {  # three of four nodes become available later
  for node in n1 n2 n3; do scontrol update nodename=$node state=drain reason=test; done
  begin grow
  training 10
  for node in n1 n2 n3; do scontrol update nodename=$node state=resume; done
  finish
}

case_shrink() {  # two jobs are cancelled
  begin shrink
  training 10
  squeue -h -o %i | head -2 | xargs scancel
  finish
}

case_node_down() {
  begin node_down
  training 10
  scontrol update nodename=n1 state=down reason=test
  training 30
  scontrol update nodename=n1 state=resume 2> /dev/null || true  # the node may already have returned
  finish
  up 4
}

case_daemon_killed() {
  begin daemon_killed
  training 10
  kill -9 "$(cat "$work/box/slurmd.n2.pid")"
  finish
  sh "$box" node "$work/box" n2
  up 4
}

case_controller_of_slurm_killed() {
  begin controller_of_slurm_killed
  training 10
  kill -9 "$(cat "$work/box/slurmctld.pid")"
  sleep 1
  slurmctld -f "$SLURM_CONF"
  finish
  up 4
}

case_stopped_worker() {  # a silent worker loses its trials at the end of the lease
  begin stopped_worker --set run.lease_seconds=3
  training 10
  pgrep -f "worker --stdio" | tail -2 | xargs kill -STOP
  sleep 7
  pgrep -f "worker --stdio" | xargs kill -CONT 2> /dev/null || true
  finish
}

case_killed_workers() {
  begin killed_workers
  for percent in 5 15 30 45 60; do
    training $percent
    victim=$(pgrep -f "worker --stdio" | shuf -n 1 --random-source="$study" || true)
    [ -z "$victim" ] || kill -9 "$victim" 2> /dev/null || true
  done
  finish
}

case_killed_engine() {
  begin killed_engine --set cluster.slurm=time=60
  for percent in 5 25 50; do
    training $percent
    kill -9 "$engine" 2> /dev/null || true
    wait "$engine" 2> /dev/null || true
    "$lanista" resume "$folder" --quiet --workers 4 > "$work/$name.table" 2>> "$work/$name.errors" &
    engine=$!
  done
  finish
}

case_time_limit() {  # the engine is a job that gets a signal before its time limit, pauses and is requeued
  name=time_limit folder="$work/time_limit" began=$(now) pauses=0 engine=
  cat > "$work/job.sh" << END
#!/bin/sh
#SBATCH --ntasks=1 --time=10 --requeue --open-mode=append
trap 'kill -USR1 \$engine' USR1
if [ -d $folder/log ]; then verb="resume $folder"; else verb="run $study --out $folder"; fi
$lanista \$verb --quiet --slurm "--exact --overlap" --workers 2 >> $work/$name.table 2>> $work/$name.errors & engine=\$!
wait \$engine; status=\$?
if [ \$status -gt 128 ]; then wait \$engine; status=\$?; fi
echo "ended with \$status" >> $work/job.log
[ \$status -eq 75 ] && scontrol requeue \$SLURM_JOB_ID
exit \$status
END
  job=$(sbatch --parsable --output="$work/job.out" "$work/job.sh")
  # Slurm waits two minutes before it starts a requeued job; this loop starts it at once.
  (while :; do scontrol update jobid="$job" StartTime=now > /dev/null 2>&1 || true; sleep 0.3; done) & requeuer=$!
  for percent in 5 20; do
    training $percent
    scancel --batch -s USR1 "$job" 2> /dev/null || true
    for _ in $(seq 200); do
      grep -q "ended with" "$work/job.log" 2> /dev/null && break
      sleep 0.1
    done
    grep -q "ended with 0" "$work/job.log" && break  # the study ended before the signal
    grep -q "ended with 75" "$work/job.log" || { echo "no pause"; cat "$work/job.log" "$work/job.out"; exit 1; }
    : > "$work/job.log"
    pauses=$((pauses + 1))
  done
  for _ in $(seq 600); do
    grep -q "ended with 0" "$work/job.log" 2> /dev/null && break
    sleep 0.1
  done
  kill $requeuer
  [ $pauses -gt 0 ] || { echo "time_limit: it was never paused"; exit 1; }
  same reference
}

case_short_trials() {
  begin short_trials --trials 200 --epochs 1
  finish many
}

"$lanista" run "$study" --out "$work/reference" --quiet --workers 2 > /dev/null
fingerprint "$work/reference" > "$work/reference.sum"
steps=$(number "$work/reference" steps)
"$lanista" run "$study" --out "$work/many" --quiet --workers 2 --trials 200 --epochs 1 > /dev/null
fingerprint "$work/many" > "$work/many.sum"
[ $# -gt 0 ] || set -- plain grow shrink node_down daemon_killed controller_of_slurm_killed stopped_worker \
  killed_workers killed_engine time_limit short_trials
for name in "$@"; do "case_$name"; done
echo "all cases: the same results"
