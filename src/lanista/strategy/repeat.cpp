#include "lanista/strategy/repeat.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "lanista/study/trainings.h"

namespace lanista::strategy {
namespace {

class Repeating final : public Strategy {
 public:
  Repeating(std::unique_ptr<Strategy> inner, study::StrategyConfig config, std::unique_ptr<StoppingRule> rule)
      : inner_(std::move(inner)), config_(std::move(config)), rule_(std::move(rule)) {}

  std::string_view name() const override { return inner_->name(); }

  /// What has begun goes before what is new.
  Result<TrialGroup> suggest(const Capacity& capacity) const override {
    TrialGroup out;
    const auto room = [&] { return capacity.free_slots - static_cast<std::int64_t>(out.proposals.size()); };
    const auto add = [&](study::Proposal proposal, std::int64_t count) {
      for (; count > 0 && room() > 0; --count, ++proposal.repeat) out.proposals.push_back(proposal);
    };
    for (const std::size_t i : unfinished_) {
      study::Proposal proposal = groups_[i].proposal;
      proposal.repeat = groups_[i].tally.proposed;
      add(std::move(proposal), study::trainings_wanted(config_, groups_[i].tally));
    }
    if (room() <= 0) return out;
    auto fresh = inner_->suggest({(room() + config_.repeat - 1) / config_.repeat});
    if (!fresh) return out.proposals.empty() ? Result<TrialGroup>(std::move(fresh).error()) : out;
    for (study::Proposal& proposal : fresh->proposals) {
      if (proposal.parent) proposal.parent = groups_[proposal.parent->value - 1].first;
      add(std::move(proposal), config_.repeat);
    }
    return out;
  }

  void observe(const study::Event& event) override {
    if (rule_) rule_->observe(event);
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      begin(proposed->trial, proposed->proposal);
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      measured_[measured->measurement.trial].push_back(measured->measurement);
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      end(ended->trial, ended->outcome);
    }
  }

  study::Verdict verdict(TrialId trial) const override {
    return rule_ ? rule_->verdict(trial) : study::Verdict::kContinue;
  }
  std::int64_t next_decision(TrialId trial, std::int64_t epoch, std::int64_t budget) const override {
    return rule_ ? rule_->next_decision(trial, epoch, budget) : budget;
  }

 private:
  /// The trainings of one proposal; its number from 1 is the inner strategy's trial.
  struct Group {
    TrialId first;
    study::Proposal proposal;  ///< with repeat 0
    study::Tally tally;
    std::vector<std::vector<study::Measurement>> results;  ///< of the trainings that were not lost, epoch by epoch
  };

  void begin(TrialId trial, const study::Proposal& proposal) {
    study::Proposal decisions = proposal;
    decisions.repeat = 0;
    const Digest key = study::duplicate_key(decisions);
    auto known = group_of_.find(key);
    if (proposal.repeat == 0 || known == group_of_.end()) {
      known = group_of_.insert_or_assign(key, groups_.size()).first;
      groups_.push_back({trial, decisions, {}, {}});
      if (decisions.parent) {
        const auto parent = member_of_.find(*decisions.parent);
        decisions.parent.reset();
        if (parent != member_of_.end()) decisions.parent = inner_id(parent->second);
      }
      inner_->observe(study::Proposed{inner_id(known->second), std::move(decisions)});
    }
    ++groups_[known->second].tally.proposed;
    member_of_[trial] = known->second;
    update(known->second);
  }

  void end(TrialId trial, const study::Outcome& outcome) {
    const auto member = member_of_.find(trial);
    auto measured = measured_.extract(trial);
    if (member == member_of_.end()) return;
    Group& group = groups_[member->second];
    group.tally.count(outcome.kind);
    using Kind = study::OutcomeKind;
    if (measured && (outcome.kind == Kind::kSucceeded || outcome.kind == Kind::kStopped)) {
      group.results.push_back(std::move(measured.mapped()));
    }
    update(member->second);
    if (!study::trainings_done(config_, group.tally)) return;
    study::Outcome joint = outcome;
    joint.kind = study::joint_outcome(config_, group.tally);
    const TrialId id = inner_id(member->second);
    for (const auto& measured_together : study::common_measurements({group.results.begin(), group.results.end()})) {
      study::Measurement average = study::average(config_, measured_together);
      average.trial = id;
      inner_->observe(study::Measured{std::move(average)});
    }
    group.results.clear();
    inner_->observe(study::Ended{id, joint});
  }

  void update(std::size_t group) {
    if (study::trainings_wanted(config_, groups_[group].tally) > 0) {
      unfinished_.insert(group);
    } else {
      unfinished_.erase(group);
    }
  }

  static TrialId inner_id(std::size_t group) { return TrialId{static_cast<std::uint32_t>(group + 1)}; }

  std::unique_ptr<Strategy> inner_;
  study::StrategyConfig config_;
  std::unique_ptr<StoppingRule> rule_;
  std::vector<Group> groups_;
  std::unordered_map<Digest, std::size_t> group_of_;  ///< by what they decide
  std::map<TrialId, std::size_t> member_of_;
  std::map<TrialId, std::vector<study::Measurement>> measured_;  ///< by trainings under way
  std::set<std::size_t> unfinished_;                             ///< groups of which trainings are wanted
};

}  // namespace

std::unique_ptr<Strategy> train_repeatedly(std::unique_ptr<Strategy> inner, const study::StrategyConfig& config,
                                           std::unique_ptr<StoppingRule> rule) {
  return std::make_unique<Repeating>(std::move(inner), config, std::move(rule));
}

}  // namespace lanista::strategy
