#include "lanista/search/sampler/repeat.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "lanista/search/study/trainings.h"

namespace lanista::search {
namespace {

/// Trains each proposal several times and reports averages to the inner sampler.
class RepeatingSampler final : public Sampler {
 public:
  RepeatingSampler(std::unique_ptr<Sampler> inner, study::StudyConfig config)
      : inner_(std::move(inner)), config_(std::move(config)), each_(study::trainings_per_proposal(config_)) {}

  std::string_view name() const override { return inner_->name(); }

  /// Returns missing trainings of earlier proposals first, then those of new proposals.
  Result<Suggestion> sample_proposals(std::int64_t count) const override {
    Suggestion out;
    std::vector<Member>& members = out.group.members;
    const auto num_left = [&] { return count - std::ssize(members); };
    const auto add = [&](study::Proposal proposal, std::int64_t times, const std::set<std::int64_t>& folds) {
      auto fold = folds.begin();
      for (; times > 0 && num_left() > 0; --times, ++proposal.repeat) {
        if (fold != folds.end()) proposal.fold = *fold++;
        members.emplace_back(NewTrial{proposal});
      }
    };
    for (const std::size_t i : unfinished_) {
      study::Proposal proposal = groups_[i].proposal;
      proposal.repeat = groups_[i].tally.proposed;
      add(std::move(proposal), study::trainings_missing(config_, groups_[i].tally), groups_[i].folds_left);
    }
    if (num_left() <= 0) return out;
    auto fresh = inner_->sample_proposals((num_left() + each_ - 1) / each_);
    if (!members.empty() && (!fresh || fresh->kind != Suggestion::Kind::kGroup)) return out;
    if (!fresh) return fresh;
    if (fresh->kind != Suggestion::Kind::kGroup) {
      // A training that fails may be done again.
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
  /// A training that has not ended.
  struct Training {
    std::size_t group = 0;
    std::optional<std::int64_t> fold;
    bool paused = false;
    std::vector<study::Measurement> measured;
  };
  /// The trainings of one proposal. Its number, from 1, is the trial id of the inner sampler.
  struct Group {
    TrialId first;
    study::Proposal proposal;  ///< Proposal with repeat 0.
    study::TrainingCounts tally;
    std::set<TrialId> under_way;
    std::set<std::int64_t> folds_left;  ///< Folds without a training; empty without folds.
    /// Measurements of successful or stopped trainings, epoch by epoch.
    std::vector<std::vector<study::Measurement>> results;
    std::int64_t reported_epoch = 0;  ///< Last epoch that was reported to the inner sampler.
    bool paused = false;              ///< Whether the inner sampler's trial is paused.
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
    const bool all_paused = std::all_of(group.under_way.begin(), group.under_way.end(),
                                        [&](TrialId id) { return trainings_.at(id).paused; });
    if (!all_paused || study::trainings_missing(config_, group.tally) > 0) return;
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

  /// Reports the averages of new epochs to the inner sampler.
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
  std::int64_t each_;  ///< Trainings per proposal.
  std::vector<Group> groups_;
  std::unordered_map<Digest, std::size_t> group_of_;  ///< Groups by decisions_key.
  std::map<TrialId, std::size_t> member_of_;          ///< Groups of all trainings, to translate parents.
  std::map<TrialId, Training> trainings_;             ///< Trainings that have not ended.
  std::set<std::size_t> unfinished_;                  ///< Groups with missing trainings.
};

}  // namespace

std::unique_ptr<Sampler> with_repeated_trainings(std::unique_ptr<Sampler> inner, const study::StudyConfig& config) {
  return std::make_unique<RepeatingSampler>(std::move(inner), config);
}

}  // namespace lanista::search
