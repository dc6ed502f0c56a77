#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lanista/bench/arms.h"
#include "lanista/nn/stages.h"
#include "lanista/pipeline/simulate.h"

// What the passes of a step in stages take, on machines where threads do not get cores of their own.
namespace lanista::bench {

/// Seconds of a core of every pass of a step whose stages are single operators, all at one place.
class Stopwatch final : public nn::StageObserver {
 public:
  void begins(std::size_t, const nn::StagePass&) override { begin_ = thread_seconds(); }
  void ends(std::size_t, const nn::StagePass& pass) override {
    times[{pass.stage, pass.kind}].push_back(thread_seconds() - begin_);
  }
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  std::map<std::pair<std::uint32_t, nn::StagePass::Kind>, std::vector<double>> times;

 private:
  double begin_ = 0;
};

/// When the passes of the step that was done last began and ended, by the clock: what a simulated course is beside.
class Witness final : public nn::StageObserver {
 public:
  explicit Witness(std::size_t places) : spans_(places) {}
  void begins(std::size_t place, const nn::StagePass& pass) override;
  void ends(std::size_t place, const nn::StagePass& pass) override;
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  /// From the first pass on; what is seen next is another step.
  pipeline::Course take();

 private:
  std::vector<std::vector<pipeline::Span>> spans_;  // of each place, whose thread alone writes them
};

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
