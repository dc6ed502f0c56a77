"""Compares forms of random tables with pandas and numpy: table_forms_oracle.py LANISTA COUNT [SEED]

COUNT random tables of each kind are read by `lanista data check --json`:

- Arrays [rows, columns]. Means and deviations of each column are those of numpy. The same table as CSV has the same.
- Booleans in several spellings. Categories and classes are the values of pandas.
- Separators: '|', ';', tabs, blanks, a line "sep=;". The hash is that of the same table with commas.
- Names with special characters. drop= with names as urllib quotes them leaves out these columns and no others.
- Indices, as to_csv writes them. Exactly the tables with one have a warning that names drop=.
"""
import io
import sys
import tempfile
import urllib.parse
from pathlib import Path

try:
    import numpy as np
    import pandas as pd
except ImportError as error:
    print("skipped: pandas or numpy is not installed:", error)
    sys.exit(77)

from tables_oracle import Lanista

INDEX_NAMES = ["", "Unnamed: 0", "index"]


def random_columns(rng, rows):
    """Returns columns of different scale, of which some are constant."""
    columns = []
    for _ in range(int(rng.integers(2, 7))):
        kind = rng.integers(5)
        size, shift = 10 ** rng.uniform(-8, 8), 10 ** rng.uniform(-3, 6) * rng.choice([-1, 0, 1])
        if kind == 0:
            columns.append(np.full(rows, rng.normal() * size))
        elif kind == 1:
            columns.append(rng.integers(0, int(rng.integers(2, 250)), rows).astype(float))
        elif kind == 2:
            columns.append(np.exp(rng.normal(0, 2, rows)) * size)
        else:
            columns.append(rng.normal(shift, size, rows))
    return np.stack(columns, axis=1)


def check_arrays(lanista, rng):
    rows = int(rng.integers(40, 200))
    x = random_columns(rng, rows)
    dtype = [np.float32, np.float64, np.int64, np.uint8][rng.integers(4)]
    x = np.clip(x, 0, 255).astype(dtype) if dtype == np.uint8 else x.astype(dtype)
    y = rng.choice(["a", "b"], rows)
    folder = Path(lanista.folder)
    np.savez(folder / "t.npz", x=x, y=(y == "b").astype(np.int64))
    # Classes of the same rows in the same order, so that both tables have one split.
    frame = pd.DataFrame(x.astype(np.float64), columns=[f"c_{c}" for c in range(x.shape[1])])
    frame["y"] = (y == "b").astype(int)
    frame.to_csv(folder / "t.csv", index=False)
    report, error = lanista.check("npz:t.npz")
    table, table_error = lanista.check("csv:t.csv?header=yes")
    if report is None or table is None:
        return [f"{error}{table_error}: {x.dtype} {x.shape}"]
    faults = []
    # A mean in double loses digits of columns with a small deviation.
    train = x[lanista.rows("npz:t.npz", "train")].astype(np.longdouble)
    means, spans = train.mean(axis=0).astype(np.float64), train.std(axis=0).astype(np.float64)
    constant = train.min(axis=0) == train.max(axis=0)
    scales = np.where(constant, 1, spans)
    found = report["data"]["normalization"]
    if len(found["mean"]) != x.shape[1]:
        return [f"{len(found['mean'])} means for {x.shape[1]} columns"]
    allowed = np.where(constant, 1e-6 * np.abs(means), 2e-5 * spans + 1e-15 * np.abs(means))
    if (np.abs(np.array(found["mean"]) - means) > allowed).any():
        faults.append(f"means {found['mean']}, numpy {means}")
    if not np.allclose(found["scale"], scales, rtol=2e-5, atol=0):
        faults.append(f"deviations {found['scale']}, numpy {scales}")
    other = np.array(table["data"]["normalization"]["scale"])
    coarse = spans < 1e-11 * np.abs(means)  # sums of a table in double lose their digits
    if not np.allclose(np.where(coarse, 1, found["scale"]), np.where(coarse, 1, other), rtol=2e-5, atol=0):
        faults.append(f"deviations {found['scale']}, as CSV {list(other)}")
    return [f"{fault}: {x.dtype}" for fault in faults]


def boolean_cells(rng, rows):
    """Returns cells of true and false in one or several spellings, sometimes with another word."""
    words = [["True", "TRUE", "true"], ["False", "FALSE", "false"]]
    spellings = [list(rng.choice(kind, int(rng.integers(1, 4)), replace=False)) for kind in words]
    if rng.random() < 0.2:
        spellings[0].append(str(rng.choice(["yes", "T", "1"])))
    cells = [str(rng.choice(spellings[rng.integers(2)])) for _ in range(rows)]
    cells[:2] = [str(spellings[0][0]), str(spellings[1][0])]
    return cells


def values_of(cells):
    """Returns the different values that pandas reads, with booleans as texts."""
    column = pd.read_csv(io.StringIO("b\n" + "\n".join(cells) + "\n"), skip_blank_lines=False)["b"]
    return sorted({str(v) for v in column.dropna()})


def check_booleans(lanista, rng):
    rows = int(rng.integers(40, 120))
    cells, target = boolean_cells(rng, rows), boolean_cells(rng, rows)
    if rng.random() < 0.4:
        for row in np.flatnonzero(rng.random(rows) < 0.1)[2:]:
            cells[row] = "NA"
    lines = [f"{rng.normal():.4f},{a},{b}" for a, b in zip(cells, target)]
    (Path(lanista.folder) / "t.csv").write_text("x,b,y\n" + "\n".join(lines) + "\n")
    report, error = lanista.check("csv:t.csv")
    if report is None:
        return [error]
    faults = []
    column = report["data"]["schema"]["columns"][1]
    classes = report["data"]["labels"]
    for what, names, raw in [("categories", column["categories"], cells), ("classes", classes, target)]:
        expected = values_of(raw)
        written = sorted(set(raw) - {"NA"})
        one_spelling = len({word.lower() for word in written}) == len(written)
        right = written if one_spelling else expected
        if what == "categories":  # those of the training rows, all of which a rare spelling need not have
            right = [name for name in right if name in names] if set(names) <= set(right) else right
        if names != right:
            faults.append(f"{what} {names}, expected {right} of {written}")
        if what == "categories" and column["unique"] != len(written if one_spelling else expected):
            faults.append(f"{column['unique']} different, expected {expected}")
    return faults


def check_separators(lanista, rng):
    rows = int(rng.integers(30, 90))
    cells = [[f"{v:.3f}" for v in rng.normal(0, 3, rows)], [str(v) for v in rng.integers(0, 9, rows)],
             [str(v) for v in rng.choice(["low", "high"], rows)]]
    header = [str(w) for w in rng.choice(["area", "price", "x1", "beds", "kind"], 3, replace=False)]
    lines = [header, *zip(*cells)]
    folder = Path(lanista.folder)
    (folder / "t.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    kind = rng.integers(5)
    separator = ["|", ";", "\t", " ", ":"][kind]
    first, option = "", ""
    if kind == 3:
        option = "?sep=space"
        text = "\n".join(" " * int(rng.integers(3)) + (" " * int(rng.integers(1, 4))).join(line) for line in lines)
    else:
        text = "\n".join(separator.join(line) for line in lines)
    if kind == 4 or (kind < 3 and rng.random() < 0.4):
        first = str(rng.choice(["sep={}\n", "\"sep={}\"\r\n", "sep={}\r\n"])).format(separator)
    (folder / "s.csv").write_bytes((first + text + "\n").encode())
    report, error = lanista.check("csv:t.csv")
    other, other_error = lanista.check("csv:s.csv" + option)
    if report is None or other is None:
        return [f"{error}{other_error} with {first!r} and {separator!r}"]
    same = report["data"]["hash"] == other["data"]["hash"]
    return [] if same else [f"another hash with {first!r} and {separator!r}"]


def check_names(lanista, rng):
    parts = ["a", "b", "&", ",", "%", "=", "?", "%26", "%2C", "ü", " ", "+", ":", "0", "#"]
    names = set()
    while len(names) < 6:
        name = "".join(rng.choice(parts, int(rng.integers(1, 5)))).strip()
        if name and not name.isdigit():
            names.add(name)
    names = sorted(names)
    # A name that exists as it is written comes first, so no name is the code of another.
    names = [name for name in names if not any(name in (urllib.parse.quote(other, safe=""), urllib.parse.unquote(other))
                                               for other in names if other != name)]
    frame = pd.DataFrame({name: rng.normal(0, 1, 40).round(3) for name in names})
    frame["target"] = rng.choice(["no", "yes"], 40)
    file = "f" + "".join(rng.choice(["&", "?", "=", "%3F", ",", " ", "x"], 4)) + ".csv"
    frame.to_csv(Path(lanista.folder) / file, index=False)
    dropped = [str(name) for name in rng.choice(names, int(rng.integers(1, len(names))), replace=False)]
    quoted = ",".join(urllib.parse.quote(name, safe="") for name in dropped)
    source = f"csv:{urllib.parse.quote(file)}?header=yes&target=target&drop={quoted}"
    report, error = lanista.check(source)
    (Path(lanista.folder) / file).unlink()
    if report is None:
        return [f"{error}: {source} of {names}"]
    kept = [column["name"] for column in report["data"]["schema"]["columns"]]
    expected = [name for name in names if name not in dropped]
    return [] if kept == expected else [f"columns {kept}, expected {expected}: {source}"]


def check_indices(lanista, rng):
    rows = int(rng.integers(25, 90))
    frame = pd.DataFrame({"x": rng.normal(0, 1, rows).round(3), "n": rng.integers(0, 50, rows),
                          "y": rng.choice(["a", "b"], rows)})
    kind = rng.integers(4)
    if kind == 1:
        frame = frame.sample(frac=1, random_state=int(rng.integers(1000)))
    if kind == 2:
        frame.index = frame.index + 1
    name = str(rng.choice(INDEX_NAMES)) if kind < 3 else None
    if name == "Unnamed: 0":  # written twice
        frame = pd.read_csv(io.StringIO(frame.to_csv()))
        frame.to_csv(Path(lanista.folder) / "t.csv", index=False)
    else:
        frame.to_csv(Path(lanista.folder) / "t.csv", index=name is not None, index_label=name)
    report, error = lanista.check("csv:t.csv?header=yes")
    if report is None:
        return [error]
    option = {"": "drop=0 ", None: "none"}.get(name, f"drop={name} ")
    warned = [warning for warning in report["warnings"] if "as the index that pandas writes" in warning]
    right = len(warned) == 1 and option in warned[0] if name is not None else not warned
    return [] if right else [f"warnings {warned} of an index called {name!r}, kind {kind}"]


def main():
    program, count = str(Path(sys.argv[1]).resolve()), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    checks = [check_arrays, check_booleans, check_separators, check_names, check_indices]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        lanista = Lanista(program, folder)
        for number, check in enumerate(checks):
            for i in range(count):
                found = check(lanista, np.random.default_rng([seed, number, i]))
                faults += [f"{check.__name__} {i}: {fault}" for fault in found]
    for fault in faults[:20]:
        print("FAILED:", fault[:600])
    print(f"{count} tables of each of {len(checks)} forms; {len(faults)} differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
