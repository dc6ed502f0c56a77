#include "lanista/search/sampler/second_stage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/refinements.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trainings.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::search {
namespace {

TrialId trial_of(const study::Measured& measured) { return measured.measurement.trial; }
template <class Event>
TrialId trial_of(const Event& event) {
  return event.trial;
}

/// The best trials of a search in the ranking of the study (study::standing).
class SearchRanking {
 public:
  struct Place {
    study::RankingKey standing;
    study::Proposal proposal;
  };

  SearchRanking(const study::StudyConfig& config, std::shared_ptr<const mutate::ModelSpace> models)
      : config_(config), models_(std::move(models)), size_(static_cast<std::size_t>(config.strategy.then->best)) {}

  void observe(const study::Event& event) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      open_[proposed->trial].id = proposed->trial;
      open_[proposed->trial].proposal = proposed->proposal;
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      const auto trial = open_.find(trial_of(*measured));
      if (trial != open_.end()) trial->second.measurements.push_back(measured->measurement);
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      if (auto trial = open_.extract(ended->trial)) rank(trial.mapped(), ended->outcome);
    }
  }

  /// Returns the best trials, the best one first.
  const std::vector<Place>& best() const { return best_; }

 private:
  /// True if a trial with this key is among the best.
  bool admits(const study::RankingKey& standing) const {
    return best_.size() < size_ || standing < best_.back().standing;
  }

  void rank(const study::TrialView& trial, const study::Outcome& outcome) {
    if (!study::ranks(trial, outcome)) return;
    study::RankingKey standing = study::standing(config_, trial);
    if (!admits(standing)) return;  // It is not ranked even with 0 parameters, which decide between equals.
    standing.parameters = parameters_of(trial.proposal);
    if (!admits(standing)) return;
    const auto place = std::ranges::upper_bound(best_, standing, {}, &Place::standing);
    best_.insert(place, {std::move(standing), trial.proposal});
    if (best_.size() > size_) best_.pop_back();
  }

  /// Returns the number of parameters, or the largest number if the model cannot be rebuilt from the log.
  std::int64_t parameters_of(const study::Proposal& proposal) const {
    const auto model = models_->rebuild(proposal.base, proposal.edits);
    const auto cost = model ? graph::model_cost(*model, models_->ops()) : Result<graph::ModelCost>(model.error());
    return cost ? cost->parameters : std::numeric_limits<std::int64_t>::max();
  }

  study::StudyConfig config_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::size_t size_;
  std::map<TrialId, study::TrialView> open_;
  std::vector<Place> best_;
};

/// A search followed by refinements of its best trials.
class SecondStage final : public Strategy {
 public:
  SecondStage(std::unique_ptr<Strategy> search, std::unique_ptr<Halving> end, const study::StudyConfig& config,
              std::shared_ptr<const mutate::ModelSpace> models)
      : search_(std::move(search)),
        end_(std::move(end)),
        ranking_(config, std::move(models)),
        reserved_(config.strategy.then->best) {}

  std::string_view name() const override { return search_->name(); }

  Result<Suggestion> suggest(const Capacity& capacity) const override {
    Capacity of_search = capacity;
    of_search.running -= std::ssize(running_refinements_);
    of_search.new_trials = std::max<std::int64_t>(0, capacity.new_trials - reserved_);
    Result<Suggestion> next = suggest_from_search(of_search);
    if (!next && next.error().code != Code::kResourceExhausted) return next;
    if (has_members(next) || of_search.running > 0) return next;

    Suggestion out;
    for (const TrialId trial : paused_) out.group.members.emplace_back(StopTrial{trial});
    if (out.group.members.empty()) out.group.members = refinements(capacity.new_trials);
    if (!out.group.members.empty()) return out;
    // After an extension no trials are reserved for refinements that exist already.
    if (num_refinements_ < reserved_ || capacity.new_trials == of_search.new_trials) return next;
    of_search.new_trials = capacity.new_trials;
    return suggest_from_search(of_search);
  }

  void observe(const study::Event& event) override {
    const TrialId trial = std::visit([](const auto& e) { return trial_of(e); }, event);
    if (const auto* proposed = std::get_if<study::Proposed>(&event); proposed && proposed->proposal.is_refinement) {
      running_refinements_.insert(trial);
      if (proposed->proposal.parent) tuned_.insert(*proposed->proposal.parent);
      ++num_refinements_;
    }
    if (running_refinements_.contains(trial)) {
      end_->observe(event);
      if (std::holds_alternative<study::Ended>(event)) running_refinements_.erase(trial);
      return;
    }
    if (std::holds_alternative<study::Paused>(event)) {
      paused_.insert(trial);
    } else if (std::holds_alternative<study::Resumed>(event) || std::holds_alternative<study::Ended>(event)) {
      paused_.erase(trial);
    }
    ranking_.observe(event);
    search_->observe(event);
  }

  TrialVerdict verdict(TrialId trial) const override {
    return running_refinements_.contains(trial) ? end_->verdict(trial) : search_->verdict(trial);
  }

 private:
  Result<Suggestion> suggest_from_search(const Capacity& capacity) const {
    if (capacity.new_trials > 0 || capacity.paused > 0) return search_->suggest(capacity);
    return Suggestion::space_exhausted();
  }
  static bool has_members(const Result<Suggestion>& next) {
    return next && next->kind == Suggestion::Kind::kGroup && !next->group.members.empty();
  }

  /// Returns at most so many refinements of the best trials that have none yet.
  std::vector<Member> refinements(std::int64_t most) const {
    std::vector<Member> out;
    for (const SearchRanking::Place& place : ranking_.best()) {
      if (std::ssize(out) >= most || tuned_.contains(place.standing.trial)) continue;
      out.emplace_back(NewTrial{study::refinement_of(place.standing.trial, place.proposal)});
    }
    return out;
  }

  std::unique_ptr<Strategy> search_;
  std::unique_ptr<Halving> end_;  ///< Halving of the refinements. Only it observes them.
  SearchRanking ranking_;
  std::int64_t reserved_;
  std::int64_t num_refinements_ = 0;  ///< Refinements that were proposed.
  std::set<TrialId> running_refinements_;
  std::set<TrialId> paused_;  ///< Paused trials of the search.
  std::set<TrialId> tuned_;   ///< Trials of the search that have a refinement.
};

/// True if the space has a parameter of this name.
bool is_sampled(const study::StudyConfig& config, std::string_view name) {
  const auto& parameters = config.space.params.parameters();
  return std::ranges::find(parameters, name, &space::Parameter::name) != parameters.end();
}

/// True if the space is infinite, so that only the budget ends the search.
bool is_unlimited(const study::StudyConfig& config) {
  const auto is_continuous = [](const space::Parameter& parameter) { return !space::domain_size(parameter.domain); };
  return !config.space.mutate.empty() || std::ranges::any_of(config.space.params.parameters(), is_continuous);
}

}  // namespace

Result<std::unique_ptr<Strategy>> with_second_stage(std::unique_ptr<Strategy> search, const study::StudyConfig& config,
                                                    std::shared_ptr<const mutate::ModelSpace> models) {
  if (!config.strategy.then) return search;
  const StoppingPlugin patience = patience_plugin();
  LANISTA_ASSIGN(const Options options, resolve_options({{"epochs", config.strategy.then->end}}, patience.options));
  auto end = patience.make({config.goals, config.train.length.epochs, config.subject_to, study::selection_rule(config)},
                           options);
  if (!end) {
    return Error{Code::kInvalidArgument, "its trials end by patience, which needs a goal that is measured in training",
                 std::string(study::kThenKey)};
  }
  return std::unique_ptr<Strategy>(
      std::make_unique<SecondStage>(std::move(search), *std::move(end), config, std::move(models)));
}

std::optional<Error> second_stage_conflict(const study::StudyConfig& config) {
  if (!config.strategy.then) return std::nullopt;
  const study::SecondStage& stage = *config.strategy.then;
  const auto refuse = [](const std::string& what) {
    return Error{Code::kInvalidArgument, what, std::string(study::kThenKey)};
  };
  const auto all = builtin_strategies();
  const auto plugin = std::ranges::find(all, config.strategy.name, &StrategyPlugin::name);
  if (plugin != all.end() && plugin->forks) {
    return refuse("does not go with strategy " + plugin->name +
                  ": its trials continue from each other's states, so none of them can be trained again from the "
                  "beginning; name another strategy");
  }
  if (!config.train.tune.name.empty()) {
    const std::string& name = config.train.tune.name;
    return refuse("does not go with " +
                  std::string(name == study::kReplaySchedule ? "train.schedule: {from: DIR}"
                              : name == study::kAdaptive     ? "data.batch: adaptive(…)"
                                                             : "train.tune") +
                  ", by which every trial changes its settings; leave out one of the two");
  }
  if (!config.train.select.name.empty()) {
    return refuse("does not go with train.select: losses of chosen examples cannot be compared");
  }
  if (config.data.folds) return refuse("does not go with data.folds: a trial that tunes itself is trained once");
  if (config.strategy.repeat > 1) {
    return refuse("does not go with strategy.repeat, which is " + std::to_string(config.strategy.repeat) +
                  ": a trial that tunes itself is trained once");
  }
  if (!config.implied.empty()) {
    return refuse("does not go with implied: its trials change the settings that the rules compare");
  }
  const std::string& start = config.train.start.from;
  if (start != study::kStartOff && start != study::kStartFile) {
    return refuse("trains trials from the beginning, and with train.start: " + start +
                  " they would begin with their own trained weights; start may be off or file");
  }
  for (const char* name : {"schedule", "warmup_epochs"}) {
    if (!study::tunes_rate(stage.tune) || !is_sampled(config, name)) continue;
    return refuse("changes the learning rate itself; " + std::string(name) + " cannot vary in front of it");
  }
  if (const auto why = study::batch_tuning_conflict(config, stage.tune)) return refuse(*why);
  const study::BudgetConfig& budget = config.budget;
  if (budget.steps) {
    return refuse(
        "reserves a number of trials, which budget.steps does not count; give budget.trials instead of "
        "budget.steps");
  }
  if (budget.trials && *budget.trials <= stage.best) {
    return refuse("takes the last " + std::to_string(stage.best) + " of budget.trials, which is " +
                  std::to_string(*budget.trials) + ", and leaves nothing to search");
  }
  if (!budget.trials && is_unlimited(config)) {
    return refuse("follows the search, which never ends by itself in an infinite space; give budget.trials");
  }
  return std::nullopt;
}

}  // namespace lanista::search
