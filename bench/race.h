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
#include "bench/model_turns.h"
#include "bench/torch_loop.h"
#include "lanista/exec/program/machine_speed.h"

namespace lanista::bench {

/// What a race of training steps fixes for all of its cases.
struct Race {
  std::string bench;
  int repeats = 0;
  bool json = false;
  std::ostream* out = nullptr;
  nn::MachineSpeed machine;

  /// Measures the machine and prints what it can do; LibTorch has one thread from here on.
  static Race begin(const Request& request, std::ostream& out);

  void print(const Row& row) const;
  void print(const std::vector<Row>& rows) const;
  /// Samples of rounds().
  void print_rounds(const std::string& case_name, const std::vector<Arm>& arms,
                    const std::vector<std::vector<double>>& values) const;
  /// The rows of standing().
  void print_standing(const std::string& case_name, const std::string& what, const std::string& arm,
                      const std::vector<Arm>& arms, const std::vector<std::vector<double>>& values,
                      const std::function<bool(const std::string&)>& is_other) const;
  /// A figure that was not sampled.
  void print(const std::string& case_name, const std::string& arm, const std::string& unit, double value) const;
  /// The work that no program can avoid, over the machine's speed: limit-flops and limit-bytes.
  void print_limits(const std::string& case_name, const StepWork& work, std::int64_t models) const;
};

/// LibTorch's loops of a case in one memory format, one for each of its models, on one thread.
class Loops {
 public:
  /// From the models as they are now.
  Loops(const Case& c, ModelTurns& models, bool channels_last);

  double step(std::size_t model) { return loops_[model].step(batch_); }
  /// Some steps of the model whose turn it is.
  void burst();

 private:
  TorchBatch batch_;
  std::vector<TorchLoop> loops_;
  std::size_t turn_ = 0;
};

/// Arms `loop` and, for images, `loop-nhwc`.
class LoopArms {
 public:
  /// Takes the first model and the last through 20 steps, in which losses must agree to 1e-4 (relative); puts the
  /// models back to their start. Errors: kInternal where they disagree.
  static Result<LoopArms> make(const Case& c, ModelTurns& models);

  void add_to(std::vector<Arm>& arms) const;

 private:
  std::vector<std::pair<std::string, std::shared_ptr<Loops>>> loops_;
};

inline bool is_loop(const std::string& arm) { return arm == "loop" || arm == "loop-nhwc"; }

/// kInternal with the first place where an arm's losses [step, model] are not those of ours, to the bit.
Result<void> check_equal(const Case& c, const std::string& arm, const std::vector<double>& ours,
                         const std::vector<double>& theirs, std::size_t models);

}  // namespace lanista::bench
