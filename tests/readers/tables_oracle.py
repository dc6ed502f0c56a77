"""Compares how tables and label files are read with pandas and numpy: tables_oracle.py LANISTA COUNT [SEED]

COUNT random CSV files, and a third as many of arrays and of times, are read by `lanista data check --json`. Kinds of
columns, missing cells, ranges, classes and their rows, dropped rows and the order of times must be those of pandas and
numpy. Whether a file has a header is known from the generator. A wrong reading counts as right if a warning names
header=.
"""
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import numpy as np
    import pandas as pd
except ImportError as error:
    print("skipped: pandas or numpy is not installed:", error)
    sys.exit(77)

# Later versions of pandas read numbers exactly without this option, and warn of it.
warnings.filterwarnings("ignore", message=".*float_precision.*")

WORDS = ["area", "price", "Sepal length", "x1", "col_2", "beds", "Größe", "y", "target", "label", "weight (kg)", "A",
         "zip", "height", "t.max", "is_new", "feature", "score"]
MISSING = ["", "NA", "nan", "NaN", "null", "NULL", "N/A", "n/a", "None", "<NA>", "#N/A", "?"]
FEW_VALUES = 20


class Lanista:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def check(self, source):
        """Returns the report of `data check`, or the text of the error."""
        done = subprocess.run([self.program, "data", "check", source, "--json"], cwd=self.folder,
                              capture_output=True, text=True)
        return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr)

    def rows(self, source, part):
        done = subprocess.run([self.program, "data", "rows", source, "--part", part], cwd=self.folder,
                              capture_output=True, text=True)
        return [int(line) for line in done.stdout.split()] if done.returncode == 0 else done.stderr


def number_column(rng, rows):
    kind = rng.integers(6)
    if kind == 0:
        return [str(v) for v in rng.integers(0, rng.integers(2, 400), rows)]
    if kind == 1:
        return [repr(float(v)) for v in rng.normal(0, 10 ** rng.uniform(-2, 4), rows).round(int(rng.integers(2, 6)))]
    if kind == 2:
        return [f"{v:.3f}" for v in rng.normal(0, 1, rows)]
    if kind == 3:
        return [f"{v:.4e}" for v in rng.normal(0, 1e-5, rows)]
    if kind == 4:
        return [f"{v:.1f}" for v in rng.integers(-5, 50, rows)]
    return [repr(float(v)) for v in rng.uniform(0, 1, rows)]


def text_column(rng, rows):
    kind = rng.integers(3)
    if kind == 0:
        words = list(rng.choice(["red", "green", "blue", "no", "yes", "EU", "AS", "low", "high"], 4, replace=False))
        return [str(v) for v in rng.choice(words[: rng.integers(2, 5)], rows)]
    if kind == 1:
        return [f"{v}-{rng.choice(['a', 'b'])}" for v in rng.choice(["north", "south", "east"], rows)]
    return [f"q{v}" for v in rng.integers(1, 9, rows)]


def target_column(rng, rows):
    kind = rng.integers(7)
    if kind == 0:
        return text_column(rng, rows)
    if kind == 1:
        return number_column(rng, rows)
    few = int(rng.integers(2, 6))
    if kind == 2:
        return [str(v) for v in rng.integers(0, few, rows)]
    if kind == 3:
        return [str(v) + rng.choice(["", ".0", ".00"]) for v in rng.integers(0, few, rows)]
    if kind == 4:
        values = [v % 25 for v in range(rows)]
        rng.shuffle(values)
        return [str(v) for v in values]
    if kind == 5:
        return [str(v) for v in rng.integers(-500, 50000, rows)]
    return [str(v) for v in rng.choice([-1, 1], rows)]


def header_of(rng, columns):
    """Returns names, which a data frame may have."""
    kind = rng.integers(7)
    words = [str(w) for w in rng.choice(WORDS, columns, replace=False)]
    if kind == 0:
        return [str(c) for c in range(columns - 1)] + [words[0]]
    if kind == 1:
        first = int(rng.integers(1990, 2020))
        return [str(first + c) for c in range(columns - 1)] + [words[0]]
    if kind == 2:
        words[0] = str(rng.choice(["nan", "inf", "1e3", "NA", "Infinity"]))
    if kind == 3:
        words[0] = ""
    if kind == 4:
        return [f"20{10 + c}-0{1 + c % 9}" for c in range(columns - 1)] + [words[0]]
    if kind == 5:
        words[int(rng.integers(columns))] = str(rng.integers(0, 1000))
    return words


def make_table(rng):
    rows, columns = int(rng.integers(30, 200)), int(rng.integers(2, 9))
    cells = [(number_column if rng.random() < 0.75 else text_column)(rng, rows) for _ in range(columns - 1)]
    options = {}
    for column in cells:
        if rng.random() < 0.25:
            for row in np.flatnonzero(rng.random(rows) < 0.1):
                column[row] = str(rng.choice(MISSING))
        if rng.random() < 0.15:
            for row in np.flatnonzero(rng.random(rows) < 0.1):
                column[row] = rng.choice(["-999", "-999.0", "-999.00"])
            options["missing"] = "-999"
        if rng.random() < 0.1:
            column[:] = [f"{text}{rng.choice([' ', chr(9), ''])}" for text in column]
    target = target_column(rng, rows)
    if rng.random() < 0.3:
        spelling = str(rng.choice(["NA", "None", "", "nan"]))
        for row in np.flatnonzero(rng.random(rows) < 0.2):
            target[row] = spelling
        if spelling and rng.random() < 0.5:
            options["keep_na"] = str(rng.choice(["yes", spelling]))
    cells.append(target)
    header = header_of(rng, columns) if rng.random() < 0.6 else None
    lines = ([",".join(header)] if header else []) + [",".join(row) for row in zip(*cells)]
    return header, cells, options, "\n".join(lines) + "\n"


def as_pandas(text, header, options):
    missing = ["?"] + ([-999] if "missing" in options else [])
    frame = pd.read_csv(text, header=0 if header else None, na_values=missing, float_precision="round_trip",
                        index_col=False)
    for name in frame.columns:
        if frame[name].dtype.kind in "if":
            if "missing" in options:  # pandas keeps "-999 " in some columns of numbers
                frame[name] = frame[name].mask(frame[name] == -999)
        else:
            frame[name] = frame[name].str.strip(" \t")
            frame.loc[frame[name].isin(MISSING), name] = np.nan
            numbers = pd.to_numeric(frame[name], errors="coerce")
            if "missing" in options:  # in a column of texts pandas knows -999 and -999.0 only, not -999.00
                frame.loc[numbers == -999, name] = np.nan
                numbers = numbers.mask(numbers == -999)
            if (numbers.isna() == frame[name].isna()).all():
                frame[name] = numbers
    return frame


def classes_by_rule(values):
    """Returns whether whole numbers are classes, by the stated rule."""
    different = np.unique(values)
    gapless = different[0] == 0 and different[-1] == len(different) - 1
    return len(different) <= FEW_VALUES or (gapless and len(values) >= 2 * len(different))


def same_class(name, value):
    return name == value if isinstance(value, str) else float(name) == float(value)


def check_classes(report, values, faults):
    """Compares classes and their rows with those of `values`."""
    different, counts = np.unique(values, return_counts=True)
    names = report["data"]["labels"]
    if len(names) != len(different) or not all(map(same_class, names, different)):
        faults.append(f"classes {names}, expected {list(different)}")
    elif [sum(parts) for parts in report["class_rows"]] != list(counts):
        faults.append(f"rows of classes {report['class_rows']}, expected {list(counts)}")


def check_target(report, error, column, raw, options, faults):
    """Compares the target of a table."""
    column = column.copy()
    if "keep_na" in options and column.dtype.kind not in "if":
        kept = [text.strip(" \t") for text in raw]
        column = pd.Series([kept[i] if kept[i] and pd.isna(v) and kept[i] != "-999" else v
                            for i, v in enumerate(column)]).replace("", np.nan)
    present = column.dropna()
    numeric = column.dtype.kind in "if"
    if present.nunique() < 2 and (not numeric or (present % 1 == 0).all()):
        dropped = len(column) - len(present)
        if "at least two classes" not in error or (dropped and f"{dropped} of {len(column)}" not in error):
            faults.append(f"error {error!r} of a target of one class, {dropped} dropped")
        return
    if report is None:
        faults.append(f"error {error!r}")
        return
    if report["data"]["rows"] != len(present):
        faults.append(f"{report['data']['rows']} rows, expected {len(present)}")
        return
    if len(present) < len(column):
        counted = any(re.match(f"{len(column) - len(present)} of {len(column)} rows? ", w) for w in report["warnings"])
        if not counted:
            faults.append("dropped rows are not counted")
    whole = numeric and (present % 1 == 0).all()
    if not numeric or (whole and classes_by_rule(present.to_numpy())):
        check_classes(report, present.to_numpy() if numeric else present.to_numpy(dtype=str), faults)
    elif report["data"]["classes"] != 0:
        faults.append("numbers became classes")
    else:
        low, high = np.float32(present.min()), np.float32(present.max())
        if not np.isclose([report["target_min"], report["target_max"]], [low, high], rtol=1e-6, atol=0).all():
            faults.append(f"target from {report['target_min']} to {report['target_max']}, expected {low} to {high}")


def check_table(lanista, rng):
    header, cells, options, text = make_table(rng)
    path = Path(lanista.folder) / "t.csv"
    path.write_text(text)
    source = "csv:t.csv" + "".join(("?" if i == 0 else "&") + f"{k}={v}" for i, (k, v) in enumerate(options.items()))
    report, error = lanista.check(source)
    faults = []
    doubtful = False
    if report is not None:
        found = report["decisions"]["header"] == "first line"
        doubtful = any("header=" in warning for warning in report["warnings"])
        if found != bool(header):
            if doubtful:
                return [], "wrong, warned"
            return [f"header {found}, expected {bool(header)}: {text.splitlines()[:3]}"], "wrong"
    elif "header=" in error:
        return [], "wrong, warned"
    frame = as_pandas(path, header, options)
    check_target(report, error, frame.iloc[:, -1], cells[-1], options, faults)
    if report is None or faults:
        return [f"{fault}: {source} {text.splitlines()[:3]}" for fault in faults], "doubtful" if doubtful else "right"
    target = frame.iloc[:, -1]
    kept = target.notna().to_numpy().copy()
    if "keep_na" in options and report["data"]["rows"] == len(frame):
        kept[:] = True
    elif "keep_na" in options and target.dtype.kind not in "if":
        kept = np.array([bool(text.strip(" \t")) and text.strip(" \t") != "-999" for text in cells[-1]])
    for c, column in enumerate(report["data"]["schema"]["columns"]):
        seen = frame.iloc[:, c][kept]
        texts = pd.Series([cell.strip(" \t") for cell in cells[c]])[kept]
        numeric = seen.dtype.kind in "if"
        if (column["kind"] == "number") != numeric:
            faults.append(f"column {c} is {column['kind']}, pandas has {seen.dtype}")
            continue
        keeps = "keep_na" in options and not numeric
        listed = MISSING[1:] if options.get("keep_na") == "yes" else [options.get("keep_na")]
        missing = int((seen.isna() & ~(texts.isin(listed) & keeps)).sum())
        if column["missing"] != missing:
            faults.append(f"column {c} lacks {column['missing']} cells, expected {missing}")
        if numeric and seen.notna().any() and (column["min"], column["max"]) != (seen.min(), seen.max()):
            faults.append(f"column {c} from {column['min']} to {column['max']}, pandas {seen.min()} to {seen.max()}")
    return [f"{fault}: {source} {text.splitlines()[:3]}" for fault in faults], "doubtful" if doubtful else "right"


def make_labels(rng, rows):
    """Returns an array of labels or numbers, and what it is."""
    kind = rng.integers(8)
    few = int(rng.integers(2, 7))
    types = [np.uint8, np.int32, np.int64, np.float32, np.float64]
    dtype = types[rng.integers(len(types))]
    if kind == 0:
        return rng.integers(0, few, rows).astype(dtype)
    if kind == 1:
        values = np.arange(rows) % int(rng.integers(21, rows // 2))
        rng.shuffle(values)
        return values.astype(np.int64 if dtype == np.uint8 else dtype)
    if kind == 2:
        return rng.integers(0, 50_000, rows).astype([np.int32, np.int64, np.float64][rng.integers(3)])
    if kind == 3:
        return rng.integers(-600, 600, rows).astype([np.int32, np.int64, np.float32][rng.integers(3)])
    if kind == 4:
        hot = np.zeros((rows, few))
        hot[np.arange(rows), rng.integers(0, few, rows)] = 1
        return hot.astype(dtype)
    if kind == 5:
        return (rng.random((rows, few)) < 0.4).astype(dtype)
    if kind == 6:
        return rng.normal(0, 5, (rows, few) if rng.random() < 0.5 else rows).astype(np.float32)
    values = rng.choice([-1, 1, 7], rows).astype(np.int64 if dtype == np.uint8 else dtype)
    return values[:, None] if rng.random() < 0.5 else values


def check_labels(lanista, rng):
    rows = int(rng.integers(60, 300))
    y = make_labels(rng, rows)
    x = rng.normal(0, 1, (rows, 3)).astype(np.float32)
    folder = Path(lanista.folder)
    if rng.random() < 0.5:
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", y)
        source = "npy:x.npy,y.npy"
    else:
        np.savez(folder / "a.npz", x=x, y=y)
        source = "npz:a.npz"
    report, error = lanista.check(source)
    what = f"{source} of {y.dtype} {y.shape}, {y.ravel()[:8]}"
    if report is None:
        return [f"{error}: {what}"]
    faults = []
    columns = y.reshape(rows, -1)
    whole = bool((columns % 1 == 0).all())
    labels = bool(np.isin(columns, [0, 1]).all()) and columns.shape[1] > 1
    one_hot = labels and bool((columns.sum(axis=1) == 1).all())
    data = report["data"]
    if one_hot:
        rows_of_class = [sum(parts) for parts in report["class_rows"]]
        if data["classes"] != columns.shape[1] or rows_of_class != list(columns.sum(axis=0).astype(int)):
            faults.append(f"{data['classes']} classes with the rows {rows_of_class}")
    elif columns.shape[1] == 1 and whole and classes_by_rule(columns.ravel()):
        check_classes(report, columns.ravel(), faults)
    else:
        if data["classes"] != 0 or data.get("multilabel", False) != labels or data["target_size"] != columns.shape[1]:
            faults.append(f"{data['classes']} classes, labels {data.get('multilabel')}, {data['target_size']} targets")
        if [report["target_min"], report["target_max"]] != [np.float32(columns.min()), np.float32(columns.max())]:
            faults.append(f"targets from {report['target_min']} to {report['target_max']}")
    if (one_hot or labels or (columns.shape[1] == 1 and whole)) and "task=" not in report["decisions"]["target"]:
        faults.append("the decision does not name task=")
    return [f"{fault}: {what}" for fault in faults]


def check_times(lanista, rng):
    rows = int(rng.integers(40, 120))
    step = int(rng.choice([1, 1000, 1_000_000, 1_000_000_000, 600_000_000_000]))
    offsets = [f"{s}{h:02}:{m:02}" for s in "+-" for h in (0, 3, 12) for m in (0, 30)]
    start = 1_700_000_000_000_000_000 + int(rng.integers(10 ** 15))
    texts = []
    zones = rng.random() < 0.6
    for at in rng.permutation(rows):
        time = pd.Timestamp(start + int(at) * step, tz="UTC")
        offset = str(rng.choice(offsets)) if zones else ""
        shift = pd.Timedelta(0)
        if offset:
            shift = pd.Timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6])) * (1 if offset[0] == "+" else -1)
        local = (time + shift).tz_localize(None)
        texts.append(local.isoformat(timespec="nanoseconds") + offset)
    frame = pd.DataFrame({"when": texts, "x": rng.normal(0, 1, rows).round(4), "y": rng.choice(["a", "b"], rows)})
    frame.to_csv(Path(lanista.folder) / "t.csv", index=False)
    seen = lanista.rows("csv:t.csv?order=when&target=y", "train")
    times = pd.to_datetime(frame["when"], utc=True, format="ISO8601")
    if isinstance(seen, str):
        return [f"{seen}: {texts[:2]}"]
    first = sorted(np.argsort(times.to_numpy(), kind="stable")[: len(seen)].tolist())
    return [] if seen == first else [f"training has {seen[:5]}, expected {first[:5]}: {texts[:2]}"]


def main():
    program, count = str(Path(sys.argv[1]).resolve()), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    faults = []
    headers = {}
    with tempfile.TemporaryDirectory() as folder:
        lanista = Lanista(program, folder)
        for i in range(count):
            found, header = check_table(lanista, np.random.default_rng([seed, 0, i]))
            headers[header] = headers.get(header, 0) + 1
            faults += [f"table {i}: {fault}" for fault in found]
        for i in range(count // 3):
            faults += [f"labels {i}: {fault}" for fault in check_labels(lanista, np.random.default_rng([seed, 1, i]))]
            faults += [f"times {i}: {fault}" for fault in check_times(lanista, np.random.default_rng([seed, 2, i]))]
    for fault in faults[:20]:
        print("FAILED:", fault[:400])
    print(f"{count} tables, {count // 3} label files and {count // 3} columns of times; headers: {headers}; "
          f"{len(faults)} differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
