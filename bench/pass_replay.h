#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "lanista/exec/pipeline_parallel/stages.h"

// What the passes of a step in stages take, on machines where threads do not get cores of their own.
namespace lanista::bench {

/// What passes take of a core while two threads do them, and what a step would take of two cores that nobody else
/// wants: the same passes in the same order, each when what it waits for has ended.
class PassReplay final : public nn::StageObserver {
 public:
  explicit PassReplay(nn::Stages stages) : stages_(std::move(stages)) {
    begin_.resize(stages_.ranks.size());
    pass_seconds_.resize(stages_.ranks.size());
  }
  void on_pass_begin(std::size_t place, const nn::StagePass&) override { begin_[place] = thread_cpu_seconds(); }
  void on_pass_end(std::size_t place, const nn::StagePass&) override {
    pass_seconds_[place].push_back(thread_cpu_seconds() - begin_[place]);
  }
  void on_edge_copy(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void on_held_samples(std::uint32_t, std::int64_t) override {}

  /// Of the step that was done last; micro-batches are of equal sizes.
  double seconds();

 private:
  nn::Stages stages_;
  std::vector<double> begin_;
  std::vector<std::vector<double>> pass_seconds_;
};

}  // namespace lanista::bench
