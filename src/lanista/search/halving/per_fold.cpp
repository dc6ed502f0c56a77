#include "lanista/search/halving/per_fold.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::search {
namespace {

class PerFold final : public Halving {
 public:
  explicit PerFold(std::vector<std::unique_ptr<Halving>> halvings) : halvings_(std::move(halvings)) {
    LANISTA_CHECK(!halvings_.empty(), "a halving for every fold");
  }

  void observe(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      fold_of_[proposed->trial] = fold_index(proposed->proposal);
    }
    halving_of(std::visit([](const auto& e) { return trial_of(e); }, event)).observe(event);
  }

  TrialVerdict verdict(TrialId trial) const override { return halving_of(trial).verdict(trial); }

  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    for (std::size_t fold = 0; fold < halvings_.size(); ++fold) {
      std::vector<study::Proposal> own;
      for (const study::Proposal& proposal : fresh) {
        if (fold_index(proposal) == fold) own.push_back(proposal);
      }
      if (own.empty()) continue;
      halvings_[fold]->assign_budgets(own);
      std::size_t next = 0;
      std::erase_if(fresh, [&](study::Proposal& proposal) {
        if (fold_index(proposal) != fold) return false;
        if (next == own.size()) return true;
        proposal = std::move(own[next++]);
        return false;
      });
    }
  }

  Promotions advance(std::int64_t count, bool has_new_trials) const override {
    Promotions out{{}, 0};
    for (const auto& halving : halvings_) {
      Promotions part = halving->advance(count, has_new_trials);
      for (Member& member : part.members) {
        count -= std::holds_alternative<ResumeTrial>(member) ? 1 : 0;
        out.members.push_back(std::move(member));
      }
      out.max_new_trials +=
          std::min(part.max_new_trials, std::numeric_limits<std::int64_t>::max() - out.max_new_trials);
    }
    return out;
  }

 private:
  static TrialId trial_of(const study::Measured& measured) { return measured.measurement.trial; }
  template <class Event>
  static TrialId trial_of(const Event& event) {
    return event.trial;
  }

  std::size_t fold_index(const study::Proposal& proposal) const {
    return std::min(static_cast<std::size_t>(proposal.fold.value_or(0)), halvings_.size() - 1);
  }
  Halving& halving_of(TrialId trial) const {
    const auto it = fold_of_.find(trial);
    return *halvings_[it == fold_of_.end() ? 0 : it->second];
  }

  std::vector<std::unique_ptr<Halving>> halvings_;
  std::map<TrialId, std::size_t> fold_of_;
};

}  // namespace

std::unique_ptr<Halving> halving_per_fold(std::vector<std::unique_ptr<Halving>> one_a_fold) {
  return std::make_unique<PerFold>(std::move(one_a_fold));
}

}  // namespace lanista::search
