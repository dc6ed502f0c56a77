#include "lanista/search/halving/standing.h"

#include <utility>

namespace lanista::strategy {
namespace {

class StandingSampler final : public Sampler {
 public:
  StandingSampler(std::unique_ptr<Sampler> inner, study::KeepRule rule)
      : inner_(std::move(inner)), events_(std::move(rule)) {}

  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> draw(std::int64_t count) const override { return inner_->draw(count); }
  void observe(const study::Event& event) override { inner_->observe(events_.seen(event)); }

 private:
  std::unique_ptr<Sampler> inner_;
  StandingEvents events_;
};

class StandingHalving final : public Halving {
 public:
  StandingHalving(std::unique_ptr<Halving> inner, study::KeepRule rule)
      : inner_(std::move(inner)), events_(std::move(rule)) {}

  void observe(const study::Event& event) override { inner_->observe(events_.seen(event)); }
  Ruling verdict(TrialId trial) const override { return inner_->verdict(trial); }
  void limit(std::vector<study::Proposal>& fresh) const override { inner_->limit(fresh); }
  Advance advance(std::int64_t count, bool more_come) const override { return inner_->advance(count, more_come); }

 private:
  std::unique_ptr<Halving> inner_;
  StandingEvents events_;
};

}  // namespace

const study::Event& StandingEvents::seen(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    open_[proposed->trial] = {study::Kept(rule_, proposed->proposal.sample), {}};
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const auto known = open_.find(measured->measurement.trial);
    if (known == open_.end()) return event;
    Trial& trial = known->second;
    if (trial.kept.observe(measured->measurement)) {
      trial.metrics = measured->measurement.metrics;
    } else {
      study::Measured standing = *measured;
      standing.measurement.metrics = trial.metrics;
      changed_ = std::move(standing);
      return changed_;
    }
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    open_.erase(ended->trial);
  }
  return event;
}

std::unique_ptr<Sampler> told_standing_results(std::unique_ptr<Sampler> inner, const study::KeepRule& rule) {
  if (!rule.picks()) return inner;
  return std::make_unique<StandingSampler>(std::move(inner), rule);
}

std::unique_ptr<Halving> told_standing_results(std::unique_ptr<Halving> inner, const study::KeepRule& rule) {
  if (!rule.picks()) return inner;
  return std::make_unique<StandingHalving>(std::move(inner), rule);
}

}  // namespace lanista::strategy
