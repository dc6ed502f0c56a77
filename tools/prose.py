#!/usr/bin/env python3
"""Measures the plainness of all tracked text.

usage:

    prose.py [--list] [PATH...]     counts of findings, or each one as path:line: finding
    prose.py --words [PATH...]      how often each banned word is used
    prose.py --check                fails where a file has more findings than its row in prose_limits.txt
    prose.py --tighten              lowers the rows to what is found; a row follows its moved file
    prose.py --begin REASON         writes prose_limits.txt, if there is none

A finding is one of these:

- a sentence of more than 40 words;
- a file with a median of over 15 words a sentence, or a 90th percentile of over 28;
- a line of over 120 columns, outside tables and links of Markdown;
- a banned word in prose, a string, a name or a path;
- a test name of over 60 characters.

The numbers, the words and their allowed uses are in prose_rules.txt. A PATH is a file, a folder or a pattern.
"""
import argparse
import collections
import fnmatch
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prose_text as text_of  # noqa: E402
import ratchet  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


class Rules:
    """The table prose_rules.txt."""

    def __init__(self, root, path):
        self.limits, self.left_out, self.words, self.allowed, self.stored = {}, [], [], [], set()
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            kind, *fields = [f.strip() for f in line.split(" | ")]
            columns = {"limit": 2, "leave out": 2, "word": 2, "allow": 3, "stored": 1}
            if len(fields) != columns.get(kind):
                sys.exit(f"{path}:{number}: unknown row: {line.strip()}")
            if kind == "limit":
                self.limits[fields[0]] = int(fields[1])
            elif kind == "leave out":
                self.left_out.append(fields[0])
            elif kind == "word":
                self.words.append((fields[0], fields[1]))
            elif kind == "allow":
                self.allowed.append((fields[0], re.compile(fields[1], re.I)))
            else:
                self.stored |= stored_texts(os.path.join(root, fields[0]))
        # One pattern for all words; a space also matches the hyphen of a compound.
        self.banned = re.compile("|".join(rf"\b(?:{p})\b" for p, _ in self.words), re.I)
        self.instead = [(re.compile(rf"(?:{p})\Z", re.I), write) for p, write in self.words]

    def allowed_in(self, path):
        return [pattern for glob, pattern in self.allowed if fnmatch.fnmatch(path, glob)]

    def measures(self, path):
        return text_of.language(path) is not None and not any(fnmatch.fnmatch(path, g) for g in self.left_out)

    def write_instead(self, word):
        return next((write for pattern, write in self.instead if pattern.match(word)), "")


def stored_texts(path):
    """Values of a table KIND | COUNT | VALUE."""
    if not os.path.exists(path):
        return set()
    rows = [line.rstrip("\n").split(" | ", 2) for line in open(path, encoding="utf-8") if not line.startswith("#")]
    return {row[2] for row in rows if len(row) == 3}


class Checker:
    def __init__(self, root, rules):
        self.root, self.rules, self.names = root, rules, {}
        self.lengths = []  # of all files

    def banned_in(self, text, allowed):
        """(offset, word) of each banned word that is no allowed use."""
        if not self.rules.banned.search(text):
            return []
        for pattern in allowed:
            text = pattern.sub(lambda m: "\0" * len(m.group()), text)
        return [(m.start(), m.group()) for m in self.rules.banned.finditer(text)]

    def words_of_name(self, name, allowed):
        key = name, tuple(allowed)
        if key not in self.names:
            self.names[key] = self.banned_in(text_of.name_words(name), allowed)
        return self.names[key]

    def without_stored(self, text):
        """Code spans that are stored texts, such as keys and option names, are blank."""
        if "`" not in text:
            return text
        stored = self.rules.stored
        return re.sub(r"`([^`]*)`", lambda m: " " * len(m.group()) if m.group(1) in stored else m.group(), text)

    def findings(self, path):
        """(line, kind, text) of a file, sorted by line."""
        source = open(os.path.join(self.root, path), encoding="utf-8", errors="replace").read()
        limits, allowed, out, lengths = self.rules.limits, self.rules.allowed_in(path), [], []
        for _, word in self.banned_in(re.sub(r"[/._-]", " ", path), allowed):
            out.append((1, "word", f"'{word}' in the path"))
        for part in text_of.parts_of(path, source):
            if part.kind == text_of.NAME:
                for _, word in self.words_of_name(part.text, allowed):
                    out.append((part.line_at(0), "word", f"'{word}' in the name {part.text}"))
                continue
            if part.kind == text_of.STRING and part.text in self.rules.stored:
                continue
            for at, word in self.banned_in(self.without_stored(part.text), allowed):
                where = "a string" if part.kind == text_of.STRING else "prose"
                out.append((part.line_at(at), "word", f"'{word}' in {where}; write: {self.rules.write_instead(word)}"))
            if part.kind == text_of.STRING and not is_prose(part.text):
                continue
            for at, words in text_of.sentences(part.text):
                if part.kind == text_of.PROSE:
                    lengths.append(words)
                if words > limits["words of a sentence"]:
                    begin = " ".join(part.text[at:].split()[:6])
                    out.append((part.line_at(at), "sentence", f"a sentence of {words} words: {begin} ..."))
        if len(lengths) >= 10:
            lengths.sort()
            median, p90 = statistics.median(lengths), lengths[int(0.9 * (len(lengths) - 1))]
            if median > limits["median words of a sentence"]:
                out.append((1, "median", f"the median sentence has {median:g} words"))
            if p90 > limits["90th percentile of words of a sentence"]:
                out.append((1, "p90", f"a tenth of the sentences has {p90} words or more"))
        self.lengths += lengths
        for line, width in text_of.wide_lines(path, source, limits["columns"]):
            out.append((line, "line", f"a line of {width} columns"))
        if path.endswith(".cpp"):
            for line, name in text_of.test_names(source):
                if len(name) > limits["characters of a test name"]:
                    out.append((line, "test name", f"a test name of {len(name)} characters: {name}"))
        return sorted(out)


def is_prose(text):
    """A string that is a sentence to read, not data or code."""
    marks = sum(text.count(c) for c in "{}=<>|\\/;[]%$_")
    return text.count(" ") >= 40 and marks * 12 < len(text.split())


PLACES = ("documents", "strings", "headers", "tests", "other code")


def place_of(path, text):
    """Where a banned word is: one of PLACES."""
    if path.endswith(".md"):
        return "documents"
    if "in a string" in text:
        return "strings"
    if path.endswith(".h"):
        return "headers"
    return "tests" if path.startswith("tests/") or path.endswith("_test.cpp") else "other code"


def main():
    p = argparse.ArgumentParser(usage="\n" + __doc__.split("usage:\n\n")[1], add_help=True)
    p.add_argument("--list", action="store_true")
    p.add_argument("--words", action="store_true")
    p.add_argument("--check", action="store_true")
    p.add_argument("--tighten", action="store_true")
    p.add_argument("--begin", metavar="REASON")
    p.add_argument("--root", default=os.path.dirname(HERE))
    p.add_argument("--rules", default=os.path.join(HERE, "prose_rules.txt"))
    p.add_argument("--limits")
    p.add_argument("paths", nargs="*")
    a = p.parse_args()
    root = os.path.abspath(a.root)
    limits_path = a.limits or os.path.join(root, "tools/prose_limits.txt")
    paths = [os.path.relpath(os.path.abspath(x), root) if os.path.exists(x) else x for x in a.paths]
    rules = Rules(root, a.rules)
    files = [f for f in ratchet.tracked(root) if rules.measures(f)]
    checker = Checker(root, rules)
    found = {f: checker.findings(f) for f in ratchet.chosen(files, paths)}
    counts = {f: len(x) for f, x in found.items() if x}

    if a.tighten or a.check or a.begin:
        if paths:
            sys.exit("prose: --check, --tighten and --begin read the whole tree; give no paths")
        limits = ratchet.Limits(root, limits_path)
        if a.begin:
            return limits.begin(counts, "prose", a.begin)
        if a.tighten:
            return limits.tighten(counts)
        return limits.check(counts, "prose", lambda f: [f"{f}:{line}: {text}" for line, _, text in found[f]])
    if a.list:
        for f in found:
            for line, _, text in found[f]:
                print(f"{f}:{line}: {text}")
        return 1 if counts else 0
    if a.words:
        texts = [text for x in found.values() for _, kind, text in x if kind == "word"]
        words = collections.Counter(re.match(r"'([^']*)'", text).group(1).lower() for text in texts)
        for word, n in words.most_common():
            print(f"{n:6} {word}")
        return 1 if words else 0
    for f in sorted(counts, key=lambda f: -counts[f])[:40]:
        kinds = collections.Counter(k for _, k, _ in found[f])
        print(f"{f}: {counts[f]} findings: " + ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())))
    if len(counts) > 40:
        print(f"... and {len(counts) - 40} more files")
    kinds = collections.Counter(k for x in found.values() for _, k, _ in x)
    lengths = sorted(checker.lengths)
    if lengths:
        print(f"{len(found)} files, {len(lengths)} sentences: median {statistics.median(lengths):g} words, "
              f"p90 {lengths[int(0.9 * (len(lengths) - 1))]}")
    places = collections.Counter(place_of(f, text) for f, x in found.items() for _, kind, text in x if kind == "word")
    if places:
        print("banned words: " + ", ".join(f"{places[p]} in {p}" for p in PLACES))
    by_kind = ", ".join(f"{n} {k}" for k, n in sorted(kinds.items()))
    print(f"{sum(counts.values())} findings in {len(counts)} files: {by_kind}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
