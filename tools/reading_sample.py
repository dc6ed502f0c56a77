#!/usr/bin/env python3
"""Samples public declarations for a reading test: does a reader understand them without their bodies?

usage: reading_sample.py SEED [COUNT] > SHEET

The sheet has each declaration with its comment and no function body. A structure has its first fields, and an
enumeration its values. A member has the comment of its class, as a reader of the header has. Modules take turns, in an
order that the seed gives, so that all of them appear. Lines on standard error name the place of each declaration, for
the grader. A reader gets the sheet and docs/glossary.md alone.
"""
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import comments  # noqa: E402


def comment_above(lines, d):
    """The comment lines above a declaration."""
    first = d.first - 1
    while first > 0 and lines[first - 1].strip().startswith("//"):
        first -= 1
    return "".join(line + "\n" for line in lines[first:d.first - 1])


def values_of(lines, d):
    """The values of an enumeration, at most twenty lines."""
    found = []
    for line in lines[d.first - 1:d.first + 19]:
        found.append(line)
        if "}" in line:
            break
    return "\n".join(found)


def fields_of(lines, d):
    """The first lines of a structure, up to its first function with a body."""
    found = []
    for line in lines[d.first:d.first + 14]:
        if line in ("};", "") or "{" in line.split("//")[0].replace("{}", "") and ")" in line:
            break
        found.append(line)
    return " {\n" + "\n".join(found) if found else ""


def declarations_of(path):
    """Pairs of a declaration that is not trivial and its text with the comment above."""
    source = open(path, encoding="utf-8").read()
    lines = source.split("\n")
    reader = comments.Reader(source)
    reader.read()
    types = {d.full_name(): d for d in reader.found if d.kind == "type"}
    for d in reader.found:
        if d.trivial or d.kind not in ("function", "type"):
            continue
        last = min(d.last, d.first + 5)
        text = "\n".join(lines[d.first - 1:last])
        head = text.split("{")[0].rstrip() if d.kind == "type" or ") {" in text or ") const {" in text else text
        if d.kind == "type" and lines[d.first - 1].strip().startswith("struct"):
            head += fields_of(lines, d)
        if d.kind == "type" and lines[d.first - 1].strip().startswith("enum"):
            head = values_of(lines, d)
        owner = types.get("::".join(d.scope)) if d.scope else None
        about = f"// In class {d.scope[-1]}:\n" + comment_above(lines, owner) if owner else ""
        yield d, about + comment_above(lines, d) + head


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    chance = random.Random(seed)
    paths = subprocess.run(["git", "ls-files", "src"], capture_output=True, text=True, check=True).stdout.split()
    modules = {}
    for path in filter(comments.measured, paths):
        modules.setdefault(os.path.dirname(path), []).extend((path, *pair) for pair in declarations_of(path))
    order = sorted(modules)
    chance.shuffle(order)
    for number in range(1, count + 1):
        path, d, text = chance.choice(modules[order[(number - 1) % len(order)]])
        module = os.path.dirname(path).removeprefix("src/lanista/")
        print(f"## {number}. {d.full_name()} (module {module})\n\n```cpp\n{text}\n```\n")
        print(f"{number}\t{path}:{d.first}\t{d.full_name()}", file=sys.stderr)


if __name__ == "__main__":
    main()
