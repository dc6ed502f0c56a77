#include "lanista/search/sampler/earlier_trials.h"

#include <utility>

#include "lanista/search/halving/selected_epoch_events.h"

namespace lanista::search {
namespace {

/// Passes events and proposals on, without parents of the earlier study.
class EarlierSampler final : public Sampler {
 public:
  explicit EarlierSampler(std::unique_ptr<Sampler> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  void observe(const study::Event& event) override { inner_->observe(event); }
  Result<Suggestion> sample_proposals(std::int64_t count) const override {
    auto suggestion = inner_->sample_proposals(count);
    if (!suggestion) return suggestion;
    for (Member& member : suggestion->group.members) {
      auto* fresh = std::get_if<NewTrial>(&member);
      if (fresh == nullptr || !fresh->proposal.parent) continue;
      if (fresh->proposal.parent->value >= study::kFirstEarlierTrialId) fresh->proposal.parent.reset();
    }
    return suggestion;
  }

 private:
  std::unique_ptr<Sampler> inner_;
};

}  // namespace

std::unique_ptr<Sampler> with_earlier_trials(std::unique_ptr<Sampler> inner, const study::Earlier& earlier,
                                             const study::SelectionRule& rule) {
  if (earlier.trials.empty()) return inner;
  SelectedEpochEvents standing(rule);
  const auto feed_event = [&](study::Event event) {
    inner->observe(rule.selects_best() ? standing.translate(std::move(event)) : std::move(event));
  };
  std::uint32_t number = study::kFirstEarlierTrialId;
  for (const study::EarlierTrial& trial : earlier.trials) {
    const TrialId id{number++};
    feed_event(study::Proposed{id, trial.proposal});
    for (study::Measurement each : trial.measurements) {
      each.trial = id;
      feed_event(study::Measured{std::move(each)});
    }
    feed_event(study::Ended{id, {trial.outcome, "", {}, "", {}}});
  }
  return std::make_unique<EarlierSampler>(std::move(inner));
}

}  // namespace lanista::search
