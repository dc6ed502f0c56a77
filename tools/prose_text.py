"""Splits a tracked file into the parts that tools/prose.py measures: prose, strings, names and lines."""
import bisect
import re

# Kinds of parts. Only sentences of PROSE count for the median and the 90th percentile of their file.
PROSE, CELL, STRING, NAME = "prose", "cell", "string", "name"


class Part:
    """A piece of text of one kind. `spans` is a list of (offset in text, line number)."""

    def __init__(self, kind, text, spans):
        self.kind, self.text, self.spans = kind, text, spans

    def line_at(self, offset):
        at = bisect.bisect_right(self.spans, (offset, 1 << 60)) - 1
        return self.spans[max(at, 0)][1]


def joined(kind, lines):
    """One part of several (line number, text) rows, joined by spaces."""
    out, spans, length = [], [], 0
    for number, text in lines:
        text = text.strip()
        spans.append((length, number))
        out.append(text)
        length += len(text) + 1
    return Part(kind, " ".join(out), spans)


_ITEM = re.compile(r"\s*(?:[-*>•]|\d+[.)]|#+|[@\\][a-z]+\b)\s")
_FENCE = re.compile(r"\s*(```|~~~)")


def paragraphs(lines, markdown=False):
    """Parts of prose: paragraphs, list items, headings and cells of tables. Code in fences or indented is a string."""
    parts, block, fenced = [], [], False

    def close():
        if block:
            parts.append(joined(PROSE, block))
            block.clear()

    after_blank = True
    for number, text in lines:
        stripped = text.strip()
        if _FENCE.match(text):
            close()
            fenced = not fenced
        elif fenced:
            parts.append(Part(STRING, text, [(0, number)]))
        elif not stripped or set(stripped) <= set("-=*_#/"):
            close()
        elif text.startswith("    ") and not block and after_blank and not _ITEM.match(text):
            parts.append(Part(STRING, text, [(0, number)]))
            continue
        elif stripped.startswith("|") or (not markdown and stripped.count(" | ") >= 2):
            close()
            for cell in stripped.strip("|").split(" | "):
                parts.append(joined(CELL, [(number, cell)]))
        else:
            if _ITEM.match(text):
                close()
                text = _ITEM.sub("", text, count=1)
            if text.strip():
                block.append((number, text))
            if stripped.startswith("#") and markdown:
                close()
        after_blank = not stripped
    close()
    return parts


def comment_blocks(comments):
    """Groups comments of neighbouring lines. `comments` has (line, text), sorted by line.

    Trailing comments of neighbouring lines are one text too: long ones need a full stop each.
    """
    blocks, last = [], None
    for line, text in comments:
        if last is not None and line <= last + 1:
            blocks[-1].append((line, text))
        else:
            blocks.append([(line, text)])
        last = line
    return blocks


_CPP = re.compile(
    r"""^[ \t]*\#[ \t]*include[^\n]*"""
    r"""|(?P<line>//[^\n]*)"""
    r"""|(?P<block>/\*.*?\*/)"""
    r"""|(?:u8|[uUL])?R"(?P<d>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=d)\""""
    r"""|"(?P<str>(?:[^"\\\n]|\\.)*)\""""
    r"""|'(?:[^'\\\n]|\\.[^'\n]*)'"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    r"""|\d[\w']*""",
    re.S | re.M,
)
_JS = re.compile(
    r"""(?P<line>//[^\n]*)"""
    r"""|(?P<block>/\*.*?\*/)"""
    r"""|(?<=[(,=:\[!&|?{};])[ ]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/\w*"""
    r"""|"(?P<str>(?:[^"\\\n]|\\.)*)\""""
    r"""|'(?P<single>(?:[^'\\\n]|\\.)*)'"""
    r"""|`(?P<raw>(?:[^`\\]|\\.)*)`"""
    r"""|(?P<name>[A-Za-z_$][\w$]*)"""
    r"""|\d\w*""",
    re.S | re.M,
)
_PY = re.compile(
    r"""(?P<line>\#[^\n]*)"""
    r"""|(?P<doc>(?:^|(?<=\n))[ \t]*[rR]?(?:\"\"\".*?\"\"\"|'''.*?'''))"""
    r"""|[rRbBuUfF]{0,2}(?:\"\"\"(?P<raw>.*?)\"\"\"|'''(?P<raw2>.*?)''')"""
    r"""|[rRbBuUfF]{0,2}"(?P<str>(?:[^"\\\n]|\\.)*)\""""
    r"""|[rRbBuUfF]{0,2}'(?P<single>(?:[^'\\\n]|\\.)*)'"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    r"""|\d\w*""",
    re.S | re.M,
)
_HASH = re.compile(
    r"""(?P<line>(?:^|(?<=\s))\#[^\n]*)"""
    r"""|\\."""
    r"""|"(?P<str>(?:[^"\\]|\\.)*)\""""
    r"""|'(?P<single>[^']*)'"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    r"""|\d\w*""",
    re.S | re.M,
)
_YAML = re.compile(
    r"""(?P<line>(?:^|(?<=\s))\#[^\n]*)"""
    r"""|(?:(?<=[\s\[{:,])|^)"(?P<str>(?:[^"\\\n]|\\.)*)\""""
    r"""|(?:(?<=[\s\[{:,])|^)'(?P<single>[^'\n]*)'"""
    r"""|(?P<name>[A-Za-z_]\w*)"""
    r"""|\d\w*""",
    re.S | re.M,
)
_JSON = re.compile(r'"(?P<str>(?:[^"\\\n]|\\.)*)"')
_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)")
_SHEBANG = re.compile(r"#!.*")


def language(path):
    """The reader of a file by its name, or None for a file without text."""
    name = path.rsplit("/", 1)[-1]
    for ends, kind in (
        ((".md",), "markdown"),
        ((".h", ".hpp", ".cpp", ".cc", ".c", ".inc", ".cu", ".h.in", ".cpp.in"), "cpp"),
        ((".js", ".css"), "js"),
        ((".py",), "python"),
        ((".yaml", ".yml"), "yaml"),
        ((".json", ".jsonl"), "json"),
        ((".html", ".svg"), "html"),
        ((".sh", ".cmake", ".toml", ".cfg", ".dict"), "hash"),
    ):
        if name.endswith(ends):
            return kind
    if name == "CMakeLists.txt":
        return "hash"
    if name.endswith(".txt"):
        return "plain"
    if name.startswith(".") or "." not in name:
        return "hash"
    return None


def _code(regex, source):
    """Parts of a program: comments, strings and each distinct name."""
    starts = [0] + [m.end() for m in re.finditer(r"\n", source)]

    def line_of(offset):
        return bisect.bisect_right(starts, offset)

    parts, comments, docs, names, last_string = [], [], [], {}, None
    for m in regex.finditer(source):
        kind = m.lastgroup
        if kind == "d":
            kind = "raw"
        if kind is None:
            continue
        begin = m.start()
        if kind == "name":
            names.setdefault(m.group(), begin)
            last_string = None
            continue
        line = line_of(begin)
        if kind == "line":
            text = m.group("line")
            if _SHEBANG.match(text):
                continue
            text = re.sub(r"^(?://[/!]?<?|#+)", "", text)
            comments.append((line, text[1:] if text[:1] == " " else text))
        elif kind in ("block", "doc"):
            text = m.group(kind)
            rows = []
            for i, row in enumerate(text.split("\n")):
                row = re.sub(r"^\s*(?:/\*+!?|\*+/|\*)?", "", row) if kind == "block" else row
                rows.append((line + i, row.replace("*/", "").replace('"""', "").replace("'''", "")))
            if kind == "doc":
                indent = min((len(r) - len(r.lstrip()) for _, r in rows[1:] if r.strip()), default=0)
                rows = [rows[0][:1] + (rows[0][1].strip(),)] + [(n, r[indent:]) for n, r in rows[1:]]
            docs.append(rows)
        else:
            text = m.group(kind)
            if "\n" in text:
                rows = [(line + i, row) for i, row in enumerate(text.split("\n"))]
                parts += [Part(STRING, row, [(0, number)]) for number, row in rows if row.strip()]
                last_string = None
                continue
            text = _ESCAPE.sub("  ", text) if "\\" in text else text
            # Neighbouring literals are one text.
            if last_string is not None and not source[last_string[1] : begin].strip():
                part = last_string[0]
                part.spans.append((len(part.text), line))
                part.text += text
                last_string = (part, m.end())
            else:
                part = Part(STRING, text, [(0, line)])
                parts.append(part)
                last_string = (part, m.end())
    for block in comment_blocks(comments):
        parts += paragraphs(block)
    for rows in docs:
        parts += paragraphs(rows)
    parts += [Part(NAME, name, [(0, line_of(at))]) for name, at in names.items()]
    return parts


def _plain(source):
    """A text file: paragraphs of comments, and each other line by itself."""
    parts, block = [], []
    for number, line in enumerate(source.split("\n"), 1):
        if line.startswith("#"):
            block.append((number, line.lstrip("# ")))
            continue
        parts += paragraphs(block)
        block = []
        if line.strip():
            parts.append(Part(STRING, line, [(0, number)]))
    return parts + paragraphs(block)


def _html(source):
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", lambda m: re.sub(r"[^\n]", " ", m.group()), source, flags=re.S)
    return paragraphs(list(enumerate(text.split("\n"), 1)))


_CODE = {"cpp": _CPP, "js": _JS, "python": _PY, "hash": _HASH, "yaml": _YAML, "json": _JSON}


def parts_of(path, source):
    """All parts of a file."""
    kind = language(path)
    if kind == "markdown":
        return paragraphs(list(enumerate(source.split("\n"), 1)), markdown=True)
    if kind == "plain":
        return _plain(source)
    if kind == "html":
        return _html(source)
    return _code(_CODE[kind], source)


def test_names(source):
    """(line, name) of each test in a C++ source."""
    return [(source.count("\n", 0, m.start(2)) + 1, m.group(2)) for m in _TEST.finditer(source)]


def wide_lines(path, source, limit):
    """(line, width) of lines that are too wide. In Markdown tables and links may be wider."""
    markdown = path.endswith(".md")
    for number, line in enumerate(source.split("\n"), 1):
        if len(line) > limit:
            if markdown and (line.lstrip(" >").startswith("|") or "](" in line or "://" in line):
                continue
            yield number, len(line)


_SPAN = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"\w+://\S+")
# A full stop in bold or in brackets does not end a sentence: the text around it continues.
_END = re.compile(r"[.!?:]\s+(?=[A-Z`(\"'*])|[.!?]\s*$")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|al|approx|resp|Fig|Eq|Sec|Tab|No|Ch|pp|p)|\b[A-Z])$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*|\d[\d.,]*")


def _blank(m, text):
    return text + " " * (len(m.group()) - len(text))


def sentences(text):
    """(offset, number of words) of each sentence. A code span is one word."""
    text = _SPAN.sub(lambda m: _blank(m, "X"), text)
    text = _LINK.sub(lambda m: _blank(m, m.group(1)), text)
    text = _URL.sub(lambda m: _blank(m, "X"), text)
    begin, out = 0, []
    ends = [m for m in _END.finditer(text) if text[m.start()] != "." or not _ABBREVIATION.search(text, 0, m.start())]
    for end in [m.end() for m in ends] + [len(text)]:
        words = _WORD.findall(text, begin, end)
        if len(words) >= 3:
            offset = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
            out.append((offset, len(words)))
        begin = end
    return out


def name_words(name):
    """A name as separate words: `wallSeconds_total` is "wall Seconds total"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).replace("_", " ")
