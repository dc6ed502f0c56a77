#!/usr/bin/env python3
"""Samples public declarations for a reading test: does a reader understand them without their bodies?

usage: reading_sample.py SEED [COUNT] > SHEET

The sheet has each declaration with its comment and scope, and no body. Modules take turns, in an order that the seed
gives, so that all of them appear. Lines on standard error name the place of each declaration, for the grader. A reader
gets the sheet and docs/glossary.md alone.
"""
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import comments  # noqa: E402


def declarations_of(path):
    """Pairs of a declaration that is not trivial and its text with the comment above."""
    source = open(path, encoding="utf-8").read()
    lines = source.split("\n")
    reader = comments.Reader(source)
    reader.read()
    for d in reader.found:
        if d.trivial or d.kind not in ("function", "type"):
            continue
        first = d.first - 1
        while first > 0 and lines[first - 1].strip().startswith("//"):
            first -= 1
        last = min(d.last, d.first + 5)
        text = "\n".join(lines[first:last])
        head = text.split("{")[0].rstrip() if d.kind == "type" or ") {" in text or ") const {" in text else text
        yield d, head


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
