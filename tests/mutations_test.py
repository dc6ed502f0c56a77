#!/usr/bin/env python3
"""Tests of tools/mutations.py: what --check refuses, and how a mutation is applied."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools", "mutations.py")
HEAD = "module: base\ntarget: base_tests\ntest: Sum.Adds\nwhy: A sum adds.\n\n"
BLOCK = "replace in src/sum.cpp:\n    return a + b;\nwith:\n    return a - b;\n"


class Tree(unittest.TestCase):
    """A small tree with one source, one test and one mutation."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.put("src/sum.cpp", "int sum(int a, int b) {\n  return a + b;\n}\nint one() { return 1; }\n")
        self.put("src/sum_test.cpp", "TEST(Sum, Adds) {}\n")
        self.put("CMakeLists.txt", "lanista_module(base SOURCES sum.cpp)\n")
        self.put("tests/mutations/base/minus.txt", HEAD + BLOCK)

    def put(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def run_tool(self, *arguments):
        done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True,
                              env={**os.environ, "LANISTA_MUTATIONS_ROOT": self.root})
        return done.returncode, done.stdout + done.stderr

    def refuses(self, text, message):
        self.put("tests/mutations/base/minus.txt", text)
        code, out = self.run_tool("--check")
        self.assertEqual(code, 1, out)
        self.assertIn(message, out)

    def test_accepts_a_mutation_that_applies(self):
        self.assertEqual(self.run_tool("--check"), (0, "1 mutations apply\n"))
        self.assertIn("base/minus: A sum adds.", self.run_tool("--list", "base")[1])

    def test_leaves_the_tree_unchanged(self):
        self.run_tool("--check")
        with open(os.path.join(self.root, "src", "sum.cpp"), encoding="utf-8") as source:
            self.assertIn("return a + b;", source.read())

    def test_refuses_old_text_that_is_missing_or_twice(self):
        self.refuses(HEAD + BLOCK.replace("a + b", "a * b"), "is 0 times")
        self.refuses(HEAD + BLOCK.replace("    return a + b;", "    return"), "is 2 times")
        self.refuses(HEAD + BLOCK.replace("sum.cpp", "other.cpp"), "no file src/other.cpp")
        self.refuses(HEAD + BLOCK.replace("a - b", "a + b"), "the new text is the old one")

    def test_refuses_unknown_tests_and_programs(self):
        self.refuses(HEAD.replace("Adds", "Subtracts") + BLOCK, "no test Sum.Subtracts")
        self.refuses(HEAD.replace("base_tests", "other_tests") + BLOCK, "no test program other_tests")

    def test_refuses_another_form(self):
        self.refuses(HEAD, "no block")
        self.refuses(HEAD.replace("why: A sum adds.\n", "") + BLOCK, "no line 'why: ...'")
        self.refuses(HEAD.replace("base\n", "ipc\n", 1) + BLOCK, "the folder is base")
        self.refuses("colour: red\n" + HEAD + BLOCK, "unexpected line")
        self.refuses(HEAD + BLOCK.replace("    return a - b;", "return a - b;"), "unexpected line")

    def test_refuses_unknown_names(self):
        self.assertIn("modules are base", self.run_tool("--check", "bass")[1])


if __name__ == "__main__":
    unittest.main()
