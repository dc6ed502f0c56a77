#include <algorithm>
#include <utility>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {
namespace {

class Composed final : public Strategy {
 public:
  Composed(std::unique_ptr<Sampler> sampler, std::unique_ptr<Halving> halving)
      : sampler_(std::move(sampler)), halving_(std::move(halving)) {}

  std::string_view name() const override { return sampler_->name(); }

  Result<Suggestion> suggest(const Capacity& capacity) const override {
    Suggestion out;
    std::vector<Member>& members = out.group.members;
    Promotions next = halving_ ? halving_->advance(capacity.free_slots, true) : Promotions{};
    members = std::move(next.members);
    std::int64_t taken = 0;
    for (const Member& member : members) taken += std::holds_alternative<ResumeTrial>(member) ? 1 : 0;
    const std::int64_t num_new = std::min({capacity.free_slots - taken, capacity.new_trials, next.max_new_trials});
    Result<Suggestion> suggestion = num_new > 0 ? sampler_->sample_proposals(num_new) : Suggestion::space_exhausted();
    bool held = next.max_new_trials <= 0;  // Whether new trials exist but may not begin yet.
    if (suggestion && suggestion->kind == Suggestion::Kind::kGroup) held = !add(suggestion->proposals(), members);
    if (!members.empty()) return out;

    const bool later = held || (suggestion && suggestion->kind == Suggestion::Kind::kWait);
    if (halving_ && (!later || capacity.running == 0)) {
      members = halving_->advance(capacity.free_slots, false).members;
      if (!members.empty()) return out;
    }
    if (held) return capacity.running > 0 ? Suggestion::wait() : Suggestion::space_exhausted();
    if (!suggestion || suggestion->kind == Suggestion::Kind::kWait) return suggestion;
    return may_resume(capacity) ? Suggestion::wait() : Suggestion::space_exhausted();
  }

  void observe(const study::Event& event) override {
    if (halving_) halving_->observe(event);
    sampler_->observe(event);
  }

  TrialVerdict verdict(TrialId trial) const override { return halving_ ? halving_->verdict(trial) : kContinueToBudget; }

 private:
  /// Adds the proposals that may begin. True if there is one.
  bool add(std::vector<study::Proposal> fresh, std::vector<Member>& members) const {
    if (halving_) halving_->assign_budgets(fresh);
    for (study::Proposal& proposal : fresh) members.emplace_back(NewTrial{std::move(proposal)});
    return !fresh.empty();
  }
  /// True if a running trial may still cause the promotion of a paused one.
  bool may_resume(const Capacity& capacity) const {
    return halving_ != nullptr && capacity.paused > 0 && capacity.running > 0;
  }

  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Halving> halving_;
};

}  // namespace

std::vector<study::Proposal> TrialGroup::proposals() const {
  std::vector<study::Proposal> out;
  for (const Member& member : members) {
    if (const auto* fresh = std::get_if<NewTrial>(&member)) out.push_back(fresh->proposal);
  }
  return out;
}

std::unique_ptr<Strategy> compose(std::unique_ptr<Sampler> sampler, std::unique_ptr<Halving> halving) {
  return std::make_unique<Composed>(std::move(sampler), std::move(halving));
}

}  // namespace lanista::search
