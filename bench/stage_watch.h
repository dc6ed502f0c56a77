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
class Replay final : public nn::StageObserver {
 public:
  explicit Replay(nn::Stages stages) : stages_(std::move(stages)) {
    begin_.resize(stages_.places.size());
    took_.resize(stages_.places.size());
  }
  void begins(std::size_t place, const nn::StagePass&) override { begin_[place] = thread_seconds(); }
  void ends(std::size_t place, const nn::StagePass&) override {
    took_[place].push_back(thread_seconds() - begin_[place]);
  }
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  /// Of the step that was done last; micro-batches are of equal sizes.
  double seconds();

 private:
  nn::Stages stages_;
  std::vector<double> begin_;
  std::vector<std::vector<double>> took_;
};

}  // namespace lanista::bench
