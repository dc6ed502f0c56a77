#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::bench {

struct BenchRequest {
  std::string name;
  int repeats = 0;  ///< 0: the benchmark's own choice, at least five
  bool json = false;
  // Of train-step, fuse, gpu and fluid; empty: all, and 1, 2, 4, ... 64 (gpu: 1, 16, 64, 256).
  std::vector<std::string> cases;
  std::vector<std::int64_t> lanes;
  // Of tabular, fluid and profiles; empty or 0: its own choice.
  std::string file, column, strategy;
  std::string data;  ///< of cluster: the folder of traces
  int seeds = 0;
  std::int64_t queries = 0;
  std::int64_t epochs = 0;  ///< of a simulated curve; 0: only final values
  std::int64_t slots = 0;
  bool two_goals = false;
  bool worst = false;       ///< of fluid: random groups with wrong predictions
  std::uint64_t seed = 20;  ///< of these groups
  // Of gpu: names of devices (empty: torch:cuda:0), what the card can do, and the folder to write cases to (empty: it
  // times).
  std::vector<std::string> devices;
  double peak_tflops = 67, bandwidth_gbs = 3350;  ///< an H100's, float32
  std::string write;
};

struct Benchmark {
  std::string name;
  std::string help;
  std::function<Result<void>(const BenchRequest&, std::ostream&)> run;
};
/// Races of training steps: against LibTorch, where it is, and on devices, where their room is. They stand on rooms nn
/// and device alone.
std::vector<Benchmark> training_benchmarks();
/// All that this program was built with: the races, and where there are studies, the others.
std::vector<Benchmark> benchmarks();

/// Runs a benchmark; arms of a case run interleaved, the value is the median over repeats. Prints one row a (case,
/// arm):
/// {"bench","case","arm","value","unit","repeats","spread"}. Errors: kNotFound with the known names; kInternal if arms
/// disagree on results.
Result<void> run(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
