#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "lanista/base/rng.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::engine::testing {

/// A test strategy with random verdicts: a function of its seed and of the events. Derived classes define its
/// proposals.
class RandomVerdictStrategy : public search::Strategy {
 public:
  /// Distribution of its verdicts.
  struct VerdictDistribution {
    double pause_probability = 0, stop_probability = 0;  ///< Probabilities.
    std::int64_t max_epochs_ahead = 1;                   ///< Most epochs that a verdict is valid for.
    bool forgets_ended_trials = true;                    ///< False: it forgets failed trials only.
  };

  RandomVerdictStrategy(std::unique_ptr<search::Strategy> inner, std::int64_t epochs, Rng rng,
                        const VerdictDistribution& distribution)
      : inner_(std::move(inner)), epochs_(epochs), rng_(rng), distribution_(distribution) {}

  void observe(const study::Event& event) override {
    ++events_;
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) known_[proposed->trial] = {proposed->proposal};
    if (const auto* m = std::get_if<study::Measured>(&event)) known_[m->measurement.trial].epoch = m->measurement.epoch;
    if (const auto* paused = std::get_if<study::Paused>(&event)) known_[paused->trial].paused = true;
    if (const auto* resumed = std::get_if<study::Resumed>(&event)) known_[resumed->trial].paused = false;
    if (const auto* ended = std::get_if<study::Ended>(&event)) {
      known_[ended->trial].paused = false;
      const bool failed = ended->outcome.kind == study::OutcomeKind::kFailed;
      if (failed || distribution_.forgets_ended_trials) known_.erase(ended->trial);
    }
    inner_->observe(event);
  }

  search::TrialVerdict verdict(TrialId trial) const override {
    const auto it = known_.find(trial);
    const std::int64_t epoch = it == known_.end() ? 0 : it->second.epoch;
    Rng rng = rng_.split("verdict").split(trial.value).split(static_cast<std::uint64_t>(epoch));
    const double u = rng.uniform();
    const std::int64_t through = epoch + rng.between(1, distribution_.max_epochs_ahead);
    if (u < distribution_.pause_probability) return {study::Verdict::kPause, through};
    if (u < distribution_.pause_probability + distribution_.stop_probability) return {study::Verdict::kStop, through};
    return {study::Verdict::kContinue, through};
  }

 protected:
  struct Known {
    study::Proposal proposal = {};
    std::int64_t epoch = 0;
    bool paused = false;
  };
  using KnownTrials = std::map<TrialId, Known>;

  std::int64_t epochs() const { return epochs_; }
  const KnownTrials& known() const { return known_; }
  const search::Strategy& inner() const { return *inner_; }
  /// Number of the requested answer, and its random stream.
  std::int64_t next_group() const { return static_cast<std::int64_t>(events_) + 1; }
  Rng suggestion_rng() const { return rng_.split("suggest").split(events_); }
  /// Any known trial, or none.
  KnownTrials::const_iterator random_known_trial(Rng& rng) const {
    return known_.empty() ? known_.end()
                          : std::next(known_.begin(), static_cast<std::ptrdiff_t>(rng.below(known_.size())));
  }
  void set_budget(study::Proposal& proposal, Rng& rng) const {
    proposal.horizon = epochs_;
    proposal.budget = rng.between(1, epochs_);
  }

 private:
  std::unique_ptr<search::Strategy> inner_;
  std::int64_t epochs_;
  Rng rng_;
  VerdictDistribution distribution_;
  std::uint64_t events_ = 0;
  KnownTrials known_;
};

}  // namespace lanista::engine::testing
