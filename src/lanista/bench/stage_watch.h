#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lanista/nn/stages.h"

// What the passes of a step in stages take, on machines where threads do not get cores of their own.
namespace lanista::bench {

/// Seconds that this thread has had of a core.
double cpu_seconds();

/// Seconds of a core of every pass of a step whose stages are single operators.
class Stopwatch final : public nn::StageObserver {
 public:
  explicit Stopwatch(std::size_t places) : places_(places) {}
  void begins(std::size_t place, const nn::StagePass&) override { places_[place].begin = cpu_seconds(); }
  void ends(std::size_t place, const nn::StagePass& pass) override {
    Place& own = places_[place];
    own.times[{pass.stage, pass.kind}].push_back(cpu_seconds() - own.begin);
  }
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  /// Of a stage's passes at the place that has it.
  std::vector<double> times(std::size_t place, std::uint32_t stage, nn::StagePass::Kind kind) const;

 private:
  struct Place {
    double begin = 0;
    std::map<std::pair<std::uint32_t, nn::StagePass::Kind>, std::vector<double>> times;
  };
  std::vector<Place> places_;  // a thread each
};

/// What passes take of a core while two threads do them, and what a step would take of two cores that nobody else
/// wants: the same passes in the same order, each when what it waits for has ended.
class Replay final : public nn::StageObserver {
 public:
  explicit Replay(nn::Stages stages) : stages_(std::move(stages)) {
    begin_.resize(stages_.places.size());
    took_.resize(stages_.places.size());
  }
  void begins(std::size_t place, const nn::StagePass&) override { begin_[place] = cpu_seconds(); }
  void ends(std::size_t place, const nn::StagePass&) override { took_[place].push_back(cpu_seconds() - begin_[place]); }
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
