#!/usr/bin/env python3
"""Writes the current output of the commands of a page into the page.

usage: update_page.py LANISTA PAGE...

tests/run_page.sh runs the page and keeps the output of each block. An empty text block gets the whole output. In other
ones a line that is in the output stays, and another line becomes the most similar line of the output, with its … at the
same words, cut at 120 columns. Review the difference before you commit it.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

WIDTH = 120  # columns of a line of a page


def same(want, line):
    pattern = ".*".join(re.escape(part) for part in " ".join(want.split()).split("…"))
    return re.fullmatch(pattern, " ".join(line.split())) is not None


def with_omissions(want, line):
    """Returns `line` with … instead of the words that are … in `want`."""
    old, new = want.split(), re.findall(r"\s*\S+", line)
    matcher = difflib.SequenceMatcher(None, [re.sub("[0-9…]+", "0", w) for w in old],
                                      [re.sub("[0-9…]+", "0", w.strip()) for w in new], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag in ("equal", "replace") and b - a == d - c:
            for i in range(b - a):
                if "…" in old[a + i] and not same(old[a + i], new[c + i]):
                    space = new[c + i][: len(new[c + i]) - len(new[c + i].lstrip())]
                    new[c + i] = space + "…"
                elif "…" in old[a + i]:
                    space = new[c + i][: len(new[c + i]) - len(new[c + i].lstrip())]
                    new[c + i] = space + old[a + i]
    line = "".join(new)
    return line if len(line) <= WIDTH else line[: WIDTH - 2].rsplit(" ", 1)[0].rstrip() + " …"


def updated(block, output):
    lines = [line for line in output if line.strip()]
    if not any(want.strip() for want in block):
        return [with_omissions(line, line) for line in lines]
    result, at = [], 0
    for want in block:
        if not want.strip() or want.strip() == "…":
            result.append(want)
            continue
        exact = next((i for i in range(at, len(lines)) if same(want, lines[i])), None)
        if exact is not None:
            result.append(want)
            at = exact + 1
            continue
        scores = [(difflib.SequenceMatcher(None, want, lines[i]).ratio(), -i) for i in range(at, len(lines))]
        if scores and max(scores)[0] > 0.4:
            best = -max(scores)[1]
            result.append(with_omissions(want, lines[best]))
            at = best + 1
        else:
            print(f"  no line of the output is like: {want}")
    return result


def update(program, page):
    with tempfile.TemporaryDirectory() as kept:
        runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_page.sh")
        done = subprocess.run(["sh", runner, program, page, kept], capture_output=True, text=True, check=False)
        print(done.stdout, end="")
        text, out, block, count, kind = open(page, encoding="utf-8").read().split("\n"), [], [], 0, None
        for line in text:
            if line.startswith("```") and kind is None:
                words = line[3:].split()
                kind = words[0] if words else "code"
                count += kind == "sh" or (kind == "yaml" and len(words) > 1)
                block = []
                out.append(line)
            elif line.startswith("```"):
                path = os.path.join(kept, f"{count:03d}.out")
                if kind == "text" and os.path.exists(path):
                    block = updated(block, open(path, encoding="utf-8").read().split("\n"))
                out += block + [line]
                kind = None
            elif kind is not None:
                block.append(line)
            else:
                out.append(line)
        open(page, "w", encoding="utf-8").write("\n".join(out))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for page in sys.argv[2:]:
        update(sys.argv[1], page)


main()
