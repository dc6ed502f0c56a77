#!/usr/bin/env python3
"""Samples public declarations for a reading test: does a reader understand them without their bodies?

usage: reading_sample.py SEED [COUNT] > SHEET

The sheet has each declaration with its comment and no function body. A type has its public members, up to sixty lines.
A member has the comment of its class, as a reader of the header has. Modules take turns, in an order that the seed
gives, so that all of them appear. Lines on standard error name the place of each declaration, for the grader. A reader
gets the sheet and docs/glossary.md alone.
"""
import os
import random
import re
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


def end_of(text, at, opening="{", closing="}"):
    """The position behind the bracket that closes the one at `at`. Comments and strings are skipped."""
    depth = 0
    brackets = "|".join(map(re.escape, opening + closing))
    for m in re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|' + brackets).finditer(text, at):
        depth += {opening: 1, closing: -1}.get(m.group(), 0)
        if depth == 0:
            return m.end()
    return len(text)


def without_bodies(text):
    """The declarations of a type's braces, with `;` in place of each function body and its initialisers."""
    out, begin, at = [], 0, 0
    for m in iter(lambda: re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|[;{]').search(text, at), None):
        at = m.end()
        head = re.sub(r"//[^\n]*", "", text[begin:m.start()])
        if m.group() == "{" and ")" in head and not re.search(r"\b(struct|class|enum|union)\b|=\s*$", head):
            at = end_of(text, m.start())
            initialisers = re.search(r"\)\s*(noexcept\s*)?:\s", text[begin:m.start()])
            last = begin + initialisers.start() + 1 if initialisers else m.start()
            out.append(text[begin:last].rstrip() + ";")
            begin = at
        elif m.group() == "{":
            at = end_of(text, m.start()) if not re.search(r"\b(struct|class|union)\b", head) else at
        elif m.group() == ";":
            out.append(text[begin:at])
            begin = at
    return "".join(out) + text[begin:]


def type_of(lines, d, most=60):
    """A type with its public members and without function bodies, at most `most` lines."""
    text = "\n".join(lines[d.first - 1:])
    brace = re.search(r"[;{]", re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), text))
    if brace is None or text[brace.start()] == ";":
        return text[:brace.end()] if brace else text
    head, body = text[:brace.end()], text[brace.end():end_of(text, brace.start()) - 1]
    is_public, found = not text.lstrip().startswith("class"), []
    if not re.match(r"\s*enum", text):
        body = without_bodies(body)
    for line in body.split("\n"):
        if re.fullmatch(r" ?(public|protected|private):\s*", line):
            is_public = line.strip() == "public:"
        elif is_public and line.strip():
            found.append(line)
    if len(found) > most:
        found[most:] = ["  // (and further members)"]
    return head + "\n" + "\n".join(found) + "\n};"


def declarations_of(path):
    """Pairs of a declaration that is not trivial and its text with the comment above."""
    source = open(path, encoding="utf-8").read()
    lines = source.split("\n")
    reader = comments.Reader(source)
    reader.read()
    types = {d.full_name(): d for d in reader.found if d.kind == "type"}
    previous = ("", "")
    for d in reader.found:
        if d.trivial or d.kind not in ("function", "type"):
            continue
        text = "\n".join(lines[d.first - 1:min(d.last, d.first + 5)])
        head = text
        if ") {" in text or ") const {" in text:
            behind = re.search(r"}\s*(///<[^\n]*)$", text)
            head = text.split("{")[0].rstrip() + (";  " + behind.group(1) if behind else "")
        if d.kind == "type":
            head = type_of(lines, d)
        owner = types.get("::".join(d.scope)) if d.scope else None
        about = f"// In class {d.scope[-1]}:\n" + comment_above(lines, owner) if owner else ""
        own = comment_above(lines, d)
        # Overloads may share the comment above the first of them.
        shared = previous[1] if not own and "///<" not in head and previous[0] == d.full_name() else ""
        previous = (d.full_name(), shared or own + head + "\n")
        yield d, about + shared + own + head


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
