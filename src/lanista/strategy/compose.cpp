#include <algorithm>
#include <utility>

#include "lanista/strategy/strategy.h"

namespace lanista::strategy {
namespace {

class Composed final : public Strategy {
 public:
  Composed(std::unique_ptr<Sampler> sampler, std::unique_ptr<Halving> halving)
      : sampler_(std::move(sampler)), halving_(std::move(halving)) {}

  std::string_view name() const override { return sampler_->name(); }

  Result<Suggestion> suggest(const Capacity& capacity) const override {
    Suggestion out;
    std::vector<Member>& members = out.group.members;
    if (halving_) members = halving_->resume(capacity.free_slots);
    std::int64_t taken = 0;
    for (const Member& member : members) taken += std::holds_alternative<ResumeTrial>(member) ? 1 : 0;
    const std::int64_t room = std::min(capacity.free_slots - taken, capacity.new_trials);
    if (room <= 0) {
      if (!members.empty()) return out;
      return may_resume(capacity) ? Suggestion::wait() : Suggestion::nothing_left();
    }
    auto drawn = sampler_->draw(room);
    if (!members.empty() && (!drawn || drawn->kind != Suggestion::Kind::kGroup)) return out;
    if (!drawn) return drawn;
    if (drawn->kind == Suggestion::Kind::kNothingLeft) {
      return may_resume(capacity) ? Suggestion::wait() : *std::move(drawn);
    }
    if (drawn->kind == Suggestion::Kind::kWait) return drawn;
    std::vector<study::Proposal> fresh = drawn->proposals();
    if (halving_) halving_->limit(fresh);
    for (study::Proposal& proposal : fresh) members.emplace_back(NewTrial{std::move(proposal)});
    return out;
  }

  void observe(const study::Event& event) override {
    if (halving_) halving_->observe(event);
    sampler_->observe(event);
  }

  Ruling verdict(TrialId trial) const override { return halving_ ? halving_->verdict(trial) : kGoOn; }

 private:
  /// What runs may yet give somebody who rests a reason to go on.
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

}  // namespace lanista::strategy
