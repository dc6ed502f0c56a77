#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "lanista/exec/pipeline_parallel/stages.h"

// Times of the passes of a pipeline step on machines where threads share cores with other work.
namespace lanista::bench {

/// Measures the CPU time of the passes of a step, and computes the time of the step on free cores.
///
/// The computation runs the same passes in the same order. Each pass starts when its inputs are complete and its rank
/// is free.
class PassReplay final : public program::StageObserver {
 public:
  /// `stages` are those of the observed program.
  explicit PassReplay(program::Stages stages) : stages_(std::move(stages)) {
    begin_.resize(stages_.ranks.size());
    pass_seconds_.resize(stages_.ranks.size());
  }
  void on_pass_begin(std::size_t rank, const program::StagePass&) override { begin_[rank] = thread_cpu_seconds(); }
  void on_pass_end(std::size_t rank, const program::StagePass&) override {
    pass_seconds_[rank].push_back(thread_cpu_seconds() - begin_[rank]);
  }
  void on_edge_copy(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void on_held_samples(std::uint32_t, std::int64_t) override {}

  /// Seconds of the last step on free cores. Call it after each step. All micro-batches have one size.
  double seconds();

 private:
  program::Stages stages_;
  std::vector<double> begin_;
  std::vector<std::vector<double>> pass_seconds_;
};

}  // namespace lanista::bench
