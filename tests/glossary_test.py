"""Tests of docs/glossary.md and CHANGELOG.md: order, form and length of their entries."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def items(path):
    """Returns the items of a page as lists of lines."""
    out = []
    with open(os.path.join(ROOT, path), encoding="utf-8") as page:
        for line in page.read().split("\n"):
            if line.startswith("- "):
                out.append([line])
            elif line.startswith("  ") and out:
                out[-1].append(line)
    return out


class Glossary(unittest.TestCase):
    def setUp(self):
        self.entries = []
        for lines in items("docs/glossary.md"):
            text = " ".join(line.strip() for line in lines)
            m = re.fullmatch(r"- \*\*([^*]+)\*\*: (.+)", text)
            self.assertTrue(m, f"an entry is '- **term**: Definition.': {text}")
            self.entries.append((m.group(1), m.group(2)))

    def test_has_many_terms(self):
        self.assertGreaterEqual(len(self.entries), 150)

    def test_is_sorted_and_has_no_term_twice(self):
        terms = [term.lower() for term, _ in self.entries]
        for before, after in zip(terms, terms[1:]):
            self.assertLess(before, after)

    def test_defines_each_term_in_one_sentence(self):
        for term, text in self.entries:
            plain = re.sub(r"`[^`]*`|(?<=\d)\.(?=\d)", "X", text)
            self.assertTrue(re.fullmatch(r"[A-Z0-9][^.!?]*\.", plain), (term, text))
            self.assertLessEqual(len(plain.split()), 40, term)

    def test_does_not_define_a_term_by_itself(self):
        for term, text in self.entries:
            self.assertFalse(re.match(rf"(?:An? |The )?{re.escape(term)}\b", text, re.I), (term, text))


class Changelog(unittest.TestCase):
    def test_has_versions_with_dates_and_the_usual_sections(self):
        with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as page:
            text = page.read()
        versions = re.findall(r"^## (.*)$", text, re.M)
        self.assertGreaterEqual(len(versions), 2)
        for version in versions:
            date = r"\d{4}-\d\d-\d\d"
            self.assertTrue(re.fullmatch(rf"\d+\.\d+\.\d+ - (?:{date}|Unreleased \({date}\))", version), version)
        sections = re.findall(r"^### (.*)$", text, re.M)
        self.assertLessEqual(set(sections), {"Added", "Changed", "Faster", "Fixed", "Removed"})

    def test_has_entries_of_at_most_three_lines(self):
        entries = items("CHANGELOG.md")
        self.assertTrue(entries)
        for lines in entries:
            self.assertLessEqual(len(lines), 3, lines[0])


if __name__ == "__main__":
    unittest.main()
