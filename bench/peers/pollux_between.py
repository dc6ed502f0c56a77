#!/usr/bin/env python3
"""Interpolates step times between measured configurations by scipy's LinearNDInterpolator.

    pollux_between.py TRACES WORKLOAD.csv... --out FOLDER

Points of a grid lie on common spheres, so their Delaunay triangulation is not unique, and interpolated values depend on
the library. The published results of Pollux's artefact used Qhull.

The script copies TRACES to FOLDER/traces and adds a between.csv to each application. `lanista bench cluster --data
FOLDER` uses this file instead of its own interpolation. It has each configuration that a job of the workloads can have
at the batch size of its user.
"""
import argparse
import csv
import math
import pathlib
import shutil

import numpy
from scipy.interpolate import LinearNDInterpolator

NODES, DEVICES = 16, 4


def measured(folder):
    """Points (nodes, replicas, local batch) with mean (step, sync), in the order of the artefact."""
    groups = {}
    for row in csv.DictReader((folder / "placements.csv").open()):
        name = row["placement"]
        key = (len(name), sum(map(int, name)), int(row["local_bsz"]))
        groups.setdefault(key, []).append((float(row["step_time"]), float(row["sync_time"])))
    points = sorted(groups)
    values = [numpy.mean(groups[point], axis=0) for point in points]
    for row in csv.DictReader((folder / "scalability.csv").open()):
        points.append((int(row["num_nodes"]), int(row["num_replicas"]), int(row["local_bsz"])))
        values.append((float(row["step_time"]), float(row["sync_time"])))
    return numpy.array(points, float), numpy.array(values)


def local_batches(total, replicas, most, most_total):
    """The local batches of a replica for a total batch, with as few parts as fit, and with at least two parts."""
    local = math.ceil(total / replicas - 1e-8)
    fewest = math.ceil(local / most - 1e-8)
    return {
        min(math.ceil(local / parts - 1e-8), most_total // (replicas * parts)) for parts in (fewest, max(fewest, 2))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("workloads", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    totals = {}
    for workload in args.workloads:
        for row in csv.DictReader(workload.open()):
            totals.setdefault(row["application"], set()).add(int(row["batch_size"]))
    shutil.copytree(args.traces, args.out / "traces", dirs_exist_ok=True)
    for name, batches in totals.items():
        points, values = measured(args.traces / name)
        most = 8 if name == "yolov3" else int(points[:, 2].max())
        most_total = max(int(p.stem.split("-")[1]) for p in (args.traces / name).glob("validation-*.csv"))
        times = LinearNDInterpolator(points, values)
        path = args.out / "traces" / name / "between.csv"
        (args.out / "traces" / name).chmod(0o755)
        with path.open("w") as out:
            print("num_nodes,num_replicas,local_bsz,step_time,sync_time", file=out)
            for nodes in range(2, NODES + 1):
                for replicas in range(nodes, nodes * DEVICES + 1):
                    for local in sorted(set().union(*(local_batches(b, replicas, most, most_total) for b in batches))):
                        step, sync = times([[nodes, replicas, local]])[0]
                        if not math.isnan(step):
                            print(f"{nodes},{replicas},{local},{float(step)!r},{float(sync)!r}", file=out)


if __name__ == "__main__":
    main()
