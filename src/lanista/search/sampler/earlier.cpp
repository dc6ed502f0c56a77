#include "lanista/search/sampler/earlier.h"

#include <utility>

#include "lanista/search/halving/standing.h"

namespace lanista::strategy {
namespace {

class EarlierSampler final : public Sampler {
 public:
  explicit EarlierSampler(std::unique_ptr<Sampler> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  void observe(const study::Event& event) override { inner_->observe(event); }
  Result<Suggestion> draw(std::int64_t count) const override {
    auto drawn = inner_->draw(count);
    if (!drawn) return drawn;
    for (Member& member : drawn->group.members) {
      auto* fresh = std::get_if<NewTrial>(&member);
      if (fresh == nullptr || !fresh->proposal.parent) continue;
      if (fresh->proposal.parent->value >= study::kFirstEarlier) fresh->proposal.parent.reset();
    }
    return drawn;
  }

 private:
  std::unique_ptr<Sampler> inner_;
};

}  // namespace

std::unique_ptr<Sampler> told_of_earlier(std::unique_ptr<Sampler> inner, const study::Earlier& earlier,
                                         const study::KeepRule& rule) {
  if (earlier.trials.empty()) return inner;
  StandingEvents standing(rule);
  const auto tell = [&](study::Event event) {
    inner->observe(rule.picks() ? standing.seen(std::move(event)) : std::move(event));
  };
  std::uint32_t number = study::kFirstEarlier;
  for (const study::EarlierTrial& trial : earlier.trials) {
    const TrialId id{number++};
    tell(study::Proposed{id, trial.proposal});
    for (study::Measurement each : trial.measurements) {
      each.trial = id;
      tell(study::Measured{std::move(each)});
    }
    tell(study::Ended{id, {trial.outcome, "", {}, "", {}}});
  }
  return std::make_unique<EarlierSampler>(std::move(inner));
}

}  // namespace lanista::strategy
