"""Tests of tools/prose.py: each kind of finding in each kind of text, and the table of limits."""
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")
sys.dont_write_bytecode = True
sys.path.insert(0, TOOLS)
import prose  # noqa: E402

LONG = "The engine writes " + "one more word and " * 10 + "stops."  # 44 words
ROWS = textwrap.wrap(LONG, 70)
WORD = "".join(["to", "ld"])  # a banned word
TREES = tempfile.TemporaryDirectory()


class Tree:
    """A folder of a few files, with a table of limits."""

    def __init__(self, files, limits=""):
        self.root = tempfile.mkdtemp(dir=TREES.name)
        self.write("tools/prose_limits.txt", limits)
        for path, text in files.items():
            self.write(path, text)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def run(self, *arguments):
        command = [sys.executable, os.path.join(TOOLS, "prose.py"), "--root", self.root, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def findings(path, text):
    """Returns the findings of one file, without its path."""
    tree = Tree({path: text})
    rules = prose.Rules(tree.root, os.path.join(TOOLS, "prose_rules.txt"))
    return [f"{line}: {found}" for line, _, found in prose.Checker(tree.root, rules).findings(path)]


class Sentences(unittest.TestCase):
    def test_finds_a_long_sentence_in_each_language(self):
        rows = {mark: mark + f"\n{mark}".join(ROWS) + "\n" for mark in ("", "# ", "// ", "/// ")}
        for path, text in {
            "a.md": "# Title\n\n" + rows[""],
            "a.h": rows["/// "] + "int x;\n",
            "a.cpp": "/* " + rows[""] + "*/\nint x;\n",
            "a.js": rows["// "],
            "a.py": '"""Head.\n\n' + rows[""] + '"""\nx = 1  # unit\n',
            "a.sh": "#!/bin/sh\n" + rows["# "],
            "a.yaml": "a: 1\n" + rows["# "],
            "a.cmake": rows["# "],
            "CMakeLists.txt": rows["# "],
            "quickstart": "#!/bin/sh\n" + rows["# "],
            ".ci/run": "#!/bin/sh\n" + rows["# "],
            "a.css": "/* " + rows[""] + "*/\n",
            "a.html": "<p>" + rows[""] + "</p>\n",
            "a.txt": rows["# "],
        }.items():
            found = findings(path, text)
            self.assertEqual(len(found), 1, (path, found))
            self.assertIn("a sentence of 44 words", found[0])

    def test_finds_a_long_sentence_in_a_string_of_several_literals(self):
        found = findings("a.cpp", "const char* help =\n" + "\n".join(f'    "{row} "' for row in ROWS) + ";\n")
        self.assertEqual(found, ["2: a sentence of 44 words: The engine writes one more word ..."])

    def test_names_the_line_where_the_sentence_begins(self):
        text = "int x;\n// A short one. " + "\n// ".join(ROWS) + "\nint y;\n"
        self.assertEqual(findings("a.cpp", text), ["2: a sentence of 44 words: The engine writes one more word ..."])

    def test_an_abbreviation_does_not_end_a_sentence(self):
        text = "An optimiser, e.g. " + "Adam and\n" * 18 + "others, i.e. Lion, is used.\n"
        self.assertEqual(len(findings("a.md", text)), 1)

    def test_items_cells_headings_and_code_are_apart(self):
        words = "thirteen words are in each of these items so that three exceed it"
        for text in (f"- {words}\n" * 4, f"| {words} | {words} | {words} | {words} |\n",
                     f"# {words}\n{words}.\n\n## {words}\n{words}.\n", "```\n" + f"{words}\n" * 4 + "```\n"):
            self.assertEqual(findings("a.md", text), [])
        self.assertEqual(findings("a.cpp", f"// {words}\n//\n// {words}\n//\n// - {words}\n// - {words}\n"), [])

    def test_code_is_no_sentence(self):
        self.assertEqual(findings("a.cpp", "int f() {\n" + "  x = first + second + third;\n" * 40 + "}\n"), [])

    def test_holds_the_median_and_the_90th_percentile_of_ten_sentences(self):
        of = lambda n: "The\n" + "word\n" * (n - 2) + "ends.\n"
        self.assertEqual(findings("a.md", of(15) * 10), [])
        self.assertEqual(findings("a.md", of(16) * 10), ["1: the median sentence has 16 words"])
        self.assertEqual(findings("a.md", of(16) * 9), [])
        self.assertEqual(findings("a.md", of(10) * 8 + of(28) * 3), [])
        tenth = ["1: a tenth of the sentences has 29 words or more"]
        self.assertEqual(findings("a.md", of(10) * 8 + of(29) * 3), tenth)


class Lines(unittest.TestCase):
    def test_finds_a_wide_line(self):
        for path in ("a.md", "a.h", "a.cpp", "a.py", "a.sh", "a.yaml", "a.txt", ".ci/run", "quickstart", "a.json"):
            self.assertIn("1: a line of 121 columns", findings(path, "#" * 121 + "\n"), path)
            self.assertEqual(findings(path, "#" * 120 + "\n"), [], path)

    def test_tables_and_links_of_markdown_may_be_wide(self):
        wide = "x" * 130
        self.assertEqual(findings("a.md", f"| {wide} |\n\n[{wide}](page.md)\n"), [])
        self.assertEqual(len(findings("a.md", f"```sh\n{wide}\n```\n")), 1)


class Words(unittest.TestCase):
    def test_finds_a_banned_word_in_a_comment_a_string_and_a_name(self):
        for path, text, line in (
            ("a.cpp", "int x;  // what is @\n", 1),
            ("a.cpp", 'int x;\nauto y = "it was @";\n', 2),
            ("a.cpp", 'auto y = R"(\nit was @)";\n', 2),
            ("a.cpp", "int x;\nint @_speeds();\n", 2),
            ("a.h", "struct SpeedsFor@ {};\n", 1),
            ("a_test.cpp", "TEST(Unit, ReadsWhatIs@) {}\n", 1),
            ("a.js", "const a = `\n@ ${x}`;\n", 2),
            ("a.js", "const @ = 'x';\n", 1),
            ("a.py", "x = '@'\n", 1),
            ("a.sh", "echo 'it was\n@'\n", 2),
            ("a.yaml", "description: it was @\n", 1),
            ("a.md", "It was @.\n", 1),
            ("a.md", "```\nit was @\n```\n", 2),
            ("a.md", "| it was @ |\n", 1),
            ("a.txt", "lanista: it was @\n", 1),
            ("a.html", "<p>\nIt was @.</p>\n", 2),
            ("quickstart", "echo @\n", 1),
            ("cmake/a.cmake", 'message("@")\n', 1),
        ):
            found = findings(path, text.replace("@", WORD.title() if "For@" in text or "Is@" in text else WORD))
            self.assertEqual(len(found), 1, (path, text, found))
            self.assertTrue(found[0].lower().startswith(f"{line}: '{WORD}' in "), found)

    def test_finds_a_banned_word_in_a_path(self):
        self.assertEqual(findings(f"a/{WORD}/b.md", "Fine.\n"), [f"1: '{WORD}' in the path"])
        self.assertEqual(findings(f"a/b_{WORD}.md", "Fine.\n"), [f"1: '{WORD}' in the path"])

    def test_counts_a_name_once_a_file(self):
        self.assertEqual(len(findings("a.cpp", f"int {WORD} = 1;\nint b = {WORD} + {WORD};\n")), 1)

    def test_allows_literal_uses(self):
        self.assertEqual(findings("a.py", "wall_seconds = 1  # wall clock, $HOME\n"), [])
        self.assertEqual(findings("src/lanista/app/report/a.h", "void draw_lines();\n"), [])
        self.assertEqual(len(findings("src/lanista/exec/a.h", "void draw_lines();\n")), 1)
        self.assertEqual(findings("a.md", "Withdrawn, hearth, homeomorphic, walled.\n"), [])

    def test_allows_stored_texts(self):
        rows = f"# KIND | COUNT | VALUE\nlabel | 1 | {WORD}\n"
        code = f'auto a = "{WORD}";\nauto b = "is {WORD}";\n'
        _, out = Tree({"tests/formats/names.txt": rows, "a.cpp": code, "a.md": f"A `{WORD}`.\n"}).run("--list")
        self.assertEqual([line.split(" ")[0] for line in out.splitlines()], ["a.cpp:2:"])

    def test_every_word_has_one_to_write_instead(self):
        rules = prose.Rules(os.path.join(TOOLS, ".."), os.path.join(TOOLS, "prose_rules.txt"))
        words = """t0ld t0ll s0id h0ard dr0wn dr0w wh0 wh0se n0body ch0ap b0side g0es_on w0nts t0kes_3_ms st0nds_in
                   0wn_kernels h0use r0om stor0y w0ll tw0n gu0st h0me comp0ny cr0w pl0nted m0nded h0ngs_on at_h0nd
                   in_h0nd n0_number"""
        for word in words.split():  # 0 is any vowel
            forms = [word.replace("0", vowel).replace("_", " ") for vowel in "aeiou"]
            self.assertTrue([f for f in forms if rules.banned.fullmatch(f) and rules.write_instead(f)], word)


class TestNames(unittest.TestCase):
    def test_finds_a_long_test_name(self):
        self.assertEqual(findings("a_test.cpp", "TEST(Unit, " + "A" * 60 + ") {}\n"), [])
        for macro in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST"):
            found = findings("a_test.cpp", "int x;\n" + macro + "(Unit,\n    " + "A" * 61 + ") {}\n")
            self.assertEqual(found, ["3: a test name of 61 characters: " + "A" * 61])


class Limits(unittest.TestCase):
    two = f"{WORD}\n{WORD}\n"

    def test_a_file_without_a_row_has_no_finding(self):
        self.assertEqual(Tree({"a.md": "Fine.\n"}).run("--check")[0], 0)
        status, out = Tree({"a.md": f"It was {WORD}.\n"}).run("--check")
        self.assertEqual(status, 1)
        self.assertIn("a.md: 1 findings, 0 allowed:\n  a.md:1: '" + WORD, out)

    def test_a_file_does_not_grow(self):
        tree = Tree({"a.md": self.two}, "a.md | 2 | old text\n")
        self.assertEqual(tree.run("--check")[0], 0)
        tree.write("a.md", self.two + WORD + "\n")
        self.assertEqual(tree.run("--check")[0], 1)

    def test_a_row_is_lowered(self):
        rows = "# Head.\na.md | 3 | old text\nb.md | 1 | old text\ngone.md | 4 | old text\n"
        tree = Tree({"a.md": self.two, "b.md": "Fine.\n"}, rows)
        status, out = tree.run("--check")
        self.assertEqual(status, 1)
        for path in ("a.md", "b.md", "gone.md"):
            self.assertIn(f"{path}: ", out)
        self.assertEqual(tree.run("--tighten")[0], 0)
        self.assertEqual(tree.read("tools/prose_limits.txt"), "# Head.\na.md | 2 | old text\n")
        self.assertEqual(tree.run("--check")[0], 0)

    def test_tighten_never_raises_a_row_and_adds_none(self):
        tree = Tree({"a.md": self.two, "b.md": self.two}, "a.md | 1 | old text\n")
        self.assertEqual(tree.run("--tighten")[0], 1)
        self.assertEqual(tree.read("tools/prose_limits.txt"), "a.md | 1 | old text\n")

    def test_begin_writes_the_first_table_only(self):
        tree = Tree({"a.md": self.two})
        self.assertEqual(tree.run("--begin", "old text")[0], 1)
        os.remove(os.path.join(tree.root, "tools/prose_limits.txt"))
        self.assertEqual(tree.run("--begin", "old text")[0], 0)
        self.assertEqual(tree.read("tools/prose_limits.txt").splitlines()[-1], "a.md | 2 | old text")
        self.assertEqual(tree.run("--check")[0], 0)

    def test_a_row_needs_a_reason(self):
        for row in ("a.md | 2\n", "a.md | 2 | \n", "a.md | two | old\n"):
            status, out = Tree({"a.md": self.two}, row).run("--check")
            self.assertEqual(status, 1, row)

    def test_tighten_resolves_rows_of_two_branches(self):
        rows = "<<<<<<< a\na.md | 2 | old text\n=======\na.md | 3 | old text\nb.md | 1 | old text\n>>>>>>> b\n"
        tree = Tree({"a.md": self.two, "b.md": "Fine.\n"}, rows)
        self.assertEqual(tree.run("--check")[0], 1)
        self.assertEqual(tree.run("--tighten")[0], 0)
        self.assertEqual(tree.read("tools/prose_limits.txt"), "a.md | 2 | old text\n")

    @unittest.skipUnless(shutil.which("git"), "git is missing")
    def test_a_row_follows_its_moved_file(self):
        tree = Tree({"old/a.md": self.two}, "old/a.md | 2 | old text\n")
        user = ["-c", "user.name=x", "-c", "user.email=x@y"]
        git = lambda *a: subprocess.run(["git", "-C", tree.root, *user, *a], check=True, capture_output=True)
        git("init", "-q")
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        git("mv", "old/a.md", "b.md")
        for commit in (False, True):
            if commit:
                git("commit", "-q", "-m", "x")
                tree.write("tools/prose_limits.txt", "old/a.md | 2 | old text\n")
            self.assertEqual(tree.run("--check")[0], 1)
            self.assertEqual(tree.run("--tighten")[0], 0)
            self.assertEqual(tree.read("tools/prose_limits.txt"), "b.md | 2 | old text\n")


if __name__ == "__main__":
    unittest.main()
