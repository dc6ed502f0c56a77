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

/// What a race of training steps fixes for all of its cases.
struct TrainingBenchmark {
  std::string bench;
  int repeats = 0;
  bool json = false;
  std::ostream* out = nullptr;
  nn::CpuSpeed machine;

  /// Measures the machine and prints what it can do; LibTorch has one thread from here on.
  static TrainingBenchmark begin(const BenchRequest& request, std::ostream& out);

  void print(const BenchRow& row) const;
  void print(const std::vector<BenchRow>& rows) const;
  /// Samples of rounds().
  void print_rounds(const std::string& case_name, const std::vector<Arm>& arms,
                    const std::vector<std::vector<double>>& values) const;
  /// The rows of standing().
  void print_comparison(const std::string& case_name, const std::string& what, const std::string& arm,
                        const std::vector<Arm>& arms, const std::vector<std::vector<double>>& values,
                        const std::function<bool(const std::string&)>& is_other) const;
  /// A figure that was not sampled.
  void print(const std::string& case_name, const std::string& arm, const std::string& unit, double value) const;
  /// The work that no program can avoid, over the machine's speed: limit-flops and limit-bytes.
  void print_limits(const std::string& case_name, const StepInput& work, std::int64_t models) const;
};

/// LibTorch's loops of a case in one memory format, one for each of its models, on one thread.
class TorchLoops {
 public:
  /// From the models as they are now.
  TorchLoops(const Case& c, ModelTimeSlices& models, bool channels_last);

  double step(std::size_t model) { return loops_[model].step(batch_); }
  /// Some steps of the model whose turn it is.
  void run_slice();

 private:
  TorchBatch batch_;
  std::vector<TorchLoop> loops_;
  std::size_t turn_ = 0;
};

/// Arms `loop` and, for images, `loop-nhwc`.
class TorchLoopArms {
 public:
  /// Takes the first model and the last through 20 steps, in which losses must agree to 1e-4 (relative); puts the
  /// models back to their start. Errors: kInternal where they disagree.
  static Result<TorchLoopArms> make(const Case& c, ModelTimeSlices& models);

  void add_to(std::vector<Arm>& arms) const;

 private:
  std::vector<std::pair<std::string, std::shared_ptr<TorchLoops>>> loops_;
};

inline bool is_loop(const std::string& arm) { return arm == "loop" || arm == "loop-nhwc"; }

/// kInternal with the first place where an arm's losses [step, model] are not those of ours, to the bit.
Result<void> check_same_losses(const Case& c, const std::string& arm, const std::vector<double>& ours,
                               const std::vector<double>& theirs, std::size_t models);

}  // namespace lanista::bench
