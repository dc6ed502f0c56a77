#!/bin/sh
# Installs lanista, moves the installed folder, and uses it from programs outside the source tree.
#
# It builds examples/cpp with find_package(lanista), runs the programs, compares their output with that of the installed
# `lanista`, and compiles each installed header alone.
#
# usage: check.sh BUILD SOURCE CMAKE COMPILER VERSION [CONFIGURE-OPTION…]
set -u

build=$1 source=$2 cmake=$3 compiler=$4 version=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved
# A new folder of the user has no settings and no stored times.
export HOME="$work/user"
mkdir "$HOME"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# quiet COMMAND…: runs it and prints its output if it fails
quiet() {
  "$@" > "$work/output" 2>&1 && return
  cat "$work/output" >&2
  fail "$*"
}

quiet "$cmake" --install "$build" --prefix "$work/first"
mv "$work/first" "$prefix"
found=$(grep -rlF -e "$build" -e "$source" -e "$work/first" "$prefix" --include='*.cmake' --include='*.h')
[ -z "$found" ] || fail "installed files have absolute paths: $found"

# Each header alone, as a user may include it.
for header in $(cd "$prefix/include" && find lanista -name '*.h' | sort); do
  echo "#include <$header>" > "$work/header.cpp"
  quiet "$compiler" -std=c++20 -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" "$work/header.cpp"
  case $header in
    lanista/*/* | lanista/lanista.h) ;;
    *)
      grep -qF "#include \"$header\"" "$prefix/include/lanista/lanista.h" ||
        fail "lanista.h does not include $header"
      grep -qF "| \`${header#lanista/}\` |" "$source/docs/reference/cpp-api.md" || fail "the page lacks $header"
      ;;
  esac
done

# The page has the programs as they are.
# shellcheck disable=SC2016  # marks of Markdown
cat "$source/examples/cpp/run_study.cpp" "$source/examples/cpp/predict.cpp" > "$work/sources"
sed -n '/^```cpp$/,/^```$/p' "$source/docs/reference/cpp-api.md" | grep -v '^```' > "$work/page"
quiet diff "$work/sources" "$work/page"

# The examples, and a version that the package does not have.
cp -r "$source/examples/cpp" "$work/examples"
quiet "$cmake" -S "$work/examples" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Release "$@"
quiet "$cmake" --build "$work/build"
sed 's/find_package(lanista 0\.2/find_package(lanista 9.9/' "$work/examples/CMakeLists.txt" > "$work/CMakeLists.txt"
if "$cmake" -S "$work" -B "$work/newer" -DCMAKE_PREFIX_PATH="$prefix" > "$work/output" 2>&1; then
  fail "the package has version $version and is accepted as 9.9"
fi

# The programs.
"$work/build/run_study" "$work/study" > "$work/trials" 2> "$work/progress" || {
  cat "$work/progress" >&2
  fail "run_study"
}
grep -q '^trial [1-4]  val_accuracy 0\.' "$work/trials" || fail "run_study printed: $(cat "$work/trials")"
grep -q '^test_accuracy 0\.' "$work/trials" || fail "run_study printed no test_accuracy: $(cat "$work/trials")"
grep -q '^trial 1 succeeded' "$work/progress" || fail "run_study reported: $(cat "$work/progress")"
[ -s "$work/study/report.html" ] || fail "run_study wrote no report"
"$work/build/predict" "$work/study/best" > "$work/predicted" || fail "predict"
[ "$(head -1 "$work/predicted")" = "class 0" ] || fail "predict printed: $(cat "$work/predicted")"

# The same folder and the same image with the installed program.
lanista=$prefix/bin/lanista
[ "$("$lanista" --version)" = "lanista $version" ] || fail "version: $("$lanista" --version)"
quiet "$lanista" status "$work/study"
sed -n '/kImage = {/,/};/p' "$work/examples/predict.cpp" | grep -oE '[0-9]+, *|[0-9]+}' | tr -dc '0-9,}' | tr '}' '\n' \
  > "$work/image.csv"
"$lanista" predict "$work/study" "$work/image.csv" > "$work/expected.csv" || fail "lanista predict"
[ "$(sed -n 2p "$work/expected.csv" | cut -d, -f2)" = 0 ] || fail "lanista predict printed: $(cat "$work/expected.csv")"
echo "installation: version $version"
