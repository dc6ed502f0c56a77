#!/bin/sh
# Workers that another program starts and connects by pipes, as ssh does. Results equal those of threads, also after
# kills of workers and of the engine, and no process is left.
#
# usage: other_hosts.sh LANISTA
set -eu

case $1 in /*) lanista=$1 ;; *) lanista=$PWD/$1 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
study="$here/slurm_study.yaml"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\ncat | "$@" | cat\n' > "$work/relay"
chmod +x "$work/relay"

same() {
  for folder in "$work/threads" "$1"; do
    "$lanista" show "$folder" --canonical | sha256sum > "$folder.sum"
    sha256sum < "$folder/best/weights.safetensors" >> "$folder.sum"
  done
  cmp -s "$work/threads.sum" "$1.sum" || { echo "$2: another result"; exit 1; }
  echo "$2: the same result"
}
workers() { pgrep -f "^$lanista worker --stdio" || true; }

"$lanista" run "$study" --out "$work/threads" --quiet --workers 2 --epochs 60 > /dev/null
"$lanista" run "$study" --out "$work/pipes" --quiet --workers 3 --epochs 60 \
  --launch "$work/relay" --launch env > /dev/null
same "$work/pipes" pipes

# `status`, `show` and the report give the host of each worker, and what the loss of one cost. Two namespaces act as two
# hosts.
if unshare -r --uts hostname box > /dev/null 2>&1; then
  cat > "$work/on" << 'EOF'
#!/bin/sh
name=$1
shift
exec unshare -r --uts sh -c 'hostname "$0" && exec "$@"' "$name" "$@"
EOF
  chmod +x "$work/on"
  "$lanista" run "$study" --out "$work/hosts" --quiet --workers 2 --epochs 60 \
    --launch "$work/on box1" --launch "$work/on box2" > "$work/out" 2>&1 &
  engine=$!
  for _ in $(seq 600); do
    "$lanista" status "$work/hosts" > "$work/before" 2> /dev/null || true
    # Both workers are connected, and the one that will be killed has a trial.
    grep -q "^  box1: 1 worker," "$work/before" && grep -q "  worker processes [0-9]* [0-9]" "$work/before" &&
      grep -q "^  worker 1 on box2, .* busy: #" "$work/before" && break
    sleep 0.05
  done
  second=$(sed -n 's/.*  worker processes [0-9]* \([0-9]*\).*/\1/p' "$work/before")
  kill -9 "$second" || { cat "$work/before" "$work/out"; exit 1; }
  wait $engine
  same "$work/hosts" hosts
  grep -q "^  box1: 1 worker, [0-9]* % of the work$" "$work/before" || { cat "$work/before"; exit 1; }
  "$lanista" status "$work/hosts" > "$work/after"
  for line in "1 worker lost (the last on box2 ($work/on box2) was killed by signal 9 (Killed))" \
    "^  box1: [0-9]* % of the work$" "^  box2: [0-9]* % of the work, 1 worker lost$"; do
    grep -q "$line" "$work/after" || { echo "status lacks '$line'"; cat "$work/after"; exit 1; }
  done
  moved=0
  for trial in $(seq 16); do
    "$lanista" show "$work/hosts#$trial" > "$work/trial"
    if grep -q "^moved  *from worker 1 on box2 to .*: at most [0-9.e-]* s of its work lost$" "$work/trial"; then
      moved=$((moved + 1))
    fi
  done
  grep -q "  $moved trials* moved, at most" "$work/after" && [ $moved -gt 0 ] ||
    { echo "$moved trials moved, by their pages"; cat "$work/after"; exit 1; }
  "$lanista" report "$work/hosts" 2> /dev/null
  grep -q '"names":\["box[12]","box[12]"\]' "$work/hosts/report.html" || { echo "the report names no hosts"; exit 1; }
  if "$lanista" status "$work/threads" --json | grep -q '"host'; then echo "status gives hosts of threads"; exit 1; fi
  echo "hosts: reported, $moved trials moved"
else
  echo "hosts: skipped, this machine allows no namespaces"
fi

"$lanista" run "$study" --out "$work/killed" --quiet --workers 3 --epochs 60 \
  --launch "$work/relay" --launch env > "$work/out" 2>&1 &
engine=$!
for _ in 1 2 3; do
  sleep 0.3
  workers | tail -1 | xargs -r kill -9 2> /dev/null || true
done
sleep 0.2
kill -9 $engine 2> /dev/null || true
wait $engine 2> /dev/null || true
set -- run "$study" --out "$work/killed" --epochs 60
[ ! -d "$work/killed/log" ] || set -- resume "$work/killed"
"$lanista" "$@" --quiet --launch "$work/relay" --workers 2 > /dev/null
same "$work/killed" killed

# A fake ssh runs the command on this machine. It expects '--' before the host. Only the command line selects the
# program: neither a study file nor a stored study does.
mkdir "$work/bin" "$work/hostile"
cat > "$work/bin/ssh" << EOF
#!/bin/sh
echo "\$*" >> "$work/calls"
while [ "\$1" != -- ]; do shift; done
shift 2
exec sh -c "exec \$*"
EOF
cat > "$work/bin/srun" << EOF
#!/bin/sh
echo "srun \$*" >> "$work/calls"
while [ "\$1" != -- ]; do shift; done
shift
exec "\$@"
EOF
printf '#!/bin/sh\ntouch "%s"\n' "$work/ran" | tee "$work/hostile/worker" "$work/hostile/stage" > "$work/hostile/evil"
chmod +x "$work/bin/ssh" "$work/bin/srun" "$work/hostile/worker" "$work/hostile/stage" "$work/hostile/evil"
cp "$lanista" "$work/there"
(cd "$work/hostile" && PATH="$work/bin:$PATH" "$lanista" run "$study" --out "$work/ssh" --quiet --workers 2 \
  --epochs 60 --ssh node1,node2 --program "node2=$work/there" > /dev/null)
same "$work/ssh" ssh
started() {  # started WHAT TEXT: a launcher was called with this text
  grep -q -- "$2" "$work/calls" || { echo "$1 has another program"; cat "$work/calls"; exit 1; }
}
started node1 "-- node1 $lanista worker --stdio"
started node2 "-- node2 $work/there worker --stdio"
(cd "$work/hostile" && PATH="$work/bin:$PATH" "$lanista" run "$study" --out "$work/srun" --quiet --workers 2 \
  --epochs 60 --slurm --exact > /dev/null)
same "$work/srun" srun
started srun "--exact -- $lanista worker --stdio"
refused() {  # refused WHAT TEXT OPTIONS…: the run is refused with this text, and starts no launcher
  what=$1 text=$2
  shift 2
  : > "$work/calls"
  if (cd "$work/hostile" && PATH="$work/bin:$work/hostile:$PATH" timeout 60 "$lanista" run "$study" \
    --out "$work/refused" --quiet --workers 1 "$@" > "$work/errors" 2>&1); then
    echo "$what: is not refused"; exit 1
  fi
  grep -qF -- "$text" "$work/errors" || { echo "$what: another message"; cat "$work/errors"; exit 1; }
  if [ -s "$work/calls" ] || [ -e "$work/ran" ]; then echo "$what: something was started"; cat "$work/calls"; exit 1; fi
  rm -rf "$work/refused"
}
refused 'a program in a file' 'cluster.program: is not allowed' --set 'cluster.ssh=[node1]' \
  --set "cluster.program=$work/hostile/evil"
refused 'an option without its value' 'has no value' --set 'cluster.slurm=[time]'
refused 'a file of nodes' 'is not an option' --set 'cluster.slurm=[nodelist=/etc/passwd]'
refused 'an option as a host' 'is not a host' --set 'cluster.ssh=["-oProxyCommand=evil"]'
refused 'an option as a program' "starts with '-'" --ssh node1 --program node1=-oProxyCommand=evil
echo "study files: select no program"

for _ in $(seq 1200); do
  [ -z "$(workers)" ] && break
  sleep 0.1
done
[ -z "$(workers)" ] || { echo "workers are left"; exit 1; }

if "$lanista" run "$study" --out "$work/unreached" --quiet --workers 2 --epochs 20 --launch "$work/no-program" \
  > /dev/null 2> "$work/errors"; then
  echo "it trained without workers"; exit 1
fi
grep -q "($work/no-program) ended with exit code 127; with --ssh here a study continues on this host" "$work/errors" ||
  { cat "$work/errors"; exit 1; }
"$lanista" resume "$work/unreached" --quiet --ssh here,here > /dev/null
echo "no worker: reported, and resumed on this machine"
