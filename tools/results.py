#!/usr/bin/env python3
"""Checks the rows of bench/results and writes the tables of bench/RESULTS.md.

usage:

    results.py check                      fails where a row is wrong or the page is stale
    results.py write                      writes the tables of the page anew
    results.py show [BENCH [CASE]]        prints rows as columns of text

A row is one JSON object a line. Its keys, in this order:

    bench     the benchmark, as in `lanista bench NAME`, or another name without spaces
    case      the model, task or study
    arm       what was measured in this case
    value     a number; null where there is none, with the reason in `note`
    unit      one of the units that this tool lists
    repeats   number of measurements behind the value (optional)
    spread    how far the measurements differ (optional)
    spread_is what the spread is, where it is not the interquartile range over the median (optional)
    machine   a key of bench/results/machines.json
    command   what to run; `--data DIR` stands for a folder of the user
    date      year-month-day (optional)
    note      what else a reader needs to know (optional)

headlines.json has the tables of the page. A cell is the one row that agrees with all selectors of its table, line and
column. A line may give texts for `{name}` in the selectors of columns (`with`), and name the columns that it leaves
empty (`without`).
"""
import datetime
import glob
import json
import os
import re
import sys
from decimal import Decimal

KEYS = ["bench", "case", "arm", "value", "unit", "repeats", "spread", "spread_is", "machine", "command", "date", "note"]
OPTIONAL = {"repeats", "spread", "spread_is", "date", "note"}
TEXTS = {"bench", "case", "arm", "unit", "spread_is", "machine", "command", "date", "note"}
SPREADS = {"standard deviation", "standard error", "half width of the 95 % interval", "largest minus smallest"}
UNITS = {
    "s", "ms", "us", "s CPU", "min", "us/step", "us/query", "us/epoch", "ms/trial", "ms/epoch",
    "ms/epoch of 5 folds", "ms/step", "trials/s", "edits/s", "samples/s", "bytes", "kB", "MB", "GB",
    "instructions", "cycles", "execs", "calls", "launches", "steps", "ksteps", "epochs", "updates", "rows",
    "device hours", "files", "trials", "studies", "runs", "models", "cases", "values", "tests", "kills",
    "processes", "workers", "groups", "searches", "seeds", "decisions", "failures", "differences", "points",
    "percent", "ratio", "regret", "rank", "score", "loss", "log10 loss", "correlation",
    "words", "functions", "fields", "answers", "lines", "pairs",
}
MACHINE_KEYS = {"cpu", "cores", "memory_gib", "gpu", "software", "load"}
MOST_TABLES = 20
MOST_LINES = 5
OWN_PATH = re.compile(r"(^|[\s=:'\"])/(?!dev/|proc/)[a-z]+/|~/")


class Broken(Exception):
    pass


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read(text, at):
    """JSON in which a number keeps its digits."""
    def once(pairs):
        keys = [k for k, _ in pairs]
        if len(set(keys)) != len(keys):
            raise Broken(f"{at}: a key is there twice: {sorted(k for k in keys if keys.count(k) > 1)[0]}")
        return dict(pairs)

    def refuse(word):
        raise Broken(f"{at}: {word} is not a number")

    try:
        return json.loads(text, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=once)
    except ValueError as problem:
        raise Broken(f"{at}: this is not JSON: {problem}")


def is_number(x):
    return isinstance(x, (int, Decimal)) and not isinstance(x, bool)


def faults_of(row, machines):
    """What is wrong with one row, as sentences."""
    if not isinstance(row, dict):
        return ["a row is a JSON object"]
    faults = [f"unknown key {k!r}; known are {', '.join(KEYS)}" for k in row if k not in KEYS]
    faults += [f"key {k!r} is missing" for k in KEYS if k not in OPTIONAL and k not in row]
    for k in TEXTS & set(row):
        if not isinstance(row[k], str) or not row[k].strip() or row[k] != row[k].strip():
            faults.append(f"{k} is {row[k]!r}; it must be a text without spaces around it")
    if faults:
        return faults
    if [k for k in KEYS if k in row] != list(row):
        faults.append(f"the order of keys is {', '.join(KEYS)}")
    if " " in row["bench"]:
        faults.append(f"bench is {row['bench']!r}; it must have no spaces")
    if row["value"] is None:
        if "note" not in row:
            faults.append("value is null; a note must give the reason")
    elif not is_number(row["value"]):
        faults.append(f"value is {row['value']!r}; it must be a number or null")
    if row["unit"] not in UNITS:
        faults.append(f"unknown unit {row['unit']!r}; known are {', '.join(sorted(UNITS))}")
    if row["machine"] not in machines:
        faults.append(f"unknown machine {row['machine']!r}; known are {', '.join(sorted(machines))}")
    if "repeats" in row and (not is_number(row["repeats"]) or row["repeats"] % 1 or row["repeats"] < 1):
        faults.append(f"repeats is {row['repeats']!r}; it must be a whole number from 1 on")
    if "spread" in row and (not is_number(row["spread"]) or row["spread"] < 0):
        faults.append(f"spread is {row['spread']!r}; it must be a number from 0 on")
    if "spread_is" in row and (row["spread_is"] not in SPREADS or "spread" not in row):
        known = ", ".join(sorted(SPREADS))
        faults.append(f"spread_is is {row['spread_is']!r}; it needs a spread and is one of {known}")
    if "date" in row:
        try:
            if datetime.date.fromisoformat(row["date"]).isoformat() != row["date"]:
                raise ValueError
        except ValueError:
            faults.append(f"date is {row['date']!r}; it must be a day such as 2026-11-28")
    for k in ("command", "note"):
        if OWN_PATH.search(row.get(k, "")):
            faults.append(f"{k} has the path of a machine: {row[k]!r}")
    return faults


def load_machines(folder):
    path = os.path.join(folder, "machines.json")
    machines = read(text_of(path), path)
    for name, machine in machines.items():
        if not isinstance(machine, dict) or set(machine) - MACHINE_KEYS or not {"cpu", "cores"} <= set(machine):
            known = ", ".join(sorted(MACHINE_KEYS))
            raise Broken(f"{path}: machine {name!r} needs cpu and cores, and may have {known}")
    return machines


def load_rows(folder, machines):
    rows, faults, seen = [], [], {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        name = os.path.basename(path)
        for number, line in enumerate(text_of(path).splitlines(), 1):
            at = f"{name}:{number}"
            try:
                row = read(line, at)
            except Broken as problem:
                faults.append(str(problem))
                continue
            wrong = faults_of(row, machines)
            faults += [f"{at}: {w}" for w in wrong]
            if wrong:
                continue
            key = tuple(row.get(k) for k in ("bench", "case", "arm", "unit", "machine", "command", "date", "note"))
            if key in seen:
                faults.append(f"{at}: the same measurement is at {seen[key]}")
            seen[key] = at
            rows.append(row)
    if not rows and not faults:
        faults.append(f"no rows in {folder}")
    return rows, faults


def number_text(value):
    if value is None:
        return "-"
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    whole, dot, rest = text.partition(".")
    sign = "-" if whole.startswith("-") else ""
    return f"{sign}{int(whole or 0) if not sign else abs(int(whole)):,}{dot}{rest}"


def small_text(value):
    """A number in its shortest form; large exponents stay exponents."""
    if isinstance(value, Decimal) and value and abs(value) < Decimal("0.0001"):
        return f"{value.normalize():.2e}".replace("e-0", "e-")
    return number_text(value)


def cell_text(row, show):
    text = small_text(row["value"])
    if row["value"] is not None and row["unit"] == "percent":
        text += " %"
    if show == "spread" and "spread" in row:
        if "spread_is" in row:
            text += f" ± {small_text(row['spread'])}"
        else:
            text += f" ({small_text(Decimal(row['spread'] * 100).normalize())} %)"
    return text


class Headlines:
    """The tables of the page."""

    def __init__(self, path, rows, machines):
        self.path, self.rows, self.machines = path, rows, machines
        self.tables = read(text_of(path), path)
        if len(self.tables) > MOST_TABLES:
            raise Broken(f"{path}: {len(self.tables)} tables; the page has at most {MOST_TABLES}")

    def row_of(self, name, selector):
        found = [r for r in self.rows if all(r.get(k) == v for k, v in selector.items())]
        if len(found) != 1:
            raise Broken(f"{self.path}: table {name!r}: {len(found)} rows for {json.dumps(selector)}; it must be one")
        return found[0]

    def text(self, name):
        """A table in Markdown, with its command and machine below it."""
        table = self.tables[name]
        known = {"select", "lines", "columns", "first", "show"}
        for key in sorted(set(table) - known):
            raise Broken(f"{self.path}: table {name!r}: unknown key {key!r}; known are {', '.join(sorted(known))}")
        used, lines = [], []
        titles = [table.get("first", "case")] + [c["title"] for c in table["columns"]]
        lines.append("| " + " | ".join(titles) + " |")
        lines.append("|---" + "|---:" * len(table["columns"]) + "|")
        for line in table["lines"]:
            if isinstance(line, str):
                line = {"title": line, "case": line}
            cells = [line["title"]]
            for column in table["columns"]:
                selector = {**table.get("select", {}), **line, **column}
                selector.pop("title")
                for mark, text in selector.pop("with", {}).items():
                    for key, value in selector.items():
                        selector[key] = value.replace("{" + mark + "}", text) if isinstance(value, str) else value
                show = selector.pop("show", table.get("show", "value"))
                if column["title"] in selector.pop("without", []):
                    cells.append("")
                    continue
                row = self.row_of(name, selector)
                used.append(row)
                cells.append(cell_text(row, show))
            lines.append("| " + " | ".join(cells) + " |")
        commands = list(dict.fromkeys(r["command"] for r in used))
        machines = list(dict.fromkeys(r["machine"] for r in used))
        dates = sorted({r["date"] for r in used if "date" in r})
        lines += ["", "```text", *commands, "```", ""]
        where = "Machine: " + ", ".join(f"`{m}`" for m in machines) + "."
        if dates:
            where += " Date: " + (dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}") + "."
        lines.append(where)
        return "\n".join(lines)


def machine_table(machines, rows):
    lines = ["| machine | processor | cores | memory | GPU | software | load | rows |",
             "|---|---|---:|---:|---|---|---|---:|"]
    for name, m in machines.items():
        memory = f"{m['memory_gib']} GiB" if "memory_gib" in m else ""
        count = sum(r["machine"] == name for r in rows)
        rest = " | ".join(m.get(key, "") for key in ("gpu", "software", "load"))
        lines.append(f"| `{name}` | {m['cpu']} | {m['cores']} | {memory} | {rest} | {count} |")
    return "\n".join(lines)


MARK = re.compile(r"<!-- table (\S+) -->\n(.*?)<!-- end -->", re.S)


def page_of(text, headlines, machines, rows):
    """The page with all its tables made anew."""
    seen = []

    def filled(match):
        name = match.group(1)
        seen.append(name)
        if name == "machines":
            body = machine_table(machines, rows)
        elif name in headlines.tables:
            body = headlines.text(name)
        else:
            raise Broken(f"RESULTS.md: unknown table {name!r}; known are {', '.join(sorted(headlines.tables))}")
        return f"<!-- table {name} -->\n{body}\n<!-- end -->"

    made = MARK.sub(filled, text)
    missing = [t for t in headlines.tables if t not in seen]
    if missing:
        raise Broken(f"RESULTS.md: table {missing[0]!r} is not on the page")
    if len(set(seen)) != len(seen):
        raise Broken(f"RESULTS.md: table {[s for s in seen if seen.count(s) > 1][0]!r} is there twice")
    for paragraph in MARK.sub("", text).split("\n\n"):
        if paragraph.strip().count("\n") >= MOST_LINES and not paragraph.lstrip().startswith("```"):
            raise Broken(f"RESULTS.md: a paragraph has more than {MOST_LINES} lines: {paragraph.strip()[:60]!r}")
    return made


def show(rows, bench, case):
    chosen = [r for r in rows if bench in (None, r["bench"]) and case in (None, r["case"])]
    for r in chosen:
        spread = cell_text(r, "spread").replace(" %)", "%)")
        parts = [r["bench"], r["case"], r["arm"], spread, r["unit"], r["machine"], r.get("date", ""), r.get("note", "")]
        print("  ".join(p for p in parts if p))
    if not chosen:
        print(f"no rows; benchmarks are {', '.join(sorted({r['bench'] for r in rows}))}", file=sys.stderr)
    return 0 if chosen else 1


def main(arguments):
    root = os.environ.get("LANISTA_RESULTS_ROOT") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder, page = os.path.join(root, "bench", "results"), os.path.join(root, "bench", "RESULTS.md")
    most = {"check": 1, "write": 1, "show": 3}
    if not arguments or len(arguments) > most.get(arguments[0], 0):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        machines = load_machines(folder)
        rows, faults = load_rows(folder, machines)
        if arguments[0] == "show":
            return show(rows, *(arguments[1:] + [None, None])[:2])
        if faults:
            print("\n".join(faults), file=sys.stderr)
            return 1
        old = text_of(page)
        new = page_of(old, Headlines(os.path.join(folder, "headlines.json"), rows, machines), machines, rows)
    except Broken as problem:
        print(problem, file=sys.stderr)
        return 1
    if arguments[0] == "write":
        if new != old:
            with open(page, "w", encoding="utf-8") as out:
                out.write(new)
    elif new != old:
        print("bench/RESULTS.md is stale; run tools/results.py write", file=sys.stderr)
        return 1
    print(f"{len(rows)} rows, {len(MARK.findall(old))} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
