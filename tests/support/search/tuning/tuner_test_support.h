#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"

// Tune searches with branches that have known losses.
namespace lanista::study::testing {

/// Indices of tries.
using Indices = std::vector<std::size_t>;

/// The loss of a branch after `step` steps; it starts at 1.
using Curve = std::function<double(std::int64_t step)>;

/// A curve that falls by `speed` per step.
inline Curve falls(double speed) {
  return [speed](std::int64_t step) { return 1 - speed * static_cast<double>(step); };
}
/// A curve that diverges.
inline Curve explodes() {
  return [](std::int64_t) { return 100.0; };
}

/// A search that receives the losses of these curves, one for each try.
struct Scripted {
  std::vector<Curve> curves;
  TuneSearch search;
  std::vector<TuneSearch::Round> rounds;

  Scripted(TuneRules rules, std::vector<Curve> all, std::int64_t longest = 1000, std::int64_t trials = 100,
           bool includes_current = false)
      : curves(std::move(all)),
        search(
            std::move(rules), longest, trials,
            [count = curves.size()](std::span<const Try> tries) -> std::optional<space::Sample> {
              if (tries.size() == count) return std::nullopt;
              return space::Sample{{"lr", static_cast<double>(tries.size())}};
            },
            includes_current) {}
  /// Runs one round.
  void one_round() {
    const TuneSearch::Round round = search.round();
    rounds.push_back(round);
    for (const std::size_t branch : round.branches) {
      std::vector<double> losses;
      for (std::int64_t step = std::ssize(search.tries()[branch].losses) + 1; step <= round.steps; ++step) {
        losses.push_back(curves[branch](step));
      }
      search.add_losses(branch, losses);
    }
    search.end_round();
  }
  /// Runs rounds until the search is over.
  void run() {
    while (!search.round().branches.empty()) {
      ASSERT_LT(rounds.size(), 200U);
      one_round();
    }
  }
  /// Indices of the tries with a branch that still exists.
  Indices alive() const {
    Indices out;
    for (std::size_t i = 0; i < search.tries().size(); ++i) {
      if (search.tries()[i].is_alive) out.push_back(i);
    }
    return out;
  }
};

}  // namespace lanista::study::testing
