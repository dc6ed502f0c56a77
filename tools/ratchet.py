"""A table of files that exceed a limit. Its numbers only get lower. Used by tools/prose.py and tools/comments.py.

A row is PATH | FINDINGS | REASON. A file without a row must have no finding. A row with a higher number than what is
found must be lowered.
"""
import fnmatch
import os
import subprocess


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def tracked(root):
    """Paths of tracked files that exist. Without git: all files outside build folders."""
    listed = git(root, "ls-files", "-z")
    if listed:
        paths = listed.split("\0")
    else:
        paths = []
        for folder, folders, names in os.walk(root):
            folders[:] = [x for x in folders if x not in (".git", "build", "studies", "shared")]
            paths += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    full = {p: os.path.join(root, p) for p in paths if p}
    return sorted(p for p, at in full.items() if os.path.isfile(at) and not os.path.islink(at))


def chosen(files, paths):
    """Those of `files` that are named by paths, folders or patterns; all without any."""
    if not paths:
        return files
    folders = tuple(p.rstrip("/") + "/" for p in paths)
    return [f for f in files if "." in paths or f.startswith(folders) or any(fnmatch.fnmatch(f, p) for p in paths)]


class Limits:
    def __init__(self, root, path):
        self.root, self.path, self.head, self.rows, self.errors = root, path, [], {}, []
        if not os.path.exists(path):
            return
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            line = line.rstrip("\n")
            if line.startswith("#") and not self.rows:
                self.head.append(line)
            elif line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
                self.errors.append(f"{path}:{number}: a conflict of a merge; run --tighten")
            elif line.strip():
                fields = line.split(" | ", 2)
                if len(fields) != 3 or not fields[1].strip().isdigit() or not fields[2].strip():
                    self.errors.append(f"{path}:{number}: a row is PATH | FINDINGS | REASON: {line}")
                    continue
                name, count, reason = fields[0].strip(), int(fields[1]), fields[2].strip()
                if name in self.rows:
                    self.errors.append(f"{path}:{number}: a second row of {name}; run --tighten")
                    count = max(count, self.rows[name][0])
                self.rows[name] = (count, reason)

    def check(self, counts, name, lines_of):
        errors = list(self.errors)
        for path in sorted(set(counts) | set(self.rows)):
            found, allowed = counts.get(path, 0), self.rows.get(path, (0, ""))[0]
            if found > allowed:
                errors.append(f"{path}: {found} findings, {allowed} allowed:")
                lines = lines_of(path)
                errors += ["  " + line for line in lines[:20]] + (["  ..."] if len(lines) > 20 else [])
            elif found < allowed or path not in counts:
                errors.append(f"{path}: {found} findings, {allowed} allowed: run --tighten")
        total = sum(counts.values())
        if errors:
            print("\n".join(errors))
            print(f"{name}: failed; {total} findings in {len(counts)} files")
            return 1
        table = os.path.relpath(self.path, self.root)
        print(f"{name}: ok; {total} findings in {len(counts)} files, all listed in {table}")
        return 0

    def begin(self, counts, tool, reason):
        """Writes the first table: a row for each file with findings. Refuses if there is a table."""
        if os.path.exists(self.path):
            print(f"{os.path.relpath(self.path, self.root)} exists; its numbers only get lower")
            return 1
        head = f"""# Files with findings of tools/{tool}.py. The numbers only get lower: `tools/{tool}.py --tighten`
# writes them. A file that is not listed has no finding. In the end each row has its own reason.
#
# PATH | FINDINGS | REASON"""
        self.head = head.split("\n")
        self.rows = {path: (n, reason) for path, n in counts.items()}
        return self.tighten(counts)

    def moved(self):
        """Old path -> new path of files that moved, by git."""
        out = {}
        renames = ["-M40%", "-l0", "--diff-filter=R", "--name-status"]
        log = git(self.root, "log", "-n", "400", *renames, "--format=", "--reverse") or ""
        now = git(self.root, "diff", *renames, "HEAD") or ""
        for line in (log + "\n" + now).split("\n"):
            fields = line.split("\t")
            if len(fields) == 3:
                out[fields[1]] = fields[2]
        return out

    def tighten(self, counts):
        """Lowers each number to what is found, and deletes rows without findings. Never raises a number.

        A row follows its moved file.
        """
        gone = [p for p in self.rows if not os.path.exists(os.path.join(self.root, p))]
        moves = self.moved() if gone else {}
        for path in gone:
            count, reason = self.rows.pop(path)
            seen = {path}
            while path in moves and moves[path] not in seen:
                path = moves[path]
                seen.add(path)
            if os.path.exists(os.path.join(self.root, path)):
                self.rows[path] = (max(count, self.rows.get(path, (0, ""))[0]), reason)
        rows = {p: (min(n, counts.get(p, 0)), why) for p, (n, why) in self.rows.items() if counts.get(p, 0)}
        text = self.head + [f"{p} | {n} | {why}" for p, (n, why) in sorted(rows.items())]
        with open(self.path, "w", encoding="utf-8") as out:
            out.write("\n".join(text) + "\n")
        over = {p: n for p, n in counts.items() if n > rows.get(p, (0, ""))[0]}
        for path, n in sorted(over.items()):
            print(f"{path}: {n} findings, {rows.get(path, (0, ''))[0]} allowed")
        print(f"{os.path.relpath(self.path, self.root)}: {len(rows)} rows, {sum(n for n, _ in rows.values())} findings")
        return 1 if over else 0
