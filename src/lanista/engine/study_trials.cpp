#include <algorithm>
#include <cmath>

#include "lanista/engine/assembly.h"
#include "lanista/engine/study_engine.h"

namespace lanista::engine {
namespace {

using store::RecordType;
using study::OutcomeKind;

/// Why these numbers end a trial, or empty. Training that has left the numbers does not come back.
std::string divergence(const study::StudyConfig& config, const study::Measurement& measurement) {
  for (const auto& [name, value] : measurement.metrics) {
    if (std::isfinite(value)) continue;
    const bool watched =
        name == "train_loss" || std::any_of(config.goals.begin(), config.goals.end(),
                                            [&n = name](const study::Goal& goal) { return goal.metric == n; });
    if (!watched) continue;
    const std::string seen = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return "diverged: " + name + " is " + seen + " at epoch " + std::to_string(measurement.epoch);
  }
  return {};
}

}  // namespace

void StudyEngine::announce(const study::Event& event) {
  strategy_->observe(event);
  if (services_.observer.on_event) services_.observer.on_event(state_.view, event);
}

/// The trial's own, at most all rows there are. A recipe that cannot be made fails when the trial is started.
std::int64_t StudyEngine::batch_of(const study::Proposal& proposal) const {
  const auto recipe = study::make_recipe(state_.view.config, "", proposal.sample);
  return std::min(recipe ? recipe->batch : state_.view.config.data.batch,
                  std::max<std::int64_t>(1, services_.data->split_rows[0]));
}

std::int64_t StudyEngine::steps_per_epoch(const study::Proposal& proposal) const {
  const std::int64_t batch = batch_of(proposal);
  return (services_.data->split_rows[0] + batch - 1) / batch;
}

std::size_t StudyEngine::podium_size() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, state_.view.config.keep.top));
}

Result<const StudyEngine::Costed*> StudyEngine::base_model(std::int64_t base) {
  auto it = bases_.find(base);
  if (it == bases_.end()) {
    LANISTA_ASSIGN(graph::Graph model, models_->rebuild(base, {}));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_->ops()));
    it = bases_.emplace(base, Costed{std::move(model), cost}).first;
  }
  return &it->second;
}

Result<StudyEngine::Costed> StudyEngine::build(const study::Proposal& proposal) {
  if (proposal.edits.empty()) {
    LANISTA_ASSIGN(const Costed* base, base_model(proposal.base));
    return *base;
  }
  LANISTA_ASSIGN(graph::Graph model, models_->rebuild(proposal.base, proposal.edits));
  if (graph::canonical_hash(model, models_->ops()) != proposal.graph_hash) {
    return Error{Code::kDataLoss, "a trial's edits give another model than its hash says", ""};
  }
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_->ops()));
  return Costed{std::move(model), cost};
}

StudyEngine::Active& StudyEngine::enter(TrialId id, std::int64_t next) {
  Active trial;
  trial.id = id;
  trial.budget = state_.trial(id).proposal.budget;
  trial.next = next;
  due_.emplace(state_.due(id, trial.next), id);
  return active_[id] = std::move(trial);
}

void StudyEngine::leave(TrialId id) {
  const auto it = active_.find(id);
  if (it == active_.end()) return;
  due_.erase({state_.due(id, it->second.next), id});
  active_.erase(it);
}

Result<bool> StudyEngine::budget_allows(const study::Proposal& proposal) const {
  const auto& limit = state_.view.config.budget.steps;
  if (!limit) return true;
  // Running trials have their whole budget set aside, so that the limit holds to the step.
  std::int64_t wanted = state_.view.steps + proposal.budget * steps_per_epoch(proposal);
  for (const auto& [id, trial] : active_) {
    const TrialView& running = state_.view.trials[id.value - 1];
    wanted +=
        (trial.budget - static_cast<std::int64_t>(running.measurements.size())) * steps_per_epoch(running.proposal);
  }
  return wanted <= *limit;
}

Result<void> StudyEngine::fill() {
  nothing_left_.clear();
  int duplicates = 0;
  while (static_cast<std::int64_t>(active_.size()) < state_.view.config.strategy.slots) {
    const auto proposed = static_cast<std::int64_t>(state_.view.trials.size());
    if (state_.trials && proposed >= *state_.trials) return {};
    auto group = strategy_->suggest({1});
    if (!group && group.error().code != Code::kResourceExhausted) return std::move(group).error();
    if (!group || group->proposals.empty()) {
      nothing_left_ = group ? "the strategy has nothing left to propose" : group.error().message;
      // Bad luck is not the end of a space: whoever reads this may widen it, or loosen its constraints.
      if (!group && active_.empty()) event(Level::kWarning, "nothing_new", {{"reason", nothing_left_}});
      return {};
    }
    study::Proposal& proposal = group->proposals.front();
    LANISTA_ASSIGN(const bool allowed, budget_allows(proposal));
    if (!allowed) return {};
    const std::size_t active = active_.size();
    LANISTA_TRY(propose(std::move(proposal)));
    duplicates = active_.size() == active ? duplicates + 1 : 0;
    if (duplicates == kMaxDuplicatesInARow) {
      nothing_left_ = "the strategy proposes only what was tried before";
      return {};
    }
  }
  return {};
}

Result<void> StudyEngine::propose(study::Proposal proposal) {
  TrialView view;
  view.id = TrialId{static_cast<std::uint32_t>(state_.view.trials.size() + 1)};
  view.logical_start = state_.now;
  LANISTA_ASSIGN(Costed built, build(proposal));
  view.parameters = built.cost.parameters;
  // Backward costs about twice the forward pass; an epoch always takes some logical time.
  const double logical_epoch = static_cast<double>(steps_per_epoch(proposal)) *
                               static_cast<double>(batch_of(proposal)) * 3 * std::max(built.cost.forward.flops, 1.0);
  const Digest key = study::duplicate_key(proposal);
  view.proposal = std::move(proposal);
  LANISTA_TRY(log_.append(RecordType::kProposed, proposed_body(view, logical_epoch, key)));
  const TrialId id = view.id;
  state_.propose(std::move(view), logical_epoch);
  announce(study::Proposed{id, state_.trial(id).proposal});

  const auto [first, fresh] = keys_.emplace(key, id);
  if (!fresh) return conclude(id, {OutcomeKind::kDuplicate, "", first->second, "", {}});
  return start(enter(id, 1), "", std::move(built.model));
}

Result<void> StudyEngine::start(Active& trial, const std::string& checkpoint) {
  LANISTA_ASSIGN(Costed built, build(state_.trial(trial.id).proposal));
  return start(trial, checkpoint, std::move(built.model));
}

Result<void> StudyEngine::start(Active& trial, const std::string& checkpoint, graph::Graph model) {
  auto job = make_job(state_.view.config, *services_.data, state_.trial(trial.id), std::move(model));
  Result<void> started = job ? Result<void>() : Result<void>(job.error());
  if (job) {
    job->logical_epoch = state_.open.at(trial.id).logical_epoch;
    job->checkpoint = checkpoint;
    started = services_.executor->start(*job);
    const bool bad_file =
        !started && (started.error().code == Code::kDataLoss || started.error().code == Code::kNotFound);
    if (bad_file && !checkpoint.empty()) {
      event(Level::kWarning, "checkpoint_lost", {{"trial", trial.id.value}, {"reason", started.error().text()}});
      job->checkpoint.clear();
      started = services_.executor->start(*job);
    }
  }
  if (!started) {
    trial.failure = FailureReport{trial.id, trial.next, started.error().text()};
    return {};
  }
  trial.started = true;
  const std::int64_t done = trial.next - 1;
  allow(trial, trial.finishing ? trial.next : strategy_->next_decision(trial.id, done, trial.budget));
  return {};
}

void StudyEngine::allow(Active& trial, std::int64_t epoch) {
  trial.allowed = std::clamp(epoch, trial.next, trial.budget);
  services_.executor->command(Allow{trial.id, trial.allowed});
}

Result<void> StudyEngine::settle(Active& trial) {
  const study::Measurement& measurement = state_.trial(trial.id).measurements.back();
  const std::string reason = divergence(state_.view.config, measurement);
  if (!reason.empty()) {
    if (trial.started) services_.executor->command(Finish{trial.id, false, true});
    LANISTA_TRY(conclude(trial.id, {OutcomeKind::kFailed, reason, {}, "", {}}));
    return fill();
  }
  if (measurement.epoch >= trial.budget) return finish(trial, OutcomeKind::kSucceeded, "");
  const study::Verdict verdict = strategy_->verdict(trial.id);
  if (verdict == study::Verdict::kPause) {
    return Error{Code::kUnimplemented, "a strategy asked to pause a trial, which is not supported yet", ""};
  }
  if (verdict == study::Verdict::kStop) {
    if (!state_.open.at(trial.id).stop_verdict) {
      LANISTA_TRY(log_.append(RecordType::kVerdict,
                              {{"trial", trial.id.value}, {"epoch", measurement.epoch}, {"verdict", "stop"}}));
      state_.stop_verdict(trial.id);
    }
    return finish(trial, OutcomeKind::kStopped, "stopping rule at epoch " + std::to_string(measurement.epoch));
  }
  due_.erase({state_.due(trial.id, trial.next), trial.id});
  ++trial.next;
  due_.emplace(state_.due(trial.id, trial.next), trial.id);
  if (trial.started && measurement.epoch >= trial.allowed) {
    allow(trial, strategy_->next_decision(trial.id, measurement.epoch, trial.budget));
  }
  return {};
}

Result<void> StudyEngine::finish(Active& trial, OutcomeKind kind, const std::string& reason) {
  const study::Outcome outcome{kind, reason, {}, "", {}};
  const std::int64_t done = trial.next;
  if (trial.started && trial.allowed > done) {
    // The rule announced no decision here, so the worker may be further on and the weights are gone.
    services_.executor->command(Finish{trial.id, false, true});
    LANISTA_TRY(conclude(trial.id, outcome));
    return fill();
  }
  trial.finishing = outcome;
  trial.reports.clear();
  if (!trial.started) LANISTA_TRY(start(trial, state_.open.at(trial.id).checkpoint));
  if (!trial.started) return {};  // its failure is delivered like any other
  // Which training of several is the best is known when all are done.
  const bool keep =
      state_.view.config.strategy.repeat > 1 || podium_.admits(standing(state_.view.config, state_.trial(trial.id)));
  services_.executor->command(Finish{trial.id, keep, false});
  return {};
}

Result<void> StudyEngine::conclude(TrialId id, study::Outcome outcome) {
  const double time = state_.now;
  LANISTA_TRY(log_.append(RecordType::kOutcome, outcome_body(id, outcome, time)));
  const std::string checkpoint = state_.open.at(id).checkpoint;
  leave(id);
  state_.end(id, outcome, time);
  announce(study::Ended{id, outcome});
  shelf_.hold(outcome.weights);
  shelf_.release(checkpoint);
  const TrialView& trial = state_.trial(id);
  if (!ranks(trial, outcome)) shelf_.release(outcome.weights);
  const auto trainings = study::trainings_of(state_.view, trial);
  if (!study::trainings_done(state_.view.config.strategy, study::tally_of(trainings))) return {};
  const auto joint = study::joint_standing(state_.view.config, trainings);
  for (const TrialView* each : trainings) {
    const bool named = joint && joint->trial == each->id;
    if (!named && ranks(*each, *each->outcome)) shelf_.release(each->outcome->weights);
  }
  if (!joint) return {};
  for (const TrialId out : podium_.add(*joint)) shelf_.release(state_.trial(out).outcome->weights);
  return {};
}

Result<void> StudyEngine::cancel(TrialId id, const std::string& reason) {
  const auto it = active_.find(id);
  if (it != active_.end() && it->second.started) services_.executor->command(Finish{id, false, true});
  return conclude(id, {OutcomeKind::kCancelled, reason, {}, "", {}});
}

}  // namespace lanista::engine
