#!/usr/bin/env python3
"""Tests of tools/results.py: each wrong row, table or page is found."""
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import results  # noqa: E402

ROW = {"bench": "b", "case": "c", "arm": "a", "value": 1, "unit": "s", "machine": "m", "command": "run it"}


class Tree(unittest.TestCase):
    """A small tree with one row, one machine, one table and one page."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        os.makedirs(os.path.join(self.root, "bench", "results"))
        self.put("results/machines.json", json.dumps({"m": {"cpu": "x", "cores": 2}}))
        self.put("results/rows.jsonl", json.dumps(ROW) + "\n")
        self.table = {"lines": ["c"], "columns": [{"title": "seconds", "arm": "a"}]}
        self.put("results/headlines.json", json.dumps({"t": self.table}))
        self.put("RESULTS.md", "# R\n\n<!-- table t -->\n<!-- end -->\n")

    def put(self, name, text):
        with open(os.path.join(self.root, "bench", name), "w", encoding="utf-8") as out:
            out.write(text)

    def page(self):
        with open(os.path.join(self.root, "bench", "RESULTS.md"), encoding="utf-8") as text:
            return text.read()

    def run_tool(self, *arguments):
        os.environ["LANISTA_RESULTS_ROOT"] = self.root
        self.addCleanup(os.environ.pop, "LANISTA_RESULTS_ROOT", None)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = results.main(list(arguments))
        return code, out.getvalue()

    def refuses(self, text, message):
        self.put("results/rows.jsonl", text + "\n")
        code, out = self.run_tool("check")
        self.assertEqual(code, 1, out)
        self.assertIn(message, out)

    def test_writes_a_page_that_passes(self):
        self.assertIn("stale", self.run_tool("check")[1])
        self.assertEqual(self.run_tool("write")[0], 0)
        self.assertEqual(self.run_tool("check")[0], 0)
        self.assertIn("| c | 1 |", self.page())
        self.assertIn("```text\nrun it\n```", self.page())

    def test_finds_a_page_that_is_stale(self):
        self.run_tool("write")
        self.put("results/rows.jsonl", json.dumps({**ROW, "value": 2}) + "\n")
        code, out = self.run_tool("check")
        self.assertEqual(code, 1)
        self.assertIn("stale", out)

    def test_refuses_wrong_rows(self):
        for change, message in (
            ({"value": "1"}, "value is '1'"), ({"value": True}, "value is True"), ({"value": None}, "a note must give"),
            ({"unit": "fortnights"}, "unknown unit"), ({"machine": "n"}, "unknown machine"), ({"arm": ""}, "arm is ''"),
            ({"bench": "b b"}, "no spaces"), ({"colour": "red"}, "unknown key 'colour'"),
            ({"repeats": 0}, "repeats is 0"), ({"spread": -0.1}, "spread is"), ({"spread_is": "width"}, "spread_is is"),
            ({"date": "2026-13-01"}, "date is"), ({"note": "see /work/x"}, "path of a machine"),
        ):
            row = {**ROW, **change}
            known = [k for k in results.KEYS if k in row]
            self.refuses(json.dumps({k: row[k] for k in known + [k for k in row if k not in known]}), message)

    def test_refuses_rows_of_another_form(self):
        self.refuses("[]", "JSON object")
        self.refuses("{", "not JSON")
        self.refuses(json.dumps({k: v for k, v in ROW.items() if k != "arm"}), "'arm' is missing")
        self.refuses(json.dumps(dict(reversed(ROW.items()))), "the order of keys")
        self.refuses(json.dumps(ROW).replace("1", "NaN", 1), "NaN is not a number")
        self.refuses(json.dumps(ROW)[:-1] + ', "arm": "a"}', "a key is there twice")
        self.refuses(json.dumps(ROW) + "\n" + json.dumps(ROW), "the same measurement")

    def test_keeps_the_digits_of_numbers(self):
        self.put("results/rows.jsonl", json.dumps(ROW).replace(": 1,", ": 12345.60,") + "\n")
        self.run_tool("write")
        self.assertIn("12,345.60", self.page())

    def test_refuses_wrong_tables(self):
        for table, message in (
            ({**self.table, "lines": ["d"]}, "0 rows"), ({**self.table, "colour": 1}, "unknown key 'colour'"),
        ):
            self.put("results/headlines.json", json.dumps({"t": table}))
            code, out = self.run_tool("check")
            self.assertEqual(code, 1)
            self.assertIn(message, out)
        self.put("results/headlines.json", json.dumps({f"t{i}": self.table for i in range(21)}))
        self.assertIn("at most 20", self.run_tool("check")[1])

    def test_refuses_wrong_pages(self):
        mark = "<!-- table {} -->\n<!-- end -->\n"
        for page, message in (
            ("# R\n", "not on the page"), (mark.format("t") * 2, "twice"), (mark.format("u"), "unknown table 'u'"),
            ("a\nb\nc\nd\ne\nf\n\n" + mark.format("t"), "more than 5 lines"),
        ):
            self.put("RESULTS.md", page)
            code, out = self.run_tool("check")
            self.assertEqual(code, 1)
            self.assertIn(message, out)

    def test_shows_rows_of_one_benchmark(self):
        self.assertIn("b  c  a  1  s  m", self.run_tool("show", "b")[1])
        self.assertEqual(self.run_tool("show", "none")[0], 1)


if __name__ == "__main__":
    unittest.main()
