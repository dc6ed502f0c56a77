#!/usr/bin/env python3
"""Measures PyTorch and JAX on the cases of `lanista bench gpu` on the same card, each at its best setting.

usage: gpu_peers.py DIR --lanes 1,16,64 --out FILE.json [--arms ...] [--cases ...] [--device cpu]

`lanista bench gpu --write DIR` makes DIR: weights, batch, rates, and the losses of lanista kernels. Each arm must agree
with these losses over 20 steps before it is timed: within 1e-4, relative, and one model in ten within 1e-3, since kinks
magnify a rounding. The arms, in microseconds a model and step:

- torch-eager: plain PyTorch, up to 8 models one after the other. Settings: NCHW or channels_last, kernels of cuDNN that
  are timed, by heuristics or deterministic, foreach or fused SGD. The fastest of the settings that agree counts.
- torch-graph: a captured CUDA graph a model, one after the other or over eight streams, in the same settings.
- torch-vmap: torch.func, vmap of grad, captured.
- torch-hfta: the form of HFTA, with grouped convolutions and batched products, captured.
- torch-compile: torch-vmap through torch.compile, captured.
- jax: jit of a scan over 50 steps of vmap. Cells are all different, so each has its own, one after the other.
- torch-search, torch-search-graph: seconds of a whole search, eager and with one captured step (gpu_peer_search.py). It
  has 64 trials of a small network on scikit-learn's digits, 20 epochs each, one after the other.

Each arm runs in a process, which is ended if a case exceeds --limit. An error is a row with its reason. FILE is written
again after each row. On --device cpu nothing is captured: that checks the models. The exit status is 1 if an arm
disagreed.
"""
import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time

ARMS = ["torch-eager", "torch-graph", "jax", "torch-vmap", "torch-hfta", "torch-compile", "torch-search",
        "torch-search-graph"]
TOLERANCE, CHECKED_STEPS, CHUNK_STEPS, TURN, STREAMS = 1e-4, 20, 50, 8, 8
SAMPLE_SECONDS, REPEATS = 0.04, 5


class Disagrees(Exception):
    pass


# ---- in a worker -----------------------------------------------------------------------------------------------------


def checked(case, losses):
    distances = case.distances(losses)
    strayed = sum(not each <= TOLERANCE for each in distances)
    if strayed > 0.1 * len(distances) or any(not each <= 10 * TOLERANCE for each in distances):
        raise Disagrees(f"losses of {strayed} of {len(distances)} models are further than {TOLERANCE} (relative) from "
                        f"those of lanista kernels, the worst {max(distances):.2g}")
    return round(1e6 * max(distances), 3)


def row_of(samples, models, **more):
    """A row from samples, the seconds of a step of `models` models."""
    values = sorted(1e6 * each / models for each in samples)
    middle = statistics.median(values)
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [middle] * 3
    return {"value": round(middle, 5), "unit": "us/step", "repeats": len(values),
            "spread": round((quarters[2] - quarters[0]) / middle, 4), **more}


class TorchWorker:
    def __init__(self, options):
        import gpu_peer_torch
        import torch
        self.torch, self.forms, self.options = torch, gpu_peer_torch, options
        self.device, self.eager_rows = options.device, {}
        gpu_peer_torch.settle(self.device)

    def name(self):
        return self.torch.cuda.get_device_name() if self.device != "cpu" else "cpu"

    def versions(self):
        return {"torch": self.torch.__version__, "torch_device": self.name()}

    def samples(self, call, at_least=SAMPLE_SECONDS):
        return [self.forms.seconds_of(call, self.device, at_least) for _ in range(self.options.repeats)]

    def run(self, arm, case, lanes):
        if self.device != "cpu":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()
        row = {"torch-eager": self.eager, "torch-graph": self.graphs, "torch-vmap": self.together,
               "torch-compile": self.together, "torch-hfta": self.together}[arm](arm, case)
        if self.device != "cpu":
            row["bytes"] = self.torch.cuda.max_memory_allocated()
        return row

    def check(self, trainers, step, case):
        losses = self.forms.first_losses(trainers, step, CHECKED_STEPS, self.device)
        for each in trainers:
            each.reset()
        self.forms.sync(self.device)  # an arm with a stream of its own waits for nothing else
        return checked(case, losses)

    def settings(self, case):
        """The settings that are tried for a model."""
        if case.is_image:
            return [f"{layout} {way}".strip() for way in self.cudnn() for layout in ("nchw", "channels_last")]
        return ["sdpa", "plain attention"] if case.name.startswith("transformer") else [""]

    def cudnn(self):
        return ["", "heuristics", "deterministic"] if self.device != "cpu" else [""]

    def agreeing(self, ways, settings, make):
        """Adds the ways of each setting that agrees with lanista kernels. Raises the first error if none agrees."""
        first, apart = None, []
        for setting in settings:
            self.forms.choose_cudnn(setting)
            try:
                ways += make(setting)
            except Disagrees as error:
                first = first or error
                apart.append(setting)
        if not ways:
            raise first
        return {"disagree": apart} if apart else {}

    def quickest(self, ways):
        """The fastest of the ways, which are (seconds, setting, ...). Its setting is used from now on."""
        best = min(ways, key=lambda way: way[0])
        self.forms.choose_cudnn(best[1])
        return best

    def eager(self, arm, case):
        # Models run one after the other, so eight of them are enough.
        models = min(case.lanes, 8)
        if (case.name, models) in self.eager_rows:
            return self.eager_rows[case.name, models]
        case = self.options.load(case.name, models)
        models = min(models, case.lanes)

        def make(setting):
            trainers = [self.forms.Single(case.part(i)[0], self.device, case.part(i)[1], setting)
                        for i in range(models)]
            distance = self.check(trainers, lambda i: trainers[i].step(), case)

            def turns():
                for each in trainers:
                    for _ in range(TURN):
                        each.step()
            return [(self.forms.seconds_of(turns, self.device, 0.0), setting, distance, turns)]
        ways = []
        settings = [f"{setting} {update}".strip() for setting in self.settings(case) for update in ("foreach", "fused")]
        apart = self.agreeing(ways, settings, make)
        _, setting, distance, turns = self.quickest(ways)
        row = row_of(self.samples(turns), models * TURN, setting=setting, distance_ppm=distance, of_models=models,
                     **apart)
        self.eager_rows[case.name, models] = row
        return row

    def graphs(self, arm, case):
        torch = self.torch
        cpu = self.device == "cpu"
        # At most 64 models, which fill eight streams and do not fit in the caches.
        models = min(case.lanes, 64)
        case = self.options.load(case.name, models)
        streams = [None] * STREAMS if cpu else [torch.cuda.Stream() for _ in range(STREAMS)]
        models = case.lanes

        def make(setting):
            trainers = [self.forms.Single(case.part(i)[0], self.device, case.part(i)[1], setting)
                        for i in range(models)]
            pools = [None] * STREAMS if cpu else [torch.cuda.graph_pool_handle() for _ in range(STREAMS)]
            steps = [self.forms.Captured(each, streams[i % STREAMS], pools[i % STREAMS])
                     for i, each in enumerate(trainers)]
            distance = self.check(trainers, lambda i: steps[i].step(), case)

            def over_streams():
                for each in steps:
                    each.step()

            def in_turn():
                for each in steps:
                    each.graph.replay()

            return [(self.forms.seconds_of(call, self.device, 0.02), f"{setting} {way}".strip(), distance, call)
                    for way, call in [("8 streams", over_streams)] + ([] if cpu else [("sequential", in_turn)])]
        ways = []
        apart = self.agreeing(ways, self.settings(case), make)
        _, setting, distance, call = self.quickest(ways)
        others = {way[1]: round(1e6 * way[0] / models, 3) for way in ways}
        return row_of(self.samples(call), models, setting=setting, distance_ppm=distance, settings=others, **apart)

    def together(self, arm, case):
        forms = self.forms

        def make(setting):
            ways = []
            if arm == "torch-hfta":
                trainer = forms.Hfta(case, self.device, setting)
            else:
                trainer = forms.Vmap(case, self.device, setting, arm == "torch-compile")
            for steps in (1, 10) if self.device != "cpu" else (1,):  # of a graph: with ten the host replays less often
                captured = forms.Captured(trainer, steps=steps)
                if steps == 1:
                    distance = self.check([trainer], lambda i: captured.step(), case)
                seconds = forms.seconds_of(captured.step, self.device, 0.02) / steps
                ways.append((seconds, f"{setting} {steps} a graph".strip(), distance, captured))
                if seconds > 2e-3:
                    break
            return ways
        ways = []
        settings = self.cudnn() if case.is_image else self.settings(case) if arm == "torch-hfta" else [""]
        apart = self.agreeing(ways, settings, make)
        _, setting, distance, captured = self.quickest(ways)
        samples = [each / captured.steps for each in self.samples(captured.step)]
        return row_of(samples, case.lanes, setting=setting, distance_ppm=distance,
                      step_us=round(1e6 * statistics.median(samples), 3), **apart)

    def prepare(self, wanted, limit):
        return {}


class JaxWorker:
    def __init__(self, options):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if options.device == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import gpu_peer_jax
        import jax
        self.form, self.jax, self.options, self.compiled = gpu_peer_jax, jax, options, {}

    def versions(self):
        return {"jax": self.jax.__version__, "jax_device": self.jax.devices()[0].device_kind}

    def compile(self, name, lanes):
        case = self.options.load(name, lanes)
        if not case.parts:
            return self.form.Compiled(case, CHUNK_STEPS)
        import concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(max(1, min(12, os.cpu_count() - 1))) as pool:
            return self.form.InTurn(list(pool.map(lambda part: self.form.Compiled(part, CHUNK_STEPS), case.parts)))

    def prepare(self, wanted, limit):
        """Compiles each (case, lanes) in parallel: XLA needs seconds for each, on one core."""
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(max(1, min(12, os.cpu_count() - 1)))
        self.compiled = {tuple(each): pool.submit(self.compile, *each) for each in wanted}
        concurrent.futures.wait(self.compiled.values(), timeout=limit)
        pool.shutdown(wait=False, cancel_futures=True)
        return {"ready": sum(each.done() for each in self.compiled.values()), "of": len(self.compiled)}

    def run(self, arm, case, lanes):
        future = self.compiled.pop((case.name, lanes), None)
        if future is None:
            compiled = self.compile(case.name, lanes)
        elif future.cancelled() or not future.done():
            raise RuntimeError("was not compiled in time (--prepare)")
        else:
            compiled = future.result()
        distance = checked(case, compiled.losses()[:CHECKED_STEPS])
        chunks = compiled.chunk_seconds(self.options.repeats)
        return row_of([each / CHUNK_STEPS for each in chunks], case.lanes, setting=f"scan of {CHUNK_STEPS} steps",
                      distance_ppm=distance, compile_seconds=round(compiled.seconds, 2))


class SearchWorker:
    def __init__(self, options):
        import gpu_peer_search
        self.form, self.options = gpu_peer_search, options

    def versions(self):
        return {}

    def prepare(self, wanted, limit):
        return {}

    def search(self, arm):
        return self.form.search(self.options.device, arm.endswith("graph"), self.options.trials)


def kind_of(arm):
    return "search" if "search" in arm else arm.split("-")[0]


def work(options):
    """Reads tasks and writes results as JSON lines. It ends after an error, because the card's context may be lost."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries is not a result
    def answer(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()
    import gpu_peer_cases
    options.load = lambda name, lanes: gpu_peer_cases.Case(options.folder, name, lanes)
    try:
        worker = {"torch": TorchWorker, "jax": JaxWorker, "search": SearchWorker}[options.worker](options)
        answer({"versions": worker.versions()})
    except Exception as error:
        answer({"status": "failed", "reason": f"{type(error).__name__}: {error}"[:400]})
        return
    for line in sys.stdin:
        task = json.loads(line)
        try:
            if "prepare" in task:
                answer({"prepared": worker.prepare(task["prepare"], task["limit"])})
            elif kind_of(task["arm"]) == "search":
                answer({"row": worker.search(task["arm"])})
            else:
                answer({"row": worker.run(task["arm"], options.load(task["case"], task["lanes"]), task["lanes"])})
        except Disagrees as error:
            answer({"status": "failed", "disagrees": True, "reason": str(error)})
        except Exception as error:
            answer({"status": "failed", "ended": True, "reason": f"{type(error).__name__}: {error}"[:400]})
            os._exit(1)
    os._exit(0)  # threads that compile still are not waited for


# ---- the program -----------------------------------------------------------------------------------------------------


class Worker:
    """A worker process, which starts with its first task and again after an end."""

    def __init__(self, kind, options):
        self.kind, self.options, self.process, self.versions, self.broken = kind, options, None, {}, ""

    def start(self):
        command = [sys.executable, os.path.abspath(__file__), self.options.folder, "--worker", self.kind, "--device",
                   self.options.device, "--repeats", str(self.options.repeats), "--trials", str(self.options.trials)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers = queue.Queue()
        def read(process, answers):
            for line in process.stdout:
                answers.put(json.loads(line))
            answers.put({"status": "failed", "ended": True, "reason": "its process ended"})
        threading.Thread(target=read, args=(self.process, self.answers), daemon=True).start()
        first = self.answer(90)
        if "versions" in first:
            self.versions = first["versions"]
        else:
            self.broken = first["reason"]

    def answer(self, limit):
        try:
            answer = self.answers.get(timeout=max(0.1, limit))
        except queue.Empty:
            answer = {"status": "failed", "ended": True, "reason": f"longer than {limit:.0f} s"}
        if answer.get("ended"):
            self.end()
        return answer

    def ask(self, task, limit):
        if self.process is None and not self.broken:
            self.start()
        if self.broken:
            return {"status": "skipped", "reason": self.broken}
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
        except OSError:
            self.end()
            return {"status": "failed", "reason": "its process ended"}
        return self.answer(limit)

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Book:
    """The results, written to disk after each row."""

    def __init__(self, path):
        self.path, self.all = path, {"v": 1, "rows": []}

    def note(self, row):
        self.all["rows"].append(row)
        self.write()
        value = f"{row['value']:12.3f} {row['unit']:8}" if "value" in row else f"{row['status']}: {row['reason']}"
        print(f"{row['case']:22} {row['arm']:18} {value} {row.get('setting', '')}", flush=True)

    def write(self):
        with open(self.path + ".new", "w") as file:
            json.dump(self.all, file, indent=0)
        os.replace(self.path + ".new", self.path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(each) for each in text.split(",")]
    words = lambda text: text.split(",")
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--lanes", type=numbers, default=[64, 16, 1], help="in this order (default: 64,16,1)")
    parser.add_argument("--cases", type=words, help="these only, in this order")
    parser.add_argument("--arms", type=words, default=ARMS, help="these only: " + ",".join(ARMS))
    parser.add_argument("--out", default="gpu_peers.json")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--limit", type=float, default=20, help="seconds of a case of an arm")
    parser.add_argument("--prepare", type=float, default=90, help="seconds that JAX may compile")
    parser.add_argument("--total", type=float, default=1e9, help="seconds of everything; what is left then is skipped")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--trials", type=int, default=64, help="of the whole searches")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return 0
    unknown = [each for each in options.arms if each not in ARMS]
    if unknown:
        parser.error(f"unknown arm {unknown[0]} (known: {', '.join(ARMS)})")

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import gpu_peer_cases
    known = gpu_peer_cases.names(options.folder)
    cases = options.cases or known
    if missing := [each for each in cases if each not in known]:
        parser.error(f"{options.folder} has no case {missing[0]} (it has: {', '.join(known)})")
    end = time.monotonic() + options.total
    book, workers, disagreed = Book(options.out), {}, False

    def worker_of(arm):
        kind = kind_of(arm)
        return workers.setdefault(kind, Worker(kind, options))

    def do(arm, case, task, limit):
        nonlocal disagreed
        begin = time.monotonic()
        if begin >= end:
            answer = {"status": "skipped", "reason": "no time is left (--total)"}
        else:
            answer = worker_of(arm).ask(task, min(limit, end - begin))
        book.all.update(worker_of(arm).versions)
        disagreed |= bool(answer.get("disagrees"))
        row = answer.get("row") or {"status": answer["status"], "reason": answer["reason"]}
        book.note({"bench": "gpu-peers", "case": case, "arm": arm, **row,
                   "seconds": round(time.monotonic() - begin, 2)})

    try:
        # The cases cells-N have one number of models, and only some arms can train different models.
        def all_different(case):
            return case.startswith("cells-")

        def suits(arm, case):
            return not all_different(case) or arm in ("torch-eager", "torch-graph", "jax")

        for lanes in options.lanes:
            now = [case for case in cases if not all_different(case) or lanes == options.lanes[0]]

            def race(kind):
                for case in now:
                    for arm in options.arms:
                        if kind_of(arm) == kind and suits(arm, case):
                            name = case if all_different(case) else f"{case}/{lanes}"
                            do(arm, name, {"arm": arm, "case": case, "lanes": lanes}, options.limit)

            race("torch")
            if "jax" in options.arms and end > time.monotonic():
                wanted = [[case, lanes] for case in now]
                limit = min(options.prepare, end - time.monotonic())
                worker_of("jax").ask({"prepare": wanted, "limit": limit}, limit + 30)
            race("jax")
        for arm in options.arms:
            if kind_of(arm) == "search":
                do(arm, f"digits-cnn/{options.trials}", {"arm": arm}, max(90, options.limit))
    finally:
        for each in workers.values():
            each.end()
    book.write()
    return 1 if disagreed else 0


sys.exit(main())
