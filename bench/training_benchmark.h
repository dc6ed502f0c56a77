#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/bench.h"
#include "bench/model_time_slices.h"
#include "bench/torch_loop.h"
#include "lanista/exec/program/cpu_speed.h"

namespace lanista::bench {

/// The settings and the output of a benchmark of training steps.
struct TrainingBenchmark {
  std::string bench;            ///< Name of the benchmark.
  int repeats = 0;              ///< Rounds of each case.
  bool json = false;            ///< Rows as JSON.
  std::ostream* out = nullptr;  ///< Receives the rows.
  program::CpuSpeed machine;    ///< Measured speed of one core.

  /// Measures the machine, prints its speed, and limits LibTorch to one thread.
  static TrainingBenchmark begin(const BenchRequest& request, std::ostream& out);

  /// Prints one row.
  void print(const BenchRow& row) const;
  /// Prints several rows.
  void print(const std::vector<BenchRow>& rows) const;
  /// Prints a row for each arm, from the values of run_rounds().
  void print_rounds(const std::string& case_name, const std::vector<Arm>& arms,
                    const std::vector<std::vector<double>>& values) const;
  /// Prints the rows of compare_to_best().
  void print_comparison(const std::string& case_name, const std::string& what, const std::string& arm,
                        const std::vector<Arm>& arms, const std::vector<std::vector<double>>& values,
                        const std::function<bool(const std::string&)>& is_other) const;
  /// Prints a row with a single value.
  void print(const std::string& case_name, const std::string& arm, const std::string& unit, double value) const;
  /// Prints the limits of this machine for `models` models that train in turn: limit-flops and limit-bytes.
  void print_limits(const std::string& case_name, const StepInput& work, std::int64_t models) const;
};

/// LibTorch loops for the models of a case in one memory format. They train in turn on one thread.
class TorchLoops {
 public:
  /// Starts with the present weights of `models`.
  TorchLoops(const Case& c, ModelTimeSlices& models, bool channels_last);

  /// Runs one step of a model and returns the loss before it.
  double step(std::size_t model) { return loops_[model].step(batch_); }
  /// Runs kSliceSteps steps of the next model.
  void run_slice();

 private:
  TorchBatch batch_;
  std::vector<TorchLoop> loops_;
  std::size_t turn_ = 0;
};

/// The arm `loop` and, for images, the arm `loop-nhwc`.
class TorchLoopArms {
 public:
  /// Makes the loops and compares them with `models`.
  ///
  /// The first and the last model run 20 steps, in which losses must agree to 1e-4 (relative). Then these models are
  /// reset. Errors: kInternal if losses disagree.
  static Result<TorchLoopArms> make(const Case& c, ModelTimeSlices& models);

  /// Appends the arms.
  void add_to(std::vector<Arm>& arms) const;

 private:
  std::vector<std::pair<std::string, std::shared_ptr<TorchLoops>>> loops_;
};

/// True for the arms of TorchLoopArms.
inline bool is_loop(const std::string& arm) { return arm == "loop" || arm == "loop-nhwc"; }

/// Checks that the losses [step, model] of an arm equal those of ours to the bit. Errors: kInternal with the first
/// difference.
Result<void> check_same_losses(const Case& c, const std::string& arm, const std::vector<double>& ours,
                               const std::vector<double>& theirs, std::size_t models);

}  // namespace lanista::bench
