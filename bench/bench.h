#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::bench {

/// The options of one call of `lanista bench`. A benchmark reads those that it has and ignores the rest.
struct BenchRequest {
  std::string name;                  ///< Name of the benchmark.
  int repeats = 0;                   ///< Measurements of each arm; 0: the default of the benchmark, at least five.
  bool json = false;                 ///< Rows as JSON, one object a line.
  std::vector<std::string> cases;    ///< Names of cases; empty: all.
  std::vector<std::int64_t> lanes;   ///< Fuse, gpu: numbers of models; empty: 1, 2, 4, … 64 (gpu: 1, 16, 64, 256).
  std::string file;                  ///< Tabular, profiles, cluster: path of the input table.
  std::string column;                ///< Tabular: name of the columns; empty: cifar10.
  std::string strategy;              ///< Name of one strategy or arm; empty: all.
  std::string data;                  ///< Cluster: folder of the traces.
  int seeds = 0;                     ///< Seeds, groups or graphs of a case; 0: the default of the benchmark.
  std::int64_t queries = 0;          ///< Trials of a search, or models of a stream; 0: the default of the benchmark.
  std::int64_t epochs = 0;           ///< Tabular: epochs of a simulated learning curve; 0: only final values.
  std::int64_t slots = 0;            ///< Functions, tabular: trials that train at a time; 0: one.
  bool two_goals = false;            ///< Tabular: few weights is a second goal.
  bool worst = false;                ///< Fluid: random groups with wrong predictions.
  std::uint64_t seed = 20;           ///< Seed of these groups, and of the graphs of pipeline.
  std::vector<std::string> devices;  ///< Gpu: names of devices; empty: torch:cuda:0.
  double peak_tflops = 67;           ///< Gpu: 1e12 float32 operations a second of the card; the default is an H100.
  double bandwidth_gbs = 3350;       ///< Gpu: 1e9 bytes a second of the card's memory; the default is an H100.
  std::string write;                 ///< Gpu: folder to which cases are written; empty: arms are timed.
};

/// One benchmark of the program.
struct Benchmark {
  std::string name;                                                     ///< As in `lanista bench NAME`.
  std::string help;                                                     ///< One line for `--list`.
  std::function<Result<void>(const BenchRequest&, std::ostream&)> run;  ///< Prints its rows to the stream.
};

/// The benchmarks of training steps.
///
/// `train-step` and `fuse` are in it if LibTorch is, `gpu` if exec/backends is. They do not depend on studies.
std::vector<Benchmark> training_benchmarks();

/// All benchmarks of this program. Without engine/local they are training_benchmarks().
std::vector<Benchmark> benchmarks();

/// Runs the benchmark `request.name`.
///
/// The arms of a case run in turn, and the value of an arm is the median over repeats. Prints one row for each arm of
/// each case: {"bench","case","arm","value","unit","repeats","spread"}. Errors: kNotFound for an unknown name, with the
/// nearest one; kInternal if arms disagree on results.
Result<void> run(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
