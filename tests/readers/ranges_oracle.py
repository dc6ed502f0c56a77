"""Compares the values of quant() ranges of ranges_corpus with decimal arithmetic and numpy: ranges_oracle.py FILE

A value must be the float that is nearest to lo + k * step, and there is no other. A value that differs by rounding
must be read as the value of the range.
"""
import json
import sys
from decimal import Decimal

try:
    import numpy as np
except ImportError as error:
    print("skipped: numpy is not installed:", error)
    sys.exit(77)


def expected(lo, hi, step):
    out, k = [], 0
    while lo + k * step <= hi:
        out.append(float(lo + k * step))
        k += 1
    return out


def main(path):
    cases = wrong = values = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            cases += 1
            wanted = expected(Decimal(case["lo"]), Decimal(case["hi"]), Decimal(case["step"]))
            got = [float(text) for text in case["values"]]
            values += len(got)
            near = float(case["lo"]) + np.arange(len(wanted)) * float(case["step"])
            scale = max(abs(float(case["lo"])), abs(float(case["hi"])), float(case["step"]))
            read = [float(text[1]) if text[1] != "none" else None for text in case["rounded"]]
            if got != wanted or read != wanted or not np.allclose(got, near, rtol=0, atol=1e-12 * scale):
                wrong += 1
                if wrong <= 5:
                    print(case["text"], case.get("error", ""), "is", got[:5], "instead of", wanted[:5])
                    print("  read", case["rounded"][:5])
    print(f"{cases} ranges with {values} values, {wrong} wrong")
    return 0 if wrong == 0 and cases >= 100 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
