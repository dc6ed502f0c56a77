"""Checks the decisions in docs/adr and the links between documents.

usage: documents_test.py [SOURCE_FOLDER]
"""
import datetime
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTIONS = ["Context", "Decision", "Consequences"]
MOST_WORDS = 260
MOST_CONTEXT_LINES = 5
SKIPPED_FOLDERS = {".git", "build", "studies", "node_modules"}


def decision_problems(folder):
    """Returns a list of problems of the decision pages in `folder` and of their index README.md."""
    problems, numbers, titles, statuses = [], {}, {}, {}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        match = re.fullmatch(r"(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md", path.name)
        if not match:
            problems.append(f"{path.name}: the name is not NNNN-title.md")
            continue
        number, text = match.group(1), path.read_text(encoding="utf-8")
        if number in numbers:
            problems.append(f"{path.name}: {numbers[number]} has the same number")
        numbers[number] = path.name
        title = re.match(rf"# {number}\. (\S.*)\n", text)
        if not title:
            problems.append(f"{path.name}: the first line is not '# {number}. TITLE'")
        status = re.search(r"^- Status: (accepted|superseded by (\d{4}))$", text, re.M)
        if not status:
            problems.append(f"{path.name}: no line '- Status: accepted' or '- Status: superseded by NNNN'")
        date = re.search(r"^- Date: (\d{4}-\d\d-\d\d)$", text, re.M)
        try:
            datetime.date.fromisoformat(date.group(1) if date else "")
        except ValueError:
            problems.append(f"{path.name}: no line '- Date: YYYY-MM-DD' with a date")
        parts = re.split(r"^## (.*)$", text, flags=re.M)
        if parts[1::2] != SECTIONS:
            problems.append(f"{path.name}: the sections are {parts[1::2]}, not {SECTIONS}")
        elif not all(part.strip() for part in parts[2::2]):
            problems.append(f"{path.name}: a section is empty")
        elif len(parts[2].strip().split("\n")) > MOST_CONTEXT_LINES:
            problems.append(f"{path.name}: the context has more than {MOST_CONTEXT_LINES} lines")
        if len(text.split()) > MOST_WORDS:
            problems.append(f"{path.name}: {len(text.split())} words, more than {MOST_WORDS}")
        titles[number] = title.group(1) if title else ""
        statuses[number] = (status.group(1), status.group(2)) if status else ("", None)
    for number, (_, successor) in statuses.items():
        if successor and successor not in numbers:
            problems.append(f"{numbers[number]}: decision {successor} does not exist")

    index = (folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d{4})\]\(([^)]*)\) \| (.*) \| (.*) \|$", index, re.M)
    listed = {row[0] for row in rows}
    if len(listed) != len(rows):
        problems.append("README.md: a number has two rows")
    for number in sorted(numbers.keys() - listed):
        problems.append(f"README.md: no row for {numbers[number]}")
    for number, file, title, status in rows:
        if number not in numbers:
            problems.append(f"README.md: no page for row {number}")
        elif (file, title, status) != (numbers[number], titles[number], statuses[number][0]):
            problems.append(f"README.md: row {number} differs from {numbers[number]}")
    return problems


def without_code(text):
    """Returns `text` without fenced blocks and without inline code."""
    text = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """Returns the anchors of the headings of a Markdown text."""
    text = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.M | re.S)
    found, result = {}, set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = found.get(anchor, 0)
        found[anchor] = count + 1
        result.add(f"{anchor}-{count}" if count else anchor)
    return result


def documents(root):
    for path in sorted(root.rglob("*.md")):
        if not SKIPPED_FOLDERS.intersection(path.relative_to(root).parts):
            yield path


def link_problems(root):
    """Returns a list of links in Markdown files below `root` that lead nowhere."""
    problems = []
    for path in documents(root):
        for target in re.findall(r"\]\(([^()\s]+)\)", without_code(path.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = path.parent / name if name else path
            if not file.exists():
                problems.append(f"{path.relative_to(root)}: no file {target}")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
                problems.append(f"{path.relative_to(root)}: no heading {target}")
    return problems


class Documents(unittest.TestCase):
    def expect_none(self, problems):
        if problems:
            self.fail("\n" + "\n".join(problems))

    def test_decisions_are_complete(self):
        self.expect_none(decision_problems(ROOT / "docs" / "adr"))

    def test_links_resolve(self):
        self.expect_none(link_problems(ROOT))


GOOD = """# 0001. Use one clock

- Status: accepted
- Date: 2026-11-28

## Context

Two clocks differ.

## Decision

One clock.

## Consequences

Times agree.
"""
INDEX = """# Decisions

| Number | Title | Status |
|---|---|---|
| [0001](0001-use-one-clock.md) | Use one clock | accepted |
"""


class Faults(unittest.TestCase):
    """Each mistake in a small folder of documents is found."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.write("0001-use-one-clock.md", GOOD)
        self.write("README.md", INDEX)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def expect_problem(self, part, find=decision_problems):
        problems = find(self.folder)
        self.assertTrue(any(part in problem for problem in problems), problems)

    def test_accepts_good_folder(self):
        self.assertEqual(decision_problems(self.folder), [])
        self.assertEqual(link_problems(self.folder), [])

    def test_finds_missing_status_and_wrong_date(self):
        self.write("0001-use-one-clock.md", GOOD.replace("accepted", "maybe"))
        self.expect_problem("Status")
        self.write("0001-use-one-clock.md", GOOD.replace("2026-11-28", "2026-13-28"))
        self.expect_problem("Date")

    def test_finds_missing_section_and_long_text(self):
        self.write("0001-use-one-clock.md", GOOD.replace("## Context", "## History"))
        self.expect_problem("sections")
        self.write("0001-use-one-clock.md", GOOD.replace("Two clocks differ.", "Two\n" * 6))
        self.expect_problem("context")
        self.write("0001-use-one-clock.md", GOOD + "word " * MOST_WORDS)
        self.expect_problem("words")

    def test_finds_second_page_with_a_number(self):
        self.write("0001-use-two-clocks.md", GOOD)
        self.expect_problem("same number")

    def test_finds_unknown_successor(self):
        self.write("0001-use-one-clock.md", GOOD.replace("accepted", "superseded by 0007"))
        self.expect_problem("0007 does not exist")

    def test_finds_incomplete_index(self):
        self.write("README.md", INDEX.replace("Use one", "Use a"))
        self.expect_problem("differs")
        self.write("README.md", "# Decisions\n")
        self.expect_problem("no row")

    def test_finds_broken_links(self):
        self.write("page.md", "See [this](missing.md).\n")
        self.expect_problem("missing.md", link_problems)
        self.write("page.md", "See [this](0001-use-one-clock.md#reasons).\n")
        self.expect_problem("#reasons", link_problems)
        self.write("page.md", "See [this](0001-use-one-clock.md#context) and `[that](missing.md)`.\n")
        self.assertEqual(link_problems(self.folder), [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
