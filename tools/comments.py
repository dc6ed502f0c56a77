#!/usr/bin/env python3
"""Lists public declarations without a comment of their own.

usage:

    comments.py [--fields] [PATH...]   each one as path:line: name, and a count for each module
    comments.py --check                fails where a header has more of them than its row in comment_limits.txt
    comments.py --tighten              lowers the rows to what is found; a row follows its moved file
    comments.py --begin REASON         writes comment_limits.txt, if there is none

Public declarations are types and functions of namespaces in headers of src, and public functions and types of classes.
A comment is the declaration's own if it ends on the line above, or is on a line of the declaration. Right below another
declaration, one without a comment shares the comment above that one. An overload may share it.

Not listed are trivial forms: operators, destructors, overrides, constructors of at most one parameter, defaulted and
deleted functions, getters with their body on one line, and functions of containers (size, begin). --fields lists public
fields and constants too. Tests are left out, and namespaces that are named detail or internal.
"""
import argparse
import collections
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ratchet  # noqa: E402

MARKS = r"::|->|\[\[|\]\]|<=>|<<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||[^\s]"
TOKEN = re.compile(
    r"""(?P<preprocessor>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>(?:u8|[uUL])?R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w'.]*)"""
    rf"""|(?P<mark>{MARKS})""",
    re.S | re.M,
)
CONTAINER = {"size", "empty", "begin", "end", "clear", "data", "front", "back", "swap", "get", "reset"}
OPEN, CLOSE = {"(": ")", "{": "}", "[": "]", "[[": "]]"}, {")", "}", "]", "]]"}


class Token:
    def __init__(self, kind, text, line, last):
        self.kind, self.text, self.line, self.last = kind, text, line, last


def tokens_of(source):
    """Tokens of code, the texts of lines that have a comment alone, and the lines that have a comment."""
    code, own_lines, commented = [], {}, set()
    line, at, brackets = 1, 0, []
    for m in TOKEN.finditer(source):
        line += source.count("\n", at, m.start())
        at = m.start()
        kind = m.lastgroup if m.lastgroup != "d" else "string"
        last = line + m.group().count("\n")
        if kind == "comment":
            commented.update(range(line, last + 1))
            if not source[source.rfind("\n", 0, m.start()) + 1 : m.start()].strip():
                own_lines.update((line + i, row) for i, row in enumerate(m.group().split("\n")))
        elif kind != "preprocessor":
            # `]]` ends an attribute, or it is two brackets: a[b[i]].
            text = m.group()
            brackets += [text] if text in ("[", "[[") else []
            for part in ("]", "]") if text == "]]" and brackets[-1:] == ["["] else (text,):
                code.append(Token(kind, part, line, last))
                if part in ("]", "]]") and brackets:
                    brackets.pop()
    return code, own_lines, commented


class Declaration:
    def __init__(self, kind, name, scope, first, last):
        self.kind, self.name, self.scope, self.first, self.last = kind, name, scope, first, last
        self.trivial = False

    def full_name(self):
        return "::".join(self.scope + [self.name])


class Reader:
    """Reads the declarations of a header. It knows braces, brackets and templates, and no more of the language."""

    def __init__(self, source):
        self.code, self.own_lines, self.commented = tokens_of(source)
        self.at, self.found = 0, []

    def refers_to_neighbour(self, line):
        """Whether the comment above a line has no subject of its own: "The inverse." """
        begin = line - 1
        while begin - 1 in self.own_lines:
            begin -= 1
        return re.match(r"\s*/[/*!<]*\s*(?:The inverse(?! of)|Its inverse|The same|Likewise|Ditto|As above|Also|Or)\b",
                        self.own_lines[begin]) is not None

    def skip_balanced(self):
        """Moves behind the bracket that closes the one at `at`; returns the tokens between."""
        begin, depth = self.at, 0
        while self.at < len(self.code):
            text = self.code[self.at].text
            depth += (text in OPEN) - (text in CLOSE)
            self.at += 1
            if depth == 0:
                break
        return self.code[begin : self.at]

    def read(self, scope=(), in_class=None, visible=True):
        """Declarations up to the brace that closes this scope."""
        scope, declaration, angle = list(scope), [], 0
        public = in_class != "class"
        while self.at < len(self.code):
            token = self.code[self.at]
            text, words = token.text, [t.text for t in declaration]
            previous = words[-1] if words else ""
            if text == "<" and (declaration and declaration[-1].kind == "name") and previous != "operator":
                angle += 1
            elif text == ">" and angle:
                angle -= 1
            if text == "}" and not declaration:
                self.at += 1
                return
            if text == ":" and len(words) == 1 and words[0] in ("public", "protected", "private"):
                public = words[0] == "public"
                declaration, angle = [], 0
                self.at += 1
            elif text in ("(", "[", "[["):
                declaration += self.skip_balanced()
            elif text == ";":
                self.at += 1
                self.record(declaration + [token], scope, in_class, visible and public, None)
                declaration, angle = [], 0
            elif text == "{":
                declaration, angle = self.brace(declaration, token, scope, in_class, visible and public), 0
            else:
                declaration.append(token)
                self.at += 1

    def brace(self, declaration, token, scope, in_class, visible):
        """Reads a namespace, a type, a body or an initialiser. Returns a declaration that continues."""
        words = bare(declaration)
        if "namespace" in words[:2] or words[:1] == ["extern"] and len(words) == 2:
            names = [w for w in words if re.match(r"[a-z_]\w*$", w) and w not in ("namespace", "inline", "extern")]
            hidden = "namespace" in words and (not names or bool({"detail", "internal"} & set(names)))
            self.at += 1
            self.read(scope, None, visible and not hidden)
            return []
        head = words[: words.index("(")] if "(" in words else words
        key = next((w for w in head if w in ("class", "struct", "union", "enum")), None)
        if key and "=" not in head:
            name = type_name(head)
            self.record(declaration + [token], scope, in_class, visible, ("type", name))
            if key == "enum":
                self.skip_balanced()
            else:
                self.at += 1
                self.read(scope + [name], "class" if key == "class" else "struct", visible)
            self.at_end_of_declarators()
            return []
        previous = declaration[-1] if declaration else token
        in_list = ":" in after_parameters(words) and previous.kind == "name" and not keyword(previous)
        is_body = "(" in words and not assigned(words) and not in_list
        body = self.skip_balanced()
        if is_body:
            one_line = body[-1].line == declaration[0].line or len(body) < 12
            self.record(declaration + [token], scope, in_class, visible, None, body if one_line else [])
            return []
        return declaration + body

    def at_end_of_declarators(self):
        while self.at < len(self.code) and self.code[self.at].text != ";":
            if self.code[self.at].text in OPEN:
                self.skip_balanced()
            else:
                self.at += 1
        self.at += 1

    def record(self, declaration, scope, in_class, visible, known, body=None):
        if not visible or len(declaration) < 2:
            return
        words = bare(declaration[:-1])
        last = declaration[-1].line if body is None else (body[-1].last if body else declaration[-1].line)
        kind, name = known or classify(words, in_class)
        if kind is None:
            return
        d = Declaration(kind, name, scope, declaration[0].line, last)
        d.trivial = kind == "function" and trivial(words, name, scope[-1] if scope else "", body)
        self.found.append(d)


def bare(declaration):
    """The words of a declaration without `template <...>` and attributes."""
    words, out, i = [t.text for t in declaration], [], 0
    while i < len(words):
        if words[i] == "[[":
            while i < len(words) and words[i] != "]]":
                i += 1
            i += 1
        elif words[i] == "template" and i + 1 < len(words) and words[i + 1] == "<":
            depth, i = 0, i + 1
            while i < len(words):
                depth += (words[i] == "<") - (words[i] == ">")
                i += 1
                if depth == 0:
                    break
            if i < len(words) and words[i] == "requires":
                i += 1
                while i < len(words) and words[i] in ("(", "::", "<", ">", ",", "&&", "||", ")", "std"):
                    i += 1
        else:
            out.append(words[i])
            i += 1
    return out


def keyword(token):
    return token.text in ("const", "noexcept", "override", "final", "mutable")


def without_angles(words):
    """Words outside template arguments."""
    out, depth = [], 0
    for i, w in enumerate(words):
        if w == "<" and i and re.match(r"\w", words[i - 1]) and words[i - 1] != "operator":
            depth += 1
        elif w == ">" and depth:
            depth -= 1
        elif not depth:
            out.append(w)
    return out


def after_parameters(words):
    """Words behind the first pair of brackets: qualifiers, and the initialisers of a constructor."""
    depth, begin = 0, words.index("(") if "(" in words else len(words)
    for i in range(begin, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if depth == 0:
            return words[i + 1 :]
    return []


def assigned(words):
    """Whether `=` stands before the first bracket: a variable, not a function."""
    flat = without_angles(words)
    at = flat.index("(") if "(" in flat else len(flat)
    return "=" in flat[:at] and "operator" not in flat[:at]


def type_name(head):
    flat = without_angles(head)
    names = []
    for w in flat:
        if w == ":":
            break
        if re.match(r"[A-Za-z_]\w*$", w) and w not in ("class", "struct", "union", "enum", "final", "alignas"):
            names.append(w)
    return names[-1] if names else "(unnamed)"


def classify(words, in_class):
    if not words or words[0] in ("friend", "static_assert", "template", "public", "private", "protected"):
        return None, ""
    if words[0] == "extern" and "template" in words[:2]:
        return None, ""
    if words[0] in ("using", "typedef"):
        if in_class or (words[0] == "using" and ("=" not in words or "namespace" in words)):
            return None, ""
        return "type", words[1] if words[0] == "using" else words[-1]
    flat = without_angles(words)
    if flat[0] in ("class", "struct", "union", "enum") and "(" not in flat and "=" not in flat and "{" not in flat:
        return None, ""  # a forward declaration
    if "operator" in flat:
        at = flat.index("operator")
        return "function", "operator" + "".join(flat[at + 1 : at + 3])
    if "(" in flat and not assigned(words):
        at = flat.index("(")
        if flat[at + 1 : at + 2] == ["*"] and flat[at + 3 : at + 4] == [")"]:
            return "function", flat[at + 2]  # a pointer to a function
        if at and re.match(r"[A-Za-z_]\w*$", flat[at - 1]):
            return "function", ("~" if at > 1 and flat[at - 2] == "~" else "") + flat[at - 1]
    stop = min([flat.index(w) for w in ("=", "{", "[", ":") if w in flat] or [len(flat)])
    names = [w for w in flat[:stop] if re.match(r"[A-Za-z_]\w*$", w)]
    return ("field", names[-1]) if names else (None, "")


def trivial(words, name, class_name, body):
    flat = without_angles(words)
    if name.startswith(("operator", "~")):
        return True
    tail = after_parameters(flat)
    parameters = flat[flat.index("(") + 1 : len(flat) - len(tail) - 1]
    if {"override", "final"} & set(tail) or tail[-2:] in (["=", "default"], ["=", "delete"]):
        return True
    if class_name and name in CONTAINER and not parameters:
        return True
    commas, depth = 0, 0
    for w in parameters:
        depth += (w in ("(", "{", "[")) - (w in (")", "}", "]"))
        commas += w == "," and depth == 0
    if name == class_name and (not parameters or commas == 0):
        return True
    texts = [t.text for t in body or []]
    return not parameters and texts[:2] == ["{", "return"] and ";" in texts and len(texts) < 12


def findings(source, fields=False):
    """(line, text) of declarations without a comment of their own."""
    reader = Reader(source)
    reader.read()
    out, before = [], None
    for d in sorted(reader.found, key=lambda d: d.first):
        above = d.first - 1 in reader.own_lines
        d.commented = above or any(n in reader.commented for n in range(d.first, d.last + 1))
        d.owner = d if above else None
        near = before is not None and before.scope == d.scope and before.last + 1 >= d.first
        if not d.commented and near:
            d.owner = before.owner
        overload = near and before.name == d.name and (before.commented or before.silent)
        d.silent = overload or d.trivial or (d.kind == "field" and not fields)
        if not d.commented and not d.silent:
            shared = f" shares the comment of {d.owner.full_name()}" if d.owner else ""
            out.append((d.first, d.full_name() + shared))
        elif above and not d.silent and reader.refers_to_neighbour(d.first):
            out.append((d.first, d.full_name() + " has a comment that needs the one of its neighbour"))
        before = d
    return out


def measured(path):
    return (path.startswith("src/") and path.endswith(".h") and not path.endswith(".inc.h")
            and not re.search(r"_test\.h$|test_support|/support/", path))


def main():
    p = argparse.ArgumentParser(usage="\n" + __doc__.split("usage:\n\n")[1])
    p.add_argument("--fields", action="store_true")
    p.add_argument("--check", action="store_true")
    p.add_argument("--tighten", action="store_true")
    p.add_argument("--begin", metavar="REASON")
    p.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p.add_argument("paths", nargs="*")
    a = p.parse_args()
    root = os.path.abspath(a.root)
    folders = [os.path.relpath(os.path.abspath(x), root) if os.path.exists(x) else x for x in a.paths]
    files = ratchet.chosen([f for f in ratchet.tracked(root) if measured(f)], folders)
    found = {}
    for f in files:
        with open(os.path.join(root, f), encoding="utf-8", errors="replace") as file:
            found[f] = findings(file.read(), a.fields)
    counts = {f: len(x) for f, x in found.items() if x}
    if a.check or a.tighten or a.begin:
        limits = ratchet.Limits(root, os.path.join(root, "tools/comment_limits.txt"))
        if a.begin:
            return limits.begin(counts, "comments", a.begin)
        if a.tighten:
            return limits.tighten(counts)
        return limits.check(counts, "comments", lambda f: [f"{f}:{line}: {text}" for line, text in found[f]])
    modules = collections.Counter()
    for f in counts:
        modules[os.path.dirname(f)] += counts[f]
        for line, text in found[f]:
            print(f"{f}:{line}: {text}")
    for module, n in sorted(modules.items()):
        print(f"{n:6} {module}")
    print(f"{sum(counts.values())} declarations without a comment of their own in {len(counts)} headers")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
