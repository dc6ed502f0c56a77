#!/usr/bin/env python3
"""Writes the seeds of every fuzzer into corpus/<target>/ next to this file.

A seed is a small file that reaches a branch of a format. Findings of earlier runs are in the same folders, with names
that begin with "find". They stay as they are.

usage: make_seeds.py"""

import base64
import gzip
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent

# 9x5 pixels: grey, colour, colour and progressive; made with libjpeg.
JPEGS = {
    "grey": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqm
x5moq6T/wAALCAAFAAkBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAgX/xAAiEAACAQMCBwAAAAAAAAAAAAABAgQAAxETFDFBVGGTsdH/2gAIAQEA
AD8AMcjXuRo6iwqMULAZY4JHHl771T2L9ZI8h+1//9k=""",
    "colour": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqm
x5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAFAAkD
ASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAIE/8QAIRAAAQMBCQAAAAAAAAAAAAAAAQACEhEDFSEiMVJxgZH/xAAVAQEBAAAAAAAAAAAA
AAAAAAABBP/EAB0RAAECBwAAAAAAAAAAAAAAAAEAAwIEERIhMfD/2gAMAwEAAhEDEQA/AJY40EMlGtIGoAlEDrE8lbrqsNz/AFEUky7G3S09hOiQ
F//Z""",
    "progressive": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqm
x5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wgARCAAFAAkD
ASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAED/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAP/2gAMAwEAAhADEAAAAZuRf//EABYQAQEBAAAA
AAAAAAAAAAAAAAABE//aAAgBAQABBQJlH//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQMBAT8Bf//EABgRAAIDAAAAAAAAAAAAAAAAAAACAQMx
/9oACAECAQE/AbGlcP/EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEABj8CP//EABoQAAICAwAAAAAAAAAAAAAAAAABESFRYbH/2gAIAQEAAT8h
TxVLsG1n/9oADAMBAAIAAwAAABAP/8QAFhEBAQEAAAAAAAAAAAAAAAAAAQAx/9oACAEDAQE/EMUL/8QAFxEBAAMAAAAAAAAAAAAAAAAAEQAh8P/a
AAgBAgEBPxA5ap//xAAcEAEAAgEFAAAAAAAAAAAAAAABACERMUFxgfH/2gAIAQEAAT8QbBtoGoFB1byz3Z//2Q==""",
}


def study_files():
    full = """schema: 1
name: digits
data: {source: "builtin:digits", batch: 32, split: [0.7, 0.15, 0.15], normalize: auto}
model: {base: [builtin:small-mlp, builtin:small-cnn]}
space:
  mutate:
    - swap_op
    - widen: {by: [0.5, 2]}
    - deepen
    - remove
    - add_skip: {max: 2}
  repair: {channels: project, spatial: pool}
  params:
    optimizer:
      sgd: {lr: log(0.01, 0.3), momentum: range(0.5, 0.95)}
      adam: {lr: log(5e-4, 2e-2)}
    label_smoothing: [0, 0.05]
    warmup_epochs: int(0, 2)
    weight_decay: quant(0, 0.1, 0.05)
    schedule: choice(cosine, constant)
    nesterov: true
  limits: {params: "<= 200k", flops: 5M}
train: {epochs: 27, schedule: step, step_every: 3, clip_norm: 5, metrics: [accuracy, top3], precision: float64}
goal: [maximize val_accuracy, minimize val_loss]
strategy: {name: evolution, population: 16, slots: 16}
stop: {rule: asha, rungs: [3, 9], on: val_accuracy}
budget: {trials: none, steps: 100, guard_minutes: 5}
run: {workers: 2, seed: 18446744073709551615, memory_gib: 1.5}
keep: {top: 3, checkpoint_every: 2m}
"""
    return {
        "full": full,
        "empty": "",
        "comment": "# a comment alone\n",
        "anchors": "train: &t {epochs: 3}\nbudget: {trials: &n 4, steps: *n}\n",
        "merge": "a: &a [1, 2]\nspace: {params: {lr: *a}}\n",
        "stop": "stop: none\ngoal: auto\n",
        "mistakes": "trian: {}\ntrain: {epoch: 3, lr: -1, optimizer: sdg}\ndata: {split: [0.5, 0.4]}\n",
        "calls": "space: {params: {lr: lgo(1, 2), momentum: range(2, 1), eps: quant(0, 1)}}\n",
        "limits": "space: {limits: {params: few, flops: <= 1e400}}\n",
        "deep": "[" * 40,
        "flow": "{a: {b: {c: [1, {d: 'it''s', e: \"\\u00e9\\x41\"}]}}}",
        "blocks": "name: >-\n  folded\n  text\nmodel:\n  base: |\n    lines\n",
        "tags": "name: !!str x\ndata: !python/object:os.system {}\n",
        "documents": "---\nname: a\n---\nname: b\n",
        "tab": "train:\n\tepochs: 3\n",
        "numbers": "train: {lr: .inf, epochs: 0x10, eps: 1e-16, clip_norm: 1_000}\n",
        "nulls": "train: ~\ndata:\nspace: {params: {optimizer: {sgd: , adam: ~}}}\n",
    }


def graphs():
    return {
        "mlp": '%0 = input(shape=[64])\n%1 = linear(%0, out=32) "hidden"\n%2 = relu(%1)\n%3 = linear(%2, out=10)\n'
               "%4 = output(%3)\n",
        "cnn": '%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, kernel=[3], out=8, padding=[1]) "stem"\n%2 = relu(%1)\n'
               "%3 = max_pool2d(%2, kernel=[2])\n%4 = flatten(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n",
        "joins": "next_id 9\n%0 = input(shape=[4])\n%1 = linear(%0, out=4, bias=false)\n%2 = add(%0, %1)\n"
                 "%3 = concat(%2, %1)\n%4 = dropout(%3, p=0.25)\n%5 = output(%4)\n",
        "norms": "%0 = input(shape=[2,4,4])\n%1 = batch_norm(%0, eps=1e-05)\n%2 = layer_norm(%1)\n%3 = gelu(%2)\n"
                 "%4 = adaptive_avg_pool2d(%3, size=[1,1])\n%5 = output(%4)\n",
        "cycle": "%0 = add(%1, %2.1)\n%1 = relu(%0)\n",
        "words": '# a comment\n%3 = x(a=1, b=-2.5e-3, c=true, d=[1,-2,3], e="t\\n\\x41\\"") "l\\t"  # end\n',
        "put": 'put %5 = relu(%3) "label"',
        "remove": "remove %5",
        "input": "input %5 1 = %3.1",
        "attr": "attr %5 out = 64",
        "limits": "%2147483646 = a(%0.2147483646, b=9223372036854775807)\n",
    }


def log_lines():
    study = "name: s\ntrain: {epochs: 2}\nbudget: {trials: 3}\n"
    graph = "%0 = input(shape=[64])\n%1 = linear(%0, out=10)\n%2 = output(%1)\n"
    data = {"name": "digits", "source": "builtin:digits", "licence": "", "features": [1, 8, 8], "classes": 10,
            "target_size": 0, "labels": ["0"], "rows": 10, "split_rows": [6, 2, 2], "hash": "0" * 32, "mean": 0.0,
            "scale": 1.0}
    header = (1, {"schema": 1, "version": "0", "config": study, "text": study, "data": data,
                  "models": [{"name": "a", "graph": graph}]})
    proposal = {"base": 0, "base_hash": "0" * 32, "steps": [{"mutator": "widen", "trace": []}],
                "edits": ["attr %1 out = 20"], "graph_hash": "1" * 32, "sample": {"lr": 0.1, "optimizer": "sgd"},
                "budget": 2, "parent": 1}
    proposed = (3, {"trial": 1, "proposal": proposal, "logical_start": 0.0, "logical_epoch": 1.5, "parameters": 650,
                    "key": "2" * 32})
    measured = (4, {"trial": 1, "epoch": 1, "step": 10, "metrics": {"val_loss": 0.5, "val_accuracy": "nan"}})
    verdict = (5, {"trial": 1, "verdict": "stop"})
    outcome = (6, {"trial": 1, "kind": "succeeded", "reason": "", "weights": "ab", "weights_hash": "3" * 32,
                   "logical_time": 3.0})
    duplicate = (6, {"trial": 1, "kind": "duplicate", "reason": "", "same_as": 1, "logical_time": 3.0})
    checkpoint = (7, {"trial": 1, "address": "abcd"})
    attempt = (8, {"event": "begin", "time": 1.0, "host": "h"})
    worked = (8, {"event": "worked", "seconds": 2.5})
    extend = (9, {"request": "extend", "trials": 2, "minutes": 1.5})
    stop = (9, {"request": "stop-trial", "trial": 1})
    end = (10, {"reason": "done", "winner": 1, "test": {"accuracy": 0.9}})
    span = (12, {"trial": 1, "epoch": 1, "worker": 0, "began": 0.5, "ended": 1.0})

    def text(*records):
        return "".join(f"{kind} {json.dumps(body)}\n" for kind, body in records)

    def raw(*records):
        out = b"raw\n"
        for kind, body in records:
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
            frame = struct.pack("<IHH", len(payload), kind, 0) + payload
            out += frame + struct.pack("<I", crc32c(frame))
        return out

    whole = text(header, (2, {"class": "c1"}), attempt, proposed, measured, checkpoint, verdict, outcome, worked, span,
                 extend, stop, end)
    small = (1, {"schema": 1})
    return {
        "whole": whole,
        "header": text(header),
        "running": text(header, proposed, measured),
        "duplicate": text(header, proposed, duplicate),
        "two_headers": text(header, header),
        "newer": text((1, {"schema": 99})),
        "unknown": text(small, (77, {})),
        "no_json": "1 {\n",
        "deep": "1 {\"schema\":1}\n4 " + "[" * 300,
        "raw": raw(small, measured, end),
        "torn": raw(small, measured)[:-5],
        "lies": raw(small) + struct.pack("<IHH", 0x7FFFFFFF, 4, 0) + b"{}",
        "middle": raw(small)[:-1] + b"x" + raw(small)[4:],
        "nothing": "raw\n",
    }


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def safetensors():
    def file(header, data=b""):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    def entry(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    two = {"__metadata__": {"k": "v", "é": ""}, "b": entry("F32", [2, 1], 0, 8), "a": entry("U8", [3], 8, 11)}
    return {
        "two": file(two, bytes(range(11))),
        "types": file({"a": entry("F64", [1], 0, 8), "b": entry("I32", [], 8, 12), "c": entry("I64", [1], 12, 20)},
                      bytes(20)),
        "empty": file({}),
        "zero": file({"z": entry("F32", [0, 5], 0, 0)}),
        "half": file({"h": entry("BF16", [2], 0, 4)}, bytes(4)),
        "overlap": file({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 2, 6)}, bytes(6)),
        "hole": file({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 4, 6)}, bytes(6)),
        "overflow": file({"a": entry("F32", [2**62, 4], 0, 0)}),
        "twice": file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}}', b"x"),
        "nested": file(b'{"a":' + b"[" * 200),
        "escapes": file(b'{"\\u0061\\n\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}  ', b"x"),
        "lies": struct.pack("<Q", 2**63) + b"{}",
        "padded": file(json.dumps(two).encode() + b"    ", bytes(range(11))),
    }


def npy_file(descr, shape, data, order="False", version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def npys():
    out = {name: npy_file(descr, "(2,)", bytes(range(2 * size)))
           for name, descr, size in [("b1", "|b1", 1), ("u1", "|u1", 1), ("i1", "|i1", 1), ("i2", "<i2", 2),
                                     ("i4be", ">i4", 4), ("i8", "<i8", 8), ("u2", "<u2", 2), ("u4", ">u4", 4),
                                     ("f2", "<f2", 2), ("f4", "<f4", 4), ("f8be", ">f8", 8), ("object", "|O", 8),
                                     ("text", "<U4", 16), ("u8", "<u8", 8)]}
    out.update({
        "fortran": npy_file("<i2", "(2, 3)", bytes(12), order="True"),
        "cube": npy_file(">f4", "(2, 1, 3L)", bytes(24), order="True", version=2),
        "scalar": npy_file("<f4", "()", bytes(4), version=3),
        "zero": npy_file("<f4", "(0, 4)", b""),
        "overflow": npy_file("<f8", "(4611686018427387904, 4611686018427387904, 0)", b""),
        "huge": npy_file("<f8", "(99999999,)", bytes(8)),
        "structured": b"\x93NUMPY\x01\x00\x30\x00{'descr': [('a', '<f4')], 'shape': (1,)}        \n",
    })
    return out


def archive(entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in entries:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def npzs():
    x, y = npy_file("<f4", "(2, 2)", bytes(16)), npy_file("<i8", "(2,)", bytes(16))
    stored = archive([("x.npy", x), ("y.npy", y)], zipfile.ZIP_STORED)
    return {
        "stored": stored,
        "deflated": archive([("x.npy", x), ("y.npy", y)]),
        "empty": archive([]),
        "twice": archive([("x.npy", x), ("z.npy", x)]).replace(b"z.npy", b"x.npy"),
        "path": archive([("../x.npy", x)]),
        "other": archive([("readme.txt", b"hello")]),
        "lzma": archive([("x.npy", x)], zipfile.ZIP_LZMA),
        "comment": stored[:-2] + b"\x03\x00abc",
        "behind": b"junk" + stored,
        "cut": stored[:-7],
        "zeros": archive([("x.npy", npy_file("|u1", "(3000,)", bytes(3000)))]),
    }


def idx_file(code, sizes, data):
    return bytes([0, 0, code, len(sizes)]) + b"".join(struct.pack(">I", s) for s in sizes) + data


def idxs():
    images = idx_file(8, [2, 3, 3], bytes(range(18)))
    packed = gzip.compress(images, mtime=0)
    return {
        "images": images,
        "labels": idx_file(8, [3], b"\1\2\3"),
        "i8": idx_file(9, [2], b"\xff\1"),
        "i16": idx_file(11, [2], bytes(4)),
        "i32": idx_file(12, [1], b"\x80\0\0\1"),
        "f32": idx_file(13, [1], b"\x3f\x80\0\0"),
        "f64": idx_file(14, [1], b"\x3f\xf0" + bytes(6)),
        "scalar": idx_file(8, [], b"\1"),
        "lies": idx_file(8, [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF], b"x"),
        "zero": idx_file(8, [0, 28], b""),
        "type": idx_file(10, [1], b"x"),
        "gzip": packed,
        "members": packed + gzip.compress(b"", mtime=0),
        "cut": packed[:-3],
        "behind": packed + b"junk",
        "checksum": packed[:-8] + bytes(4) + packed[-4:],
        "bomb": gzip.compress(bytes(100000), mtime=0),
        "named": b"\x1f\x8b\x08\x1c\0\0\0\0\0\3\2\0abname\0comment\0" + zlib.compress(images)[2:-4]
                 + struct.pack("<II", zlib.crc32(images), len(images)),
    }


def cifars():
    pixels = bytes(i % 251 for i in range(3072))
    return {"ten": b"\x00\x07" + pixels, "hundred": b"\x01\x13\x63" + pixels, "label": b"\x00\x0b" + pixels,
            "fine": b"\x01\x13\x64" + pixels, "short": b"\x00\x07" + pixels[:-1], "empty": b"\x00"}


def csvs():
    return {
        "plain": "a,b,c\n1,2,3\n4,5,6\n",
        "quotes": 'name,note\n"x, ""y""","two\nlines"\n"",\n',
        "bare": "1,2\n3,4\n",
        "tabs": "a\tb\r\n1\t2\r\n\r\n3\t4",
        "semicolons": "a;b\n1,5;2\n",
        "mark": "\ufeffa,b\n1,2\n",
        "utf16": "a,b\n".encode("utf-16"),
        "ragged": "a,b\n1,2\n3\n",
        "open": 'a,b\n"1,2\n',
        "behind": 'a,b\n"1"x,2\n',
        "inside": 'a,b\n1"2,3\n',
        "zero": "a,b\n1,\0\n",
        "missing": "a,b\n,NA\n?,nan\n",
        "old_mac": "a,b\r1,2\r",
        "one": "x\n1\n2\n",
    }


def png(kind, depth, row, height=2, width=3, interlaced=0, extra=b""):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced))
    data = zlib.compress(b"".join(b"\0" + row for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def images():
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    palette = chunk(b"PLTE", bytes(range(12)))
    out = {
        "grey": png(0, 8, bytes(3)),
        "bits": png(0, 1, b"\xa0"),
        "grey16": png(0, 16, bytes(6)),
        "colour": png(2, 8, bytes(range(9))),
        "colour16": png(2, 16, bytes(range(18))),
        "palette": png(3, 2, b"\x1b", extra=palette),
        "transparent": png(3, 8, b"\0\1\2", extra=palette + chunk(b"tRNS", b"\x80")),
        "alpha": png(4, 8, bytes(range(6))),
        "colour_alpha": png(6, 8, bytes(range(12))),
        "interlaced": png(0, 8, b"\1", height=1, width=1, interlaced=1),
        "text": png(0, 8, bytes(3), extra=chunk(b"tEXt", b"k\0v") + chunk(b"gAMA", struct.pack(">I", 45455))),
        "huge": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 65500, 65500, 8, 2, 0, 0, 0)),
        "cut": png(2, 8, bytes(range(9)))[:-20],
    }
    out.update({"jpeg_" + name: base64.b64decode(text) for name, text in JPEGS.items()})
    return out


def varint(value):
    value %= 1 << 64
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A protobuf field: int as varint, bytes or text with its length, float as fixed32."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_models():
    def tensor(name, dims, data, kind=1):
        return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, data)

    def info(name, dims):
        shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(kind, inputs, outputs, attributes=b""):
        return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, outputs[0])
                + field(4, kind) + attributes)

    def model(graph, opset=field(2, 17), version=8):
        return field(1, version) + field(2, "seeds") + field(7, graph) + field(8, opset)

    flag = field(5, field(1, "transB") + field(3, 1) + field(20, 2))
    ints = field(5, field(1, "axes") + field(8, varint(1) + varint(2)) + field(20, 7))
    real = field(5, field(1, "alpha") + field(2, 0.5) + field(20, 1))
    ends = field(11, info("x", ["N", 2])) + field(12, info("y", ["N", 3]))
    gemm = (field(1, node("Gemm", ["x", "w", ""], ["y"], flag + real)) + field(2, "g")
            + field(5, tensor("w", [3, 2], bytes(24))))
    typed = field(5, field(1, 2) + field(2, 1) + field(4, struct.pack("<ff", 1, 2)) + field(8, "w"))
    loose = field(5, field(1, 1) + field(2, 7) + field(7, 5) + field(8, "w"))
    nested = b""
    for _ in range(20):
        nested = field(1, node("If", ["x"], ["y"], field(5, field(1, "b") + field(6, nested) + field(20, 5))))

    def whole(name, values):
        return field(5, tensor(name, [len(values)], struct.pack("<%dq" % len(values), *values), 7))

    def attribute(name, value):
        if isinstance(value, str):
            return field(5, field(1, name) + field(4, value) + field(20, 3))
        if isinstance(value, int):
            return field(5, field(1, name) + field(3, value) + field(20, 2))
        return field(5, field(1, name) + field(8, b"".join(varint(v) for v in value)) + field(20, 7))

    def chain(shape, nodes, constants=b"", opset=17, result="y"):
        return model(b"".join(field(1, n) for n in nodes) + constants + field(11, info("x", shape))
                     + field(12, info(result, [])), opset=field(2, opset))

    one = struct.pack("<f", 1)
    computed = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
                node("Concat", ["n", "open"], ["t"], attribute("axis", 0)), node("Reshape", ["x", "t"], ["y"])]
    filled = [node("ConstantOfShape", ["size"], ["w"]), node("MatMul", ["x", "w"], ["y"])]
    window = attribute("kernel_shape", [3, 3]) + attribute("strides", [2, 2])
    pools = [node("MaxPool", ["x"], ["a"], window + attribute("pads", [0, 0, 1, 1])),
             node("AveragePool", ["a"], ["b"], window + attribute("auto_pad", "SAME_LOWER")),
             node("LRN", ["b"], ["c"], attribute("size", 3)), node("Softmax", ["c"], ["y"])]
    parts = [node("Split", ["x"], ["a", "b"], attribute("axis", 1) + attribute("split", [1, 3])),
             node("Slice", ["b", "zero", "open", "two"], ["c"]), node("Squeeze", ["a"], ["y"], attribute("axes", [1]))]
    constants = [node("Mul", ["x", "k"], ["a"]), node("Add", ["k", "a"], ["b"]), node("Clip", ["b", "k"], ["y"])]
    elsewhere = (field(13, field(1, "location") + field(2, "../weights.bin"))
                 + field(13, field(1, "offset") + field(2, "8")) + field(13, field(1, "length") + field(2, "-1"))
                 + field(14, 1))
    resize = [node("Resize", ["x", "", "scales"], ["y"], attribute("mode", "linear"))]
    return {
        "shapes": chain(["N", 4, 2], computed, whole("zero", [0]) + whole("open", [-1])),
        "filled": chain([1, 2], filled, whole("size", [2, 3]), 9),
        "bomb": chain([1, 2], filled, whole("size", [2**31, 2**31]), 9),
        "pools": chain([1, 2, 9, 9], pools, opset=9),
        "parts": chain([2, 4, 3], parts, whole("zero", [0]) + whole("open", [-1]) + whole("two", [2]), 11),
        "constants": chain(["N", 2, 3, 3], constants, field(5, tensor("k", [], one))),
        "resize": chain(["N", 1, 2, 2], resize, field(5, tensor("scales", [4], one * 4))),
        "elsewhere": model(field(5, field(1, 2) + field(2, 1) + field(8, "w") + elsewhere) + ends),
        "gemm": model(gemm + ends),
        "typed": model(typed + field(1, node("Relu", ["x"], ["y"], ints)) + ends),
        "loose": model(loose + ends),
        "metadata": model(gemm + ends) + field(14, field(1, "k") + field(2, "v")),
        "domain": model(gemm + ends, opset=field(1, "com.example") + field(2, 1)),
        "nested": model(nested + ends),
        "external": model(field(5, tensor("w", [2], b"") + field(14, 1)) + ends),
        "huge": model(field(5, tensor("w", [2**62, 4, 0], b"")) + ends),
        "negative": model(field(5, tensor("w", [-1], b"")) + ends),
        "dangling": model(field(1, node("Relu", ["nothing"], ["y"])) + ends),
        "twice": model(gemm + gemm + ends),
        "old": model(gemm + ends, version=3),
        "group": b"\x0b\x0c",
        "cut": model(gemm + ends)[:-4],
        "empty": b"",
    }


def messages():
    recipe = {"loss": "cross_entropy", "optimizer": "sgd", "schedule": "constant", "precision": "float32", "epochs": 3,
              "batch": 16, "step_every": 1, "step_factor": 0.1, "warmup_epochs": 0.0, "clip_norm": 0.0,
              "label_smoothing": 0.0, "lr": 0.1, "momentum": 0.9, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.999,
              "eps": 1e-8, "nesterov": False, "shards": 2, "augment": [{"noise": {"std": 0.5}}]}
    job = {"kind": "start", "trial": 1, "model": "%0 = input(shape=[64])\n%1 = linear(%0, out=10)\n%2 = output(%1)\n",
           "recipe": recipe, "trial_seed": 2**64 - 1, "data_seed": 1, "logical_start": 0.0, "logical_epoch": "inf",
           "priority": 0.0, "alone": False, "checkpoint": "", "start": "random",
           "frozen": {"nodes": [0, 1], "weights": "abcd", "epochs": 9}}
    brief = {"kind": "brief", "study_folder": "studies/one", "isa": "avx2", "numeric_class": "own-2/fma", "workers": 2,
             "lanes": 0, "memory_bytes": 2**30, "metrics": ["accuracy"], "checkpoint_every": 30.0, "crash_marks": True,
             "data": {"source": "builtin:digits", "folder": ".", "split": [0.7, 0.15, 0.15], "normalize": "auto",
                      "targets": "auto", "hash": "0" * 32}}
    allow = {"kind": "allow", "trial": 1, "epoch": 2}
    bodies = {
        "brief": brief, "start": job, "allow": allow,
        "finish": {"kind": "finish", "trial": 1, "keep_weights": True, "abandon": False},
        "park": {"kind": "park", "trial": 1}, "pause_all": {"kind": "pause_all"},
        "arrange": {"kind": "arrange", "groups": "0: 2, 4: 1 3", "allow": [allow]},
        "epoch": {"kind": "epoch", "measurement": {"trial": 1, "epoch": 1, "step": 10, "metrics": {"val_loss": "nan"}}},
        "failure": {"kind": "failure", "trial": 1, "epoch": 1, "reason": "threw"},
        "checkpoint": {"kind": "checkpoint", "trial": 1, "epoch": 1, "step": 10, "address": "abcd"},
        "finished": {"kind": "finished", "trial": 1, "state_hash": "0" * 32, "weights": "abcd"},
        "parked": {"kind": "parked", "trial": 1, "epoch": 1, "step": 10, "state_hash": "0" * 32, "address": "abcd"},
        "paused": {"kind": "paused"},
        "span": {"kind": "span", "trial": 1, "epoch": 1, "worker": 0, "began": 0.5, "ended": 1.0, "lanes": 2},
        "broken": {"kind": "broken", "code": "io", "message": "disk full", "where": "ckpt/a"},
        "worker": {"kind": "worker", "worker": 0, "process": 9, "came": False, "reason": "was killed",
                   "trials": [{"trial": 1}], "seconds": 0.5},
    }
    return {name: json.dumps(message) for name, message in bodies.items()}


def frames():
    def frame(kind, text):
        body = struct.pack("<IHH", len(text), kind, 0) + text
        return body + struct.pack("<I", crc32c(body))

    hello = json.dumps({"protocol": 1, "build": "0.1.0 build abc", "process": 7}).encode()
    report = b"12\n" + messages()["epoch"].encode()
    welcome = b'{"lease_seconds":10.0}\n' + messages()["brief"].encode()
    question = b'{"part":2,"members":[{"weights":"abcd","share":1.0}]}\n' + messages()["start"].encode()
    return {
        "hello": hello, "welcome": welcome, "question": question, "report": report,
        "trials": b'{"trials":[{"trial":1}]}', "metrics": b'{"metrics":{"val_loss":"nan"}}',
        "stream": frame(1, hello) + frame(2, b"") + frame(3, report),
        "torn": frame(1, hello) + frame(3, report)[:-6], "damaged": frame(1, hello)[:-1] + b"x" + frame(2, b""),
        "long": struct.pack("<IHH", 0x7FFFFFFF, 1, 0),
    }


def stages():
    task = {
        "model": "%0 = input(shape=[6])\n%1 = linear(%0, out=5)\n%2 = output(%1)\n", "loss": "cross_entropy",
        "optimizer": "sgd", "build": "0.1.0 build abc", "isa": "avx2", "precision": "float32", "max_batch": 8,
        "shards": 1, "accumulate": 2, "number": 7, "place": 1, "memory": "/proc/7/fd/9", "bytes": 4096,
        "digest": "0" * 32,
        "stages": {"stages": [{"nodes": [1], "micro_batches": 2, "slots": 2, "after": [1]},
                              {"nodes": [2], "micro_batches": 2, "slots": 2, "after": []}],
                   "places": [[[0, 0, 0], [1, 0, 0]], [[0, 1, 0], [2, 1, 0], [3, 1, 0]]], "place_bytes": 0,
                   "apart": True},
    }

    def signal(kind, forward, stage, pieces, reason=b""):
        return struct.pack("<IBBHII", 1, kind, forward, 0, stage, pieces) + reason

    return {
        "task": json.dumps(task).encode(), "bytes": struct.pack("<IIQ", 1, 0, 2048) + b"12345678",
        "behind": struct.pack("<IIQ", 1, 0, 2076) + b"12345678", "nothing": struct.pack("<IIQ", 1, 0, 2080),
        "progress": signal(0, 1, 1, 2), "begin": signal(1, 1, 0, 0), "end": signal(2, 1, 0, 0),
        "stop": signal(3, 1, 0, 0, b"no more"),
    }


TARGETS = {"study_file": study_files, "graph_text": graphs, "log": log_lines, "messages": messages, "frames": frames,
           "stages": stages, "safetensors": safetensors, "npy": npys, "npz": npzs, "idx": idxs, "cifar": cifars,
           "csv": csvs, "image": images, "onnx": onnx_models}


def main():
    for target, make in TARGETS.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in make().items():
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


main()
