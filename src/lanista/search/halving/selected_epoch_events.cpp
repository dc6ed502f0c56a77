#include "lanista/search/halving/selected_epoch_events.h"

#include <utility>

namespace lanista::search {
namespace {

class SelectedEpochSampler final : public Sampler {
 public:
  SelectedEpochSampler(std::unique_ptr<Sampler> inner, study::SelectionRule rule)
      : inner_(std::move(inner)), events_(std::move(rule)) {}

  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> sample_proposals(std::int64_t count) const override { return inner_->sample_proposals(count); }
  void observe(const study::Event& event) override { inner_->observe(events_.translate(event)); }

 private:
  std::unique_ptr<Sampler> inner_;
  SelectedEpochEvents events_;
};

class SelectedEpochHalving final : public Halving {
 public:
  SelectedEpochHalving(std::unique_ptr<Halving> inner, study::SelectionRule rule)
      : inner_(std::move(inner)), events_(std::move(rule)) {}

  void observe(const study::Event& event) override { inner_->observe(events_.translate(event)); }
  TrialVerdict verdict(TrialId trial) const override { return inner_->verdict(trial); }
  void assign_budgets(std::vector<study::Proposal>& fresh) const override { inner_->assign_budgets(fresh); }
  Promotions advance(std::int64_t count, bool has_new_trials) const override {
    return inner_->advance(count, has_new_trials);
  }

 private:
  std::unique_ptr<Halving> inner_;
  SelectedEpochEvents events_;
};

}  // namespace

const study::Event& SelectedEpochEvents::translate(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    open_[proposed->trial] = {study::EpochSelector(rule_, proposed->proposal.sample), {}};
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const auto known = open_.find(measured->measurement.trial);
    if (known == open_.end()) return event;
    Trial& trial = known->second;
    if (trial.epoch_selector.observe(measured->measurement)) {
      trial.metrics = measured->measurement.metrics;
    } else {
      study::Measured with_selected_metrics = *measured;
      with_selected_metrics.measurement.metrics = trial.metrics;
      changed_ = std::move(with_selected_metrics);
      return changed_;
    }
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    open_.erase(ended->trial);
  }
  return event;
}

std::unique_ptr<Sampler> with_selected_epochs(std::unique_ptr<Sampler> inner, const study::SelectionRule& rule) {
  if (!rule.selects_best()) return inner;
  return std::make_unique<SelectedEpochSampler>(std::move(inner), rule);
}

std::unique_ptr<Halving> with_selected_epochs(std::unique_ptr<Halving> inner, const study::SelectionRule& rule) {
  if (!rule.selects_best()) return inner;
  return std::make_unique<SelectedEpochHalving>(std::move(inner), rule);
}

}  // namespace lanista::search
