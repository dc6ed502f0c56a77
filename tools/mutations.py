#!/usr/bin/env python3
"""Mutation tests: each patch of tests/mutations puts one fault into the product, and names the test that must fail.

usage:

    mutations.sh [NAME...]            builds and runs the mutations of these modules or files; all without a name
    mutations.sh --check [NAME...]    only checks that each mutation applies and that its test exists
    mutations.sh --list [NAME...]     prints the mutations

The runner works in a copy of the tree in build/mutations. It never changes the tree itself. A mutation is *found* when
its test fails, ends by a signal or runs for more than 300 s. The exit status is 1 when a test still passes.
LANISTA_MUTATIONS_CMAKE has more options for CMake, LANISTA_JOBS the number of compilers at a time.

A mutation is a file tests/mutations/MODULE/NAME.txt:

    module: base
    target: base_tests
    test: Crc32c.MatchesPublishedValues
    why: A record with a flipped byte must not pass.

    replace in src/lanista/base/crc32c.cpp:
        the old text, indented by four spaces; it is in the file exactly once
    with:
        the new text, or nothing

A mutation may have several blocks.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys

ROOT = os.environ.get("LANISTA_MUTATIONS_ROOT") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "tests", "mutations")
COPY = os.path.join(ROOT, "build", "mutations")
HEAD = ("module", "target", "test", "why")
LONGEST_TEST_S = 300


class Broken(Exception):
    """A mutation that cannot be used, or a tree that cannot be built."""


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Mutation:
    def __init__(self, path):
        self.name = os.path.relpath(path, FOLDER)[: -len(".txt")]
        self.head, self.blocks = {}, []
        part = None
        for number, line in enumerate(text_of(path).splitlines(), 1):
            replace = re.fullmatch(r"replace in (\S+):", line)
            if replace:
                self.blocks.append([replace.group(1), [], []])
                part = 1
            elif line == "with:" and part == 1:
                part = 2
            elif part and (line.startswith("    ") or not line.strip()):
                self.blocks[-1][part].append(line[4:])
            elif not part and not line.strip():
                continue
            elif not part and line.partition(": ")[0] in HEAD and line.partition(": ")[0] not in self.head:
                self.head[line.partition(": ")[0]] = line.partition(": ")[2].strip()
            else:
                raise Broken(f"{self.name}:{number}: unexpected line: {line!r}")
        joined = ["\n".join(lines).strip("\n") for block in self.blocks for lines in block[1:]]
        self.blocks = [(block[0], joined[2 * i], joined[2 * i + 1]) for i, block in enumerate(self.blocks)]
        for key in HEAD:
            if not self.head.get(key):
                raise Broken(f"{self.name}: no line '{key}: ...'")
        if not self.blocks:
            raise Broken(f"{self.name}: no block 'replace in FILE:'")
        if self.head["module"] != os.path.dirname(self.name):
            folder = os.path.dirname(self.name)
            raise Broken(f"{self.name}: module is {self.head['module']}, and the folder is {folder}")

    def applied(self, root):
        """The mutated texts by file. Fails where an old text is not in its file exactly once."""
        texts = {}
        for file, old, new in self.blocks:
            path = os.path.join(root, file)
            if file not in texts and not os.path.isfile(path):
                raise Broken(f"{self.name}: no file {file}")
            text = texts.get(file) or text_of(path)
            count = text.count(old) if old else 0
            if count != 1:
                raise Broken(f"{self.name}: the old text is {count} times in {file}; it must be there once: {old!r}")
            if old == new:
                raise Broken(f"{self.name}: the new text is the old one in {file}")
            texts[file] = text.replace(old, new)
        return texts


def mutations(names):
    found = []
    for folder, _, files in os.walk(FOLDER):
        found += [Mutation(os.path.join(folder, f)) for f in files if f.endswith(".txt")]
    found.sort(key=lambda m: (m.head["target"], m.name))
    names = [n.removeprefix("tests/mutations/").removesuffix(".txt").rstrip("/") for n in names]
    for name in names:
        if not any(m.name == name or m.name.startswith(name + "/") for m in found):
            modules = ", ".join(sorted({m.head["module"] for m in found}))
            raise Broken(f"no mutation or module {name!r}; modules are {modules}")
    return [m for m in found if not names or any(m.name == n or m.name.startswith(n + "/") for n in names)]


def tracked():
    """Files of the tree: all that git knows or would add."""
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-coz", "--exclude-standard"], capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        return [f for f in done.stdout.split("\0") if f and os.path.isfile(os.path.join(ROOT, f))]
    files = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "build", "studies", "shared")]
        files += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return files


def check(chosen):
    """Problems of these mutations, as texts."""
    problems, targets, tests = [], set(), set()
    for file in tracked():
        if os.path.basename(file) == "CMakeLists.txt":
            text = text_of(os.path.join(ROOT, file))
            targets |= set(re.findall(r"lanista_test\(\s*(\w+)", text))
            for module in re.findall(r"lanista_module\(\s*(\w+)", text):
                targets |= {module + "_tests", module + "_torch_tests"}
        elif file.endswith(".cpp") and ("test" in file):
            text = text_of(os.path.join(ROOT, file))
            tests |= {f"{s}.{n}" for s, n in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", text)}
    for m in chosen:
        try:
            m.applied(ROOT)
        except Broken as problem:
            problems.append(str(problem))
        if m.head["target"] not in targets:
            problems.append(f"{m.name}: no test program {m.head['target']}")
        if m.head["test"] not in tests:
            problems.append(f"{m.name}: no test {m.head['test']} in the sources")
    return problems


def copy_tree():
    """Makes the copy equal to the tree. Files that are equal keep their time, so that little is built again."""
    files = tracked()
    for file in files:
        source, target = os.path.join(ROOT, file), os.path.join(COPY, file)
        with open(source, "rb") as data:
            content = data.read()
        if os.path.isfile(target):
            with open(target, "rb") as data:
                if data.read() == content:
                    continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as data:
            data.write(content)
        os.chmod(target, os.stat(source).st_mode)
    wanted = set(files)
    for folder, folders, names in os.walk(COPY):
        folders[:] = [f for f in folders if os.path.join(folder, f) != os.path.join(COPY, "build")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, COPY) not in wanted:
                os.remove(path)


def configure():
    options = shlex.split(os.environ.get("LANISTA_MUTATIONS_CMAKE", ""))
    base = ["-DCMAKE_BUILD_TYPE=Release", "-DLANISTA_TORCH=OFF", "-DBUILD_TESTING=ON", "-DLANISTA_WERROR=OFF"]
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", COPY, "-B", os.path.join(COPY, "build", "release"), *base,
                           *options], capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"cmake fails:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def build(target):
    """The output of a build that fails, or nothing."""
    jobs = os.environ.get("LANISTA_JOBS") or str(os.cpu_count() or 1)
    done = subprocess.run(["cmake", "--build", os.path.join(COPY, "build", "release"), "--parallel", jobs, "--target",
                           target], capture_output=True, text=True)
    errors = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line]
    return "" if done.returncode == 0 else "\n".join(errors[:10]) or done.stdout[-500:]


def program_of(target):
    for folder, _, names in os.walk(os.path.join(COPY, "build", "release")):
        if target in names and os.access(os.path.join(folder, target), os.X_OK):
            return os.path.join(folder, target)
    raise Broken(f"no program {target} after the build")


def run_test(target, test):
    """How the test ended: passes, fails, none (no such test), hangs, or a signal."""
    pattern = f"{test}:{test}/*:*/{test}:*/{test}/*"
    try:
        done = subprocess.run([program_of(target), f"--gtest_filter={pattern}", "--gtest_brief=1"], cwd=COPY,
                              capture_output=True, text=True, errors="replace", timeout=LONGEST_TEST_S)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode < 0:
        return f"ends by signal {-done.returncode}"
    if done.returncode:
        return "fails"
    ran = re.search(r"\[==========\] (\d+) tests? from", done.stdout)
    return "passes" if ran and int(ran.group(1)) else "none"


def run(chosen):
    copy_tree()
    configure()
    missed, passed, unbuilt = [], set(), set()
    for m in chosen:
        target, test = m.head["target"], m.head["test"]
        try:
            if target in unbuilt:
                raise Broken(f"{m.name}: {target} does not build")
            if (target, test) not in passed:
                problem = build(target)
                if problem:
                    unbuilt.add(target)
                    raise Broken(f"{target} does not build without a mutation:\n{problem}")
                outcome = run_test(target, test)
                if outcome != "passes":
                    raise Broken(f"{m.name}: {test} {outcome} without a mutation")
                passed.add((target, test))
            texts = m.applied(COPY)
            kept = {file: text_of(os.path.join(COPY, file)) for file in texts}
            try:
                for file, text in texts.items():
                    write(os.path.join(COPY, file), text)
                problem = build(target)
                if problem:
                    raise Broken(f"{m.name}: the mutation does not compile:\n{problem}")
                outcome = run_test(target, test)
            finally:
                for file, text in kept.items():
                    write(os.path.join(COPY, file), text)
        except Broken as problem:
            outcome = "broken"
            print(problem, file=sys.stderr)
        found = outcome not in ("passes", "none", "broken")
        missed += [] if found else [m.name]
        print(f"{'found ' if found else 'MISSED'} {m.name}: {test} {outcome}", flush=True)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} mutations found")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only check that mutations apply")
    parser.add_argument("--list", action="store_true", help="print the mutations")
    parser.add_argument("names", nargs="*", metavar="NAME", help="module or mutation")
    arguments = parser.parse_args()
    try:
        chosen = mutations(arguments.names)
        if arguments.list:
            for m in chosen:
                print(f"{m.name}: {m.head['why']}  ({m.head['test']})")
            return 0
        if arguments.check:
            problems = check(chosen)
            print("\n".join(problems) or f"{len(chosen)} mutations apply")
            return 1 if problems else 0
        return run(chosen)
    except Broken as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
