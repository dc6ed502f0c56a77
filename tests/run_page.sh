#!/bin/sh
# Runs the commands of a page, in order, in one empty folder, and compares their output with the page.
#
# usage: run_page.sh LANISTA PAGE [FOLDER]      FOLDER keeps the output of block N as FOLDER/N.out
#
# Blocks of a page, by the line that opens them:
#   ```sh              Commands. The block fails with the first command that fails.
#   ```sh exit N       The last command must end with status N.
#   ```sh skip REASON  Not run. The runner prints the reason.
#   ```text            The output of the commands before it, stdout and stderr together.
#   ```yaml FILE       Written to FILE, before the next block runs.
#
# A line that is only … matches any number of lines; … inside a line matches any text. Blank lines and the amount of
# space between words do not count. A block of commands without a text block may print anything.
# Kernels with FMA made the numbers of the pages. On another CPU the commands run, and the output is not compared.
# tests/update_page.py writes the current output into a page.
set -eu

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
page=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
keep=${3:+$(mkdir -p "$3" && cd "$3" && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/blocks" "$work/folder"
ln -s "$program" "$work/bin/lanista"
# The README begins with ./quickstart, which builds the program and then runs it.
printf '#!/bin/sh\nexec lanista run "$@"\n' > "$work/bin/quickstart"
chmod +x "$work/bin/quickstart"
PATH=$work/bin:$PATH HOME=$work/folder
export PATH HOME
unset LANISTA_ISA XDG_CONFIG_HOME

# N.sh, N.exit, N.skip and N.text for commands; N.yaml and N.name for files.
awk -v out="$work/blocks/" '
  /^```/ && !open {
    open = 1; target = ""
    if ($1 == "```sh") {
      target = sprintf("%s%03d.sh", out, ++count); printf "" > target
      if ($2 == "exit") print $3 > sprintf("%s%03d.exit", out, count)
      if ($2 == "skip") { sub(/^```sh skip */, ""); print > sprintf("%s%03d.skip", out, count) }
    }
    if ($1 == "```yaml" && $2 != "") {
      target = sprintf("%s%03d.yaml", out, ++count); printf "" > target
      print $2 > sprintf("%s%03d.name", out, count)
    }
    if ($1 == "```text") { target = sprintf("%s%03d.text", out, count); printf "" > target }
    next
  }
  /^```/ { open = 0; target = ""; next }
  open && target != "" { print > target }' "$page"
[ -e "$work/blocks/001.sh" ] || [ -e "$work/blocks/001.yaml" ] || { echo "FAILED: $page has no command"; exit 1; }

# matches EXPECTED OUTPUT: prints the first lines that differ.
matches() {
  awk '
    function words(line) { gsub(/[ \t\r]+/, " ", line); sub(/^ /, "", line); sub(/ $/, "", line); return line }
    function same(want, line,    parts, n, i, at) {
      n = split(want, parts, "…")
      if (n == 1) return want == line
      for (i = 1; i <= n; i++) {
        if (parts[i] == "") continue
        at = index(line, parts[i])
        if (at == 0 || (i == 1 && at != 1)) return 0
        if (i == n) return length(line) >= length(parts[i]) &&
                           substr(line, length(line) - length(parts[i]) + 1) == parts[i]
        line = substr(line, at + length(parts[i]))
      }
      return 1
    }
    function run_at(first, last, at,    i) {
      for (i = first; i <= last; i++) {
        if (at + i - first > lines || !same(want[i], line[at + i - first])) {
          if (i - first >= reached) { reached = i - first; missing = want[i]; instead = line[at + i - first] }
          return 0
        }
      }
      return 1
    }
    { $0 = words($0) }
    $0 == "" { next }
    FILENAME == ARGV[1] { want[++wanted] = $0; next }
    { line[++lines] = $0 }
    END {
      at = 1; first = 1
      while (first <= wanted || first == 1) {
        free = 0
        while (first <= wanted && want[first] == "…") { free = 1; first++ }
        if (first > wanted) exit free || at > lines ? 0 : 1
        last = first
        while (last < wanted && want[last + 1] != "…") last++
        reached = 0; missing = want[first]; instead = line[at]
        begin = at
        if (free && last == wanted && lines - (last - first) > at) begin = lines - (last - first)
        while (!run_at(first, last, begin)) {
          if (!free || ++begin > lines) {
            print "  the page has:       " missing
            print "  the program prints: " instead
            exit 1
          }
        }
        at = begin + last - first + 1
        first = last + 1
        if (first > wanted) {
          if (at <= lines) { print "  the program prints more than the page: " line[at]; exit 1 }
          exit 0
        }
      }
    }' "$1" "$2"
}

compare=1
grep -qw fma /proc/cpuinfo 2>/dev/null || { compare=0; echo "output not compared: the CPU has no FMA"; }
cd "$work/folder"
cp "$work/bin/quickstart" .
run=0 skipped=0 compared=0
for name in "$work"/blocks/*.name "$work"/blocks/*.sh; do [ -e "$name" ] && echo "$name"; done | sort |
  while read -r block; do
    stem=${block%.*}
    number=$(basename "$stem")
    if [ "${block##*.}" = name ]; then
      mv "$stem.yaml" "$(cat "$block")"
    elif [ -e "$stem.skip" ]; then
      skipped=$((skipped + 1))
      echo "block $number skipped: $(cat "$stem.skip")"
    else
      run=$((run + 1)) status=0 expected=0
      [ ! -e "$stem.exit" ] || expected=$(cat "$stem.exit")
      sh -eu "$block" > "$stem.out" 2>&1 < /dev/null || status=$?
      [ -z "$keep" ] || cp "$stem.out" "$keep/$number.out"
      if [ "$status" -ne "$expected" ]; then
        echo "FAILED: block $number of $page ends with status $status, not $expected:"
        sed 's/^/  $ /' "$block"
        tail -30 "$stem.out" | sed 's/^/  | /'
        exit 1
      fi
      if [ -e "$stem.text" ] && [ "$compare" = 1 ]; then
        if matches "$stem.text" "$stem.out" > "$work/difference"; then
          compared=$((compared + 1))
        else
          echo "FAILED: block $number of $page prints other lines:"
          sed 's/^/  $ /' "$block"
          cat "$work/difference"
          [ -n "$keep" ] || exit 1
          echo failed > "$work/failed"
        fi
      fi
    fi
    echo "$(basename "$page"): $run blocks run, $compared outputs equal, $skipped skipped" > "$work/summary"
  done
cat "$work/summary"
[ ! -e "$work/failed" ]
