#!/bin/sh
# Slurm in a box: controller and nodes on this machine alone, to try out and to test what runs on Slurm.
#   tools/slurm_box.sh start DIR [NODES]   (default: 4 nodes of 2 CPUs) prints what to set: SLURM_CONF
#   tools/slurm_box.sh stop DIR
#   tools/slurm_box.sh node DIR NAME       begins the daemon of one node again
# DIR has all keys, configuration, logs and state. Needs root, for addresses on the loopback device. Needs Debian's
# packages slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge: without them, it prints that and exits
# with status 77.
set -u
verb=${1:-} dir=${2:-}
if [ -z "$verb" ] || [ -z "$dir" ]; then
  sed -n '2,5p' "$0" | sed 's/^# *//' >&2
  exit 2
fi

missing() {
  echo "slurm_box: $1" >&2
  exit 77
}
needs() {
  [ "$(id -u)" -eq 0 ] || missing "needs root"
  for program in slurmctld slurmd srun scontrol munged mungekey ip; do
    command -v "$program" >/dev/null 2>&1 || [ -x "/usr/sbin/$program" ] || missing "no $program here"
  done
}
PATH=$PATH:/usr/sbin:/sbin

address() { echo "10.99.77.$(($1 + 1))"; }

configure() {
  nodes=$1
  host=$(hostname -s)
  {
    echo "ClusterName=box"
    echo "SlurmctldHost=$host($(address "$nodes"))"
    echo "SlurmctldPort=17000"
    echo "SlurmUser=root"
    echo "SlurmdUser=root"
    echo "AuthType=auth/munge"
    echo "AuthInfo=socket=$dir/munge.socket"
    echo "CredType=cred/munge"
    echo "StateSaveLocation=$dir/state"
    echo "SlurmdSpoolDir=$dir/spool.%n"
    echo "SlurmctldPidFile=$dir/slurmctld.pid"
    echo "SlurmdPidFile=$dir/slurmd.%n.pid"
    echo "SlurmctldLogFile=$dir/slurmctld.log"
    echo "SlurmdLogFile=$dir/slurmd.%n.log"
    echo "ProctrackType=proctrack/linuxproc"
    echo "TaskPlugin=task/none"
    echo "MpiDefault=none"
    echo "ReturnToService=2"
    echo "SlurmdTimeout=20"
    echo "KillWait=5"
    echo "MinJobAge=600"
    echo "InactiveLimit=10"  # a job without its srun ends, even if no one received the message
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_Core"
    echo "SlurmdParameters=config_overrides"
    for node in $(seq 0 $((nodes - 1))); do
      where="NodeHostname=$host NodeAddr=$(address "$node") Port=$((17001 + node))"
      echo "NodeName=n$node $where CPUs=2 RealMemory=1000"
    done
    echo "PartitionName=box Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
  } >"$dir/slurm.conf"
}

begin_node() {
  mkdir -p "$dir/spool.$1"
  slurmd -f "$dir/slurm.conf" -N "$1"
}

start() {
  nodes=${1:-4}
  needs
  mkdir -p "$dir/state" && chmod 755 "$dir" || exit 1
  dir=$(cd "$dir" && pwd)
  for node in $(seq 0 "$nodes"); do ip addr add "$(address "$node")/32" dev lo 2>/dev/null; done
  configure "$nodes"
  [ -f "$dir/munge.key" ] || mungekey --create --keyfile="$dir/munge.key" || exit 1
  chown root: "$dir/munge.key"
  munged --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munged.seed" || exit 1
  slurmctld -f "$dir/slurm.conf" || exit 1
  for node in $(seq 0 $((nodes - 1))); do begin_node "n$node" || exit 1; done
  export SLURM_CONF="$dir/slurm.conf"
  for _ in $(seq 60); do
    idle=$(sinfo -h -N -t idle 2>/dev/null | wc -l)
    if [ "$idle" -ge "$nodes" ]; then
      echo "export SLURM_CONF=$dir/slurm.conf"
      return
    fi
    sleep 0.5
  done
  echo "slurm_box: the nodes do not come up; see $dir/*.log" >&2
  exit 1
}

ours() { pgrep -f "$1" 2>/dev/null; }

stop() {
  daemons="(slurmctld|slurmd|munged) .*$dir/"
  steps=$(for node in "$dir"/spool.*; do [ -d "$node" ] && ls "$node" 2>/dev/null; done |
    sed -n 's/^n[0-9]*_\([0-9]*\.[0-9a-z]*\)$/\1/p')
  for step in $steps; do ours "slurmstepd: \[$step\]" | xargs -r kill -9 2>/dev/null; done
  ours "$daemons" | xargs -r kill 2>/dev/null
  for _ in $(seq 50); do
    [ -z "$(ours "$daemons")" ] && break
    sleep 0.1
  done
  ours "$daemons" | xargs -r kill -9 2>/dev/null
  for node in $(seq 0 16); do ip addr del "$(address "$node")/32" dev lo 2>/dev/null; done
  return 0
}

case $verb in
  start) start "${3:-4}" ;;
  stop) stop ;;
  node) begin_node "${3:?which node?}" ;;
  *) missing "no verb '$verb'; start, stop, node" ;;
esac
