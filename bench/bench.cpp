#include "bench/bench.h"

#include <ostream>

#include "bench/adaptive.h"
#include "bench/cluster.h"
#include "bench/fluid.h"
#include "bench/folds.h"
#include "bench/fork.h"
#include "bench/function_benchmark.h"
#include "bench/halving_real.h"
#include "bench/lanes.h"
#include "bench/lineage.h"
#include "bench/merged.h"
#include "bench/mltuner.h"
#include "bench/overhead.h"
#include "bench/pack_hyperband.h"
#include "bench/pipeline.h"
#include "bench/pipeline_real.h"
#include "bench/prefix.h"
#include "bench/selective.h"
#include "bench/tabular.h"
#include "bench/warm_start.h"
#include "bench/zoo_match.h"

namespace lanista::bench {
namespace {

using Runner = Result<void> (*)(int repeats, bool json, std::ostream& out);

/// A benchmark with no other options than `repeats` and `json`.
Benchmark plain(std::string name, std::string help, Runner runner, int repeats = 5) {
  return {std::move(name), std::move(help), [=](const BenchRequest& request, std::ostream& out) {
            return runner(request.repeats > 0 ? request.repeats : repeats, request.json, out);
          }};
}

}  // namespace

std::vector<Benchmark> benchmarks() {
  std::vector<Benchmark> all{
      plain("adaptive",
            "batches that follow gradient noise against fixed ones, and the time to measure it; repeats are seeds",
            adaptive, 7),
      {"cluster", "simulated: jobs of a workload (--file, --data) on 16 nodes of 4 devices, average completion time",
       cluster},
      {"fluid", "simulated: schedulers of trial groups on 4 to 64 workers, makespan over the dual bound; --worst",
       fluid},
      plain("folds", "one proposal on five folds as lanes that share augmentation, against five trials one by one",
            folds, 11),
      plain("fork", "forks of a trial's state, in memory and through a checkpoint, over a copy of its bytes", fork, 11),
      {"functions", "strategies on functions with a known minimum: regret after 10 to 100 trainings", functions},
      {"halving-real",
       "successive halving on two workers, measured: ours, one trial a worker, the simulation of both, the bound",
       halving_real},
      plain("lanes", "trials that stop early in the lanes of a program; arms masked, compacted, refilled; occupancy",
            lanes),
      plain("lineage", "common parts of 1,000 mutated models of 300 nodes, by ids and by structure; edits and replay",
            lineage),
      {"merged", "the most that merged operators of different models gain, for 1 to 64 models on one thread", merged},
      {"mltuner", "steps to a target accuracy with all tuning: branches inside a trial against whole trainings",
       mltuner},
      plain("overhead", "engine, strategy and log around 100,000 trials that do nothing; arms ours (with log), memory",
            overhead),
      {"pack-hyperband",
       "Hyperband on two workers, measured: trials alone, with shared samples, as lanes; and the limit of sharing",
       pack_hyperband},
      {"pipeline",
       "simulated: GraphPipe's models on 4 to 32 devices, samples a second with PipeDream, Piper, ours, split backward",
       pipeline},
      plain("pipeline-real",
            "pipelines of models with branches on two threads, measured: against one thread, bounds and the simulation",
            pipeline_real),
      plain("prefix",
            "1 to 16 models with one augmentation or frozen backbone; arms apart, shared, materialised, and the limit",
            prefix, 21),
      {"profiles", "simulated: 1,000 measured models (--file) on 4 GPUs, makespan over the ideal bound", profiles},
      plain("selective",
            "training on selected examples against all of them, with wrong labels, rare classes; repeats are seeds",
            selective),
      {"tabular", "strategies against random search on a table of accuracies (--file), a query a trial", tabular},
      {"warm-start",
       "steps of NAS-Bench-201 cells in the order of an evolution to a target, with random, parent and zoo weights",
       warm_start},
      {"zoo-match", "the best start among 250, 2,500 and 25,000 models: with all aligned, with a bound, by hash",
       zoo_match}};
  for (Benchmark& training_benchmark : training_benchmarks()) all.push_back(std::move(training_benchmark));
  return all;
}

}  // namespace lanista::bench
