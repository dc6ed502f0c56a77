"""Checks exported traces as a viewer of Chrome traces reads them: trace_check.py FOLDER (made by export_corpus).

It checks the fields of each phase, and then reads events in the order of time. Spans of a thread nest. Arrows begin and
end inside spans and point forwards in time. Counters have numbers.
"""
import json
import pathlib
import sys

FIELDS = {  # phase: required fields and their types
    "B": {"name": str, "pid": int, "tid": int, "ts": int, "args": dict},
    "E": {"pid": int, "tid": int, "ts": int},
    "C": {"name": str, "pid": int, "ts": int, "args": dict},
    "M": {"name": str, "pid": int, "args": dict},
    "s": {"name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": int},
    "f": {"name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": int, "bp": str},
}


def check_fields(event):
    fields = FIELDS[event["ph"]]
    assert set(fields) <= set(event) <= set(fields) | {"ph", "tid"}, event
    for name, kind in fields.items():
        assert type(event[name]) is kind, event
    assert event.get("ts", 0) >= 0
    if event["ph"] == "C":
        assert all(isinstance(value, (int, float)) for value in event["args"].values()), event


def play(events):
    stacks, starts, ends = {}, {}, {}
    spans = 0
    for event in sorted((e for e in events if e["ph"] not in "MC"), key=lambda e: e["ts"]):
        stack = stacks.setdefault((event["pid"], event["tid"]), [])
        if event["ph"] == "B":
            assert not stack, "a worker does one thing at a time"
            stack.append(event)
            spans += 1
        elif event["ph"] == "E":
            assert stack, "an end without a beginning"
            stack.pop()
        else:
            assert stack, "an arrow outside of any span"
            place = starts if event["ph"] == "s" else ends
            assert event["id"] not in place
            place[event["id"]] = (event["ts"], stack[-1]["args"]["trial"])
    assert not any(stacks.values()), "a beginning without an end"
    assert set(starts) == set(ends)
    for number, (begin, _) in starts.items():
        assert begin <= ends[number][0]
    return spans, [(starts[number][1], ends[number][1]) for number in starts]


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        facts = json.loads((path / "facts.json").read_text())
        trace = json.loads((path / "trace.json").read_text())
        events = trace["traceEvents"]
        for event in events:
            check_fields(event)
        spans, arrows = play(events)
        assert spans == facts["spans"] and trace["otherData"]["study"] == facts["name"]
        for parent, child in arrows:
            assert facts["trials"][child - 1]["parent"] == parent
        named = {event["tid"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        assert named == {event["tid"] for event in events if event["ph"] == "B"}
        print("trace: %s: %d spans on %d workers, %d arrows" % (path.name, spans, len(named), len(arrows)))


main()
