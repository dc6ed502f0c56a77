#include "lanista/search/sampler/repeat.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "lanista/search/study/trainings.h"

namespace lanista::strategy {
namespace {

class RepeatingSampler final : public Sampler {
 public:
  RepeatingSampler(std::unique_ptr<Sampler> inner, study::StudyConfig config)
      : inner_(std::move(inner)), config_(std::move(config)), each_(study::trainings_per_proposal(config_)) {}

  std::string_view name() const override { return inner_->name(); }

  /// What has begun goes before what is new.
  Result<Suggestion> sample_proposals(std::int64_t count) const override {
    Suggestion out;
    std::vector<Member>& members = out.group.members;
    const auto room = [&] { return count - std::ssize(members); };
    const auto add = [&](study::Proposal proposal, std::int64_t times, const std::set<std::int64_t>& folds) {
      auto fold = folds.begin();
      for (; times > 0 && room() > 0; --times, ++proposal.repeat) {
        if (fold != folds.end()) proposal.fold = *fold++;
        members.emplace_back(NewTrial{proposal});
      }
    };
    for (const std::size_t i : unfinished_) {
      study::Proposal proposal = groups_[i].proposal;
      proposal.repeat = groups_[i].tally.proposed;
      add(std::move(proposal), study::trainings_missing(config_, groups_[i].tally), groups_[i].folds_left);
    }
    if (room() <= 0) return out;
    auto fresh = inner_->sample_proposals((room() + each_ - 1) / each_);
    if (!members.empty() && (!fresh || fresh->kind != Suggestion::Kind::kGroup)) return out;
    if (!fresh) return fresh;
    if (fresh->kind != Suggestion::Kind::kGroup) {
      // What fails may be wanted again.
      return may_fail() ? Suggestion::wait() : *std::move(fresh);
    }
    for (study::Proposal& proposal : fresh->proposals()) {
      if (proposal.parent) proposal.parent = groups_[proposal.parent->value - 1].first;
      add(std::move(proposal), each_, all_folds());
    }
    return out;
  }

  void observe(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      begin(proposed->trial, proposed->proposal);
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      const auto it = trainings_.find(measured->measurement.trial);
      if (it != trainings_.end()) it->second.measured.push_back(measured->measurement);
    } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
      pause(paused->trial, paused->epoch);
    } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
      resume(*resumed);
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      end(ended->trial, ended->outcome);
    }
  }

 private:
  /// A training under way.
  struct Training {
    std::size_t group = 0;
    std::optional<std::int64_t> fold;
    bool paused = false;
    std::vector<study::Measurement> measured;
  };
  /// The trainings of one proposal; its number from 1 is the inner sampler's trial.
  struct Group {
    TrialId first;
    study::Proposal proposal;  ///< with repeat 0
    study::TrainingCounts tally;
    std::set<TrialId> under_way;
    std::set<std::int64_t> folds_left;                     ///< that nobody trains or has trained; none without folds
    std::vector<std::vector<study::Measurement>> results;  ///< of those that ended and were not lost, epoch by epoch
    std::int64_t reported_epoch = 0;                       ///< the last epoch of which the inner sampler knows
    bool paused = false;                                   ///< for the inner sampler
  };

  bool may_fail() const {
    return config_.strategy.retry > 0 && std::any_of(trainings_.begin(), trainings_.end(),
                                                     [](const auto& training) { return !training.second.paused; });
  }

  void begin(TrialId trial, const study::Proposal& proposal) {
    study::Proposal decisions = proposal;
    decisions.repeat = 0;
    decisions.fold.reset();
    const Digest key = study::decisions_key(decisions);
    auto known = group_of_.find(key);
    if (proposal.repeat == 0 || known == group_of_.end()) {
      known = group_of_.insert_or_assign(key, groups_.size()).first;
      groups_.push_back({.first = trial,
                         .proposal = decisions,
                         .tally = {},
                         .under_way = {},
                         .folds_left = all_folds(),
                         .results = {}});
      if (decisions.parent) {
        const auto parent = member_of_.find(*decisions.parent);
        decisions.parent.reset();
        if (parent != member_of_.end()) decisions.parent = inner_id(parent->second);
      }
      inner_->observe(study::Proposed{inner_id(known->second), std::move(decisions)});
    }
    Group& group = groups_[known->second];
    ++group.tally.proposed;
    group.under_way.insert(trial);
    if (proposal.fold) group.folds_left.erase(*proposal.fold);
    trainings_[trial] = {known->second, proposal.fold, false, {}};
    member_of_[trial] = known->second;
    update(known->second);
  }

  void pause(TrialId trial, std::int64_t epoch) {
    const auto it = trainings_.find(trial);
    if (it == trainings_.end()) return;
    it->second.paused = true;
    Group& group = groups_[it->second.group];
    const bool all_rest = std::all_of(group.under_way.begin(), group.under_way.end(),
                                      [&](TrialId id) { return trainings_.at(id).paused; });
    if (!all_rest || study::trainings_missing(config_, group.tally) > 0) return;
    report_averages(it->second.group);
    group.paused = true;
    inner_->observe(study::Paused{inner_id(it->second.group), std::min(epoch, group.reported_epoch)});
  }

  void resume(const study::Resumed& resumed) {
    const auto it = trainings_.find(resumed.trial);
    if (it == trainings_.end()) return;
    it->second.paused = false;
    Group& group = groups_[it->second.group];
    if (!std::exchange(group.paused, false)) return;
    inner_->observe(study::Resumed{inner_id(it->second.group), group.reported_epoch, resumed.budget});
  }

  void end(TrialId trial, const study::Outcome& outcome) {
    auto training = trainings_.extract(trial);
    if (!training) return;
    const std::size_t number = training.mapped().group;
    Group& group = groups_[number];
    group.under_way.erase(trial);
    group.tally.count(outcome.kind);
    if (training.mapped().fold && outcome.kind == study::OutcomeKind::kFailed) {
      group.folds_left.insert(*training.mapped().fold);
    }
    using Kind = study::OutcomeKind;
    if (!training.mapped().measured.empty() && (outcome.kind == Kind::kSucceeded || outcome.kind == Kind::kStopped)) {
      group.results.push_back(std::move(training.mapped().measured));
    }
    update(number);
    if (!study::trainings_done(config_, group.tally)) return;
    study::Outcome joint = outcome;
    joint.kind = study::joint_outcome(config_, group.tally);
    report_averages(number);
    group.results.clear();
    inner_->observe(study::Ended{inner_id(number), joint});
  }

  /// The averages of the epochs that the inner sampler does not know yet.
  void report_averages(std::size_t number) {
    Group& group = groups_[number];
    std::vector<std::span<const study::Measurement>> measured{group.results.begin(), group.results.end()};
    for (const TrialId id : group.under_way) measured.emplace_back(trainings_.at(id).measured);
    for (const auto& measured_together : study::common_measurements(measured)) {
      study::Measurement average = study::average(config_, measured_together);
      if (average.epoch <= group.reported_epoch) continue;
      group.reported_epoch = average.epoch;
      average.trial = inner_id(number);
      inner_->observe(study::Measured{std::move(average)});
    }
  }

  void update(std::size_t group) {
    if (study::trainings_missing(config_, groups_[group].tally) > 0) {
      unfinished_.insert(group);
    } else {
      unfinished_.erase(group);
    }
  }

  std::set<std::int64_t> all_folds() const {
    std::set<std::int64_t> out;
    for (std::int64_t fold = 0; config_.data.folds && fold < each_; ++fold) out.insert(out.end(), fold);
    return out;
  }

  static TrialId inner_id(std::size_t group) { return TrialId{static_cast<std::uint32_t>(group + 1)}; }

  std::unique_ptr<Sampler> inner_;
  study::StudyConfig config_;
  std::int64_t each_;  ///< trainings of a proposal
  std::vector<Group> groups_;
  std::unordered_map<Digest, std::size_t> group_of_;  ///< by what they decide
  std::map<TrialId, std::size_t> member_of_;          ///< of all trainings, for parents
  std::map<TrialId, Training> trainings_;             ///< under way
  std::set<std::size_t> unfinished_;                  ///< groups of which trainings are wanted
};

}  // namespace

std::unique_ptr<Sampler> with_repeated_trainings(std::unique_ptr<Sampler> inner, const study::StudyConfig& config) {
  return std::make_unique<RepeatingSampler>(std::move(inner), config);
}

}  // namespace lanista::strategy
