#include <algorithm>
#include <cmath>

#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

using store::RecordType;
using study::OutcomeKind;

/// Why these values end a trial, or empty. A diverged training does not recover.
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
  run_ahead_limit_.observe(event, *strategy_);
  const std::size_t contradicted = dominance_pruner_.contradicted_rules().size();
  dominance_pruner_.observe(event);
  optimum_reached_.observe(state_.view, event);
  if (const auto wrong = dominance_pruner_.contradicted_rules(); wrong.size() > contradicted) {
    this->event(Level::kWarning, "rule_contradicted", {{"rules", wrong}});
  }
  if (services_.observer.on_event) services_.observer.on_event(state_.view, event);
}

FrozenPart StudyEngine::frozen() const {
  return frozen_part(state_.view.config, *services_.data, models_->frozen(), state_.view.frozen);
}

std::size_t StudyEngine::top_k_size() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, state_.view.config.keep.top));
}

Result<const StudyEngine::BuiltModel*> StudyEngine::built_base_model(std::int64_t base) {
  auto it = base_models_.find(base);
  if (it == base_models_.end()) {
    LANISTA_ASSIGN(graph::Graph model, models_->rebuild(base, {}));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_->ops()));
    const Digest structure = study::structure_key(model, models_->ops());
    it = base_models_.emplace(base, BuiltModel{std::move(model), cost, structure}).first;
  }
  return &it->second;
}

Result<StudyEngine::BuiltModel> StudyEngine::build_model(const study::Proposal& proposal) {
  if (proposal.edits.empty()) {
    LANISTA_ASSIGN(const BuiltModel* base, built_base_model(proposal.base));
    return *base;
  }
  LANISTA_ASSIGN(graph::Graph model, models_->rebuild(proposal.base, proposal.edits));
  if (graph::canonical_hash(model, models_->ops()) != proposal.graph_hash) {
    return Error{Code::kDataLoss, "the edits of a trial give a model with another hash than recorded", ""};
  }
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_->ops()));
  const Digest structure = study::structure_key(model, models_->ops());
  return BuiltModel{std::move(model), cost, structure};
}

const data::DataSpec& StudyEngine::data_of(const study::Proposal& proposal) const {
  const data::DataSpec& data = *services_.data;
  // A fold that does not exist fails when the trial starts.
  const bool known = proposal.fold && *proposal.fold < std::ssize(data.folds);
  return known ? data.folds[static_cast<std::size_t>(*proposal.fold)] : data;
}

StudyEngine::Active& StudyEngine::enter(TrialId id, std::int64_t next) {
  Active trial;
  trial.id = id;
  trial.budget = state_.trial(id).budget;
  trial.next = next;
  due_times_.emplace(state_.due(id, trial.next), id);
  return active_[id] = std::move(trial);
}

void StudyEngine::leave(TrialId id) {
  const auto it = active_.find(id);
  if (it == active_.end()) return;
  due_times_.erase({state_.due(id, it->second.next), id});
  if (it->second.started) planner_.leave(id);
  active_.erase(it);
}

std::optional<data::SelectionComparison> StudyEngine::guard_of(const study::Proposal& proposal) const {
  auto guard = data::selection_comparison(state_.view.config.train.select, study::full_epochs(proposal));
  return guard ? *std::move(guard) : std::nullopt;  // options were checked when they were read
}

Result<bool> StudyEngine::fits_budget(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const {
  if (!state_.steps) return true;
  const auto steps_of = [&](const study::Proposal& trial, std::int64_t from, std::int64_t to) {
    const study::EpochSchedule epochs = epoch_schedule_of(state_.view.config, data_of(trial), trial.sample);
    std::int64_t steps = epochs.steps_through(to) - epochs.steps_through(from);
    if (const auto guard = guard_of(trial))
      steps += guard->count_checks(from, to) * guard->max_discarded_steps(epochs.length);
    if (from > 0) return steps;
    if (trial.race) return steps + study::discarded_steps(*trial.race);
    return steps + (trial.start ? 0 : race_steps(trial) * study::kMaxRaceParents);  // at most, before it has a start
  };
  // The whole budget of running trials is reserved, so that the limit is exact.
  std::int64_t wanted = state_.view.steps + steps_of(proposal, done, budget);
  for (const auto& [id, trial] : active_) {
    const TrialView& running = state_.view.trials[id.value - 1];
    wanted += steps_of(running.proposal, static_cast<std::int64_t>(running.measurements.size()), trial.budget);
  }
  return wanted <= *state_.steps;
}

bool StudyEngine::is_trial_budget_spent() const {
  return state_.trials && static_cast<std::int64_t>(state_.view.trials.size()) >= *state_.trials;
}

bool StudyEngine::can_carry_out(const strategy::Member& member) const {
  if (std::holds_alternative<strategy::StopTrial>(member)) return true;
  if (static_cast<std::int64_t>(active_.size()) >= state_.view.config.strategy.slots) return false;
  return std::holds_alternative<strategy::ResumeTrial>(member) || !is_trial_budget_spent();
}

bool StudyEngine::is_barrier_active() const {
  if (!state_.open_behind_barrier.empty()) return true;
  return std::ranges::any_of(state_.waiting_members,
                             [&](const StudyState::WaitingMember& w) { return w.barrier && can_carry_out(w.member); });
}

Result<void> StudyEngine::fill_slots() {
  if (!state_.pending_end_reason.empty()) return {};
  exhausted_reason_.clear();
  strategy_waits_ = false;
  bool more = true;
  while (more) {
    LANISTA_ASSIGN(more, fill_next_slot());
  }
  return {};
}

Result<bool> StudyEngine::fill_next_slot() {
  for (std::size_t i = 0; i < state_.waiting_members.size(); ++i) {
    if (!can_carry_out(state_.waiting_members[i].member)) continue;
    const std::size_t next = next_waiting_index(i);
    const auto is_new = [](const auto& w) { return std::holds_alternative<strategy::NewTrial>(w.member); };
    const auto waiting_index = std::count_if(
        state_.waiting_members.begin(), state_.waiting_members.begin() + static_cast<std::ptrdiff_t>(next), is_new);
    return carry_out_member(strategy::Member(state_.waiting_members[next].member),
                            static_cast<std::size_t>(waiting_index));
  }
  if (static_cast<std::int64_t>(active_.size()) >= state_.view.config.strategy.slots || is_barrier_active())
    return false;
  return ask_strategy();
}

Result<bool> StudyEngine::ask_strategy() {
  if (state_.duplicates_in_a_row >= kMaxDuplicatesInARow) {
    exhausted_reason_ = "the strategy proposes only what was tried before";
    return false;
  }
  if (state_.rule_pruned_in_a_row >= kMaxRulePrunedInARow) {
    exhausted_reason_ = "the strategy proposes only what is implied to fail";
    return false;
  }
  if (is_trial_budget_spent() && state_.paused_trials() == 0) return false;
  strategy::Capacity capacity;  // one slot at a time, so that each answer knows the ones before
  capacity.free_slots = trials_per_request(state_.view.config);
  if (state_.trials) {
    capacity.new_trials = std::max<std::int64_t>(0, *state_.trials - std::ssize(state_.view.trials));
  }
  capacity.running = std::ssize(active_);
  capacity.paused = state_.paused_trials();
  auto answer = strategy_->suggest(capacity);
  if (!answer && answer.error().code != Code::kResourceExhausted) return std::move(answer).error();
  using Kind = strategy::Suggestion::Kind;
  if (!answer || answer->kind != Kind::kGroup || answer->group.members.empty()) {
    exhausted_reason_ = answer ? "the strategy has nothing left to propose" : answer.error().message;
    if (is_trial_budget_spent()) exhausted_reason_.clear();  // the budget is the reason
    strategy_waits_ = answer && answer->kind == Kind::kWait;
    // The space may have more trials, so the user is warned and may widen it or loosen its constraints.
    if (!answer && active_.empty()) event(Level::kWarning, "nothing_new", {{"reason", exhausted_reason_}});
    return false;
  }
  strategy::TrialGroup& group = answer->group;
  const bool is_one = group.members.size() == 1 && !group.barrier && group.priority == 0;
  if (is_one && !can_carry_out(group.members.front())) return false;  // the strategy knew that no slot is free for it
  if (is_one) return carry_out_member(std::move(group.members.front()));
  const bool any = std::ranges::any_of(group.members, [&](const auto& member) { return can_carry_out(member); });
  if (!any) return false;
  LANISTA_TRY(add_group_costs(group));
  LANISTA_TRY(log_.append(RecordType::kGroup, group_body(group)));
  state_.begin_group(group);
  return true;
}

Result<bool> StudyEngine::carry_out_member(strategy::Member member, std::size_t waiting_index) {
  if (auto* fresh = std::get_if<strategy::NewTrial>(&member)) {
    LANISTA_ASSIGN(const bool allowed, fits_budget(fresh->proposal, 0, fresh->proposal.budget));
    if (!allowed) return false;
    LANISTA_TRY(propose(std::move(fresh->proposal), waiting_index));
    return true;
  }
  if (const auto* resumed = std::get_if<strategy::ResumeTrial>(&member)) {
    const TrialId id = resumed->trial;
    if (id.value < 1 || id.value > state_.view.trials.size() || !state_.paused(id)) {
      return Error{Code::kInvalidArgument,
                   "the strategy resumes trial " + std::to_string(id.value) + ", which is not paused", "strategy"};
    }
    const TrialView& trial = state_.trial(id);
    const auto done = static_cast<std::int64_t>(trial.measurements.size());
    if (resumed->budget <= done || resumed->budget > study::full_epochs(trial.proposal)) {
      return Error{Code::kInvalidArgument,
                   "the strategy resumes trial " + std::to_string(id.value) + " through epoch " +
                       std::to_string(resumed->budget) + "; it has trained " + std::to_string(done) + " of " +
                       std::to_string(study::full_epochs(trial.proposal)),
                   "strategy"};
    }
    if (const auto by = pruning_reason_of(id, resumed->budget)) {
      LANISTA_TRY(end_pruned_by_rule(id, *by));
      return true;
    }
    LANISTA_ASSIGN(const bool allowed, fits_budget(trial.proposal, done, resumed->budget));
    if (!allowed) return false;
    LANISTA_TRY(resume(*resumed));
    return true;
  }
  const TrialId id = std::get<strategy::StopTrial>(member).trial;
  if (!state_.open.contains(id)) {
    return Error{Code::kInvalidArgument, "the strategy stops trial " + std::to_string(id.value) + ", which is not open",
                 "strategy"};
  }
  LANISTA_TRY(end_trial(id, "stopped by the strategy"));
  return true;
}

double StudyEngine::logical_epoch_of(const study::Proposal& proposal, const BuiltModel& built) const {
  // A backward pass costs about two forward passes. An epoch always has a positive logical duration.
  return static_cast<double>(epoch_schedule_of(state_.view.config, data_of(proposal), proposal.sample).length) *
         static_cast<double>(batch_size_of(state_.view.config, data_of(proposal), proposal.sample)) * 3 *
         std::max(built.cost.forward.flops, 1.0);
}

Result<void> StudyEngine::propose(study::Proposal proposal, std::size_t waiting_index) {
  TrialView view;
  view.id = TrialId{static_cast<std::uint32_t>(state_.view.trials.size() + 1)};
  view.logical_start = state_.now;
  LANISTA_ASSIGN(BuiltModel built, build_model(proposal));
  view.parameters = built.cost.parameters;
  const double logical_epoch = logical_epoch_of(proposal, built);
  if (proposal.start) {
    LANISTA_ASSIGN(proposal.start->address, stored_state_address(*proposal.start));
  }
  LANISTA_ASSIGN(const auto of_zoo, choose_start(view.id, proposal, built.model));
  if (const auto guard = guard_of(proposal)) {
    const std::int64_t length = epoch_schedule_of(state_.view.config, data_of(proposal), proposal.sample).length;
    const auto steps = static_cast<double>(guard->max_discarded_steps(length));
    proposal.select_time = logical_epoch * steps / static_cast<double>(length);
  }
  if (proposal.race) {
    const study::EpochSchedule epochs = epoch_schedule_of(state_.view.config, data_of(proposal), proposal.sample);
    const auto steps = static_cast<double>(study::discarded_steps(*proposal.race));
    proposal.race->time = logical_epoch * steps / static_cast<double>(epochs.length);
  }
  const bool first_use = of_zoo && !state_.view.zoo_models.contains(of_zoo->id);
  const Digest key = study::run_key(proposal);
  view.proposal = std::move(proposal);
  LANISTA_ASSIGN(view.device, device_to_record(view, logical_epoch, built.model));
  const study::Proposal* parent = state_.parent_to_share(view.proposal);
  LANISTA_TRY(log_.append(RecordType::kProposed, proposed_body(view, logical_epoch, key, parent,
                                                               first_use ? &*of_zoo : nullptr, waiting_index)));
  const TrialId id = view.id;
  if (first_use) state_.view.zoo_models.emplace(of_zoo->id, *of_zoo);
  state_.propose(std::move(view), logical_epoch, waiting_index);
  hold_start_states(id);
  announce(study::Proposed{id, state_.trial(id).proposal});

  const auto [first, fresh] = keys_.emplace(key, id);
  if (!fresh) return record_outcome_and_prune(id, {OutcomeKind::kDuplicate, "", first->second, "", {}});
  Active& trial = enter(id, 1);
  if (const auto by = pruning_reason_of(id, state_.trial(id).budget)) return end_pruned_by_rule(id, *by);
  return start(trial, "", std::move(built));
}

Result<void> StudyEngine::start(Active& trial, const std::string& checkpoint) {
  LANISTA_ASSIGN(BuiltModel built, build_model(state_.trial(trial.id).proposal));
  return start(trial, checkpoint, std::move(built));
}

Result<void> StudyEngine::start(Active& trial, const std::string& checkpoint, BuiltModel built) {
  auto job = make_job(state_.view.config, *services_.data, state_.trial(trial.id), std::move(built.model));
  if (job) job->frozen = frozen();
  Result<void> started = job ? plan_start(*job, state_.view, models_->ops()) : Result<void>(job.error());
  if (started && job->start && job->start->address.empty()) {
    started = Error{Code::kNotFound, "nothing is kept of " + study::start_text(*job->start) + ", to start from", ""};
  } else if (started) {
    const OpenTrial& open = state_.open.at(trial.id);
    job->logical_epoch = open.logical_epoch;
    job->logical_start = state_.due(trial.id, 0);  // as if it had never paused
    job->priority = open.priority;
    job->checkpoint = checkpoint;
    trial.device = device_for(*job);
    if (!services_.devices.empty()) job->device = services_.devices[trial.device].name;
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
  const std::int64_t parameters = state_.trial(trial.id).parameters;
  planner_.join(
      {trial.id, study::program_key(built.structure, job->recipe), study::state_bytes(parameters, job->recipe),
       study::best_weights_bytes(parameters, job->recipe, job->keep)},
      trial.device);
  allow(trial);
  return {};
}

Result<void> StudyEngine::start_to_finish(Active& trial) {
  LANISTA_TRY(start(trial, state_.open.at(trial.id).checkpoint));
  return send_groups();  // it ends after its allowed epoch, so that must be sent first
}

void StudyEngine::allow(Active& trial) {
  const std::int64_t epoch = trial.is_ending_or_pausing() ? trial.next : run_ahead_limit_.allowed_epoch(trial.id);
  if (epoch <= trial.allowed) return;
  trial.allowed = epoch;
  allowed_.push_back({trial.id, epoch});
}

Result<void> StudyEngine::apply_verdict(Active& trial) {
  const study::Measurement& measurement = state_.trial(trial.id).measurements.back();
  const std::string reason = divergence(state_.view.config, measurement);
  const bool at_end = measurement.epoch >= study::full_epochs(state_.trial(trial.id).proposal);
  const auto is_spared = [&] {
    return !at_end && (state_.open.at(trial.id).verdict || strategy_->verdict(trial.id).tolerates_divergence);
  };
  if (!reason.empty() && !is_spared()) {
    if (trial.started) services_.executor->command(Finish{trial.id, false, true});
    LANISTA_TRY(record_outcome_and_prune(trial.id, {OutcomeKind::kFailed, reason, {}, "", {}}));
    return fill_slots();
  }
  if (at_end) {
    return finish(trial, OutcomeKind::kSucceeded, "");
  }
  // A recorded verdict is final, although the strategy has observed more since.
  std::optional<study::Verdict>& recorded = state_.open.at(trial.id).verdict;
  study::Verdict verdict = recorded ? *recorded : strategy_->verdict(trial.id).verdict;
  if (verdict == study::Verdict::kContinue && measurement.epoch >= trial.budget) verdict = study::Verdict::kPause;
  if (verdict != study::Verdict::kContinue && !recorded) {
    LANISTA_TRY(log_.append(RecordType::kVerdict, verdict_body(trial.id, measurement.epoch, verdict)));
    state_.verdict(trial.id, verdict);
  }
  if (verdict == study::Verdict::kPause) return pause(trial);
  if (verdict == study::Verdict::kStop) {
    return finish(trial, OutcomeKind::kStopped, "stopping rule at epoch " + std::to_string(measurement.epoch));
  }
  due_times_.erase({state_.due(trial.id, trial.next), trial.id});
  ++trial.next;
  due_times_.emplace(state_.due(trial.id, trial.next), trial.id);
  if (trial.started) allow(trial);
  return {};
}

Result<void> StudyEngine::finish(Active& trial, OutcomeKind kind, const std::string& reason) {
  const study::Outcome outcome{kind, reason, {}, "", {}};
  if (kind == OutcomeKind::kStopped && run_ahead_limit_.ran_ahead(trial.id)) {
    // No verdict was due here, so the worker may have trained later epochs and these weights are gone.
    if (trial.started) services_.executor->command(Finish{trial.id, false, true});
    LANISTA_TRY(record_outcome_and_prune(trial.id, outcome));
    return fill_slots();
  }
  trial.pending_outcome = outcome;
  trial.reports.clear();
  if (!trial.started) LANISTA_TRY(start_to_finish(trial));
  if (!trial.started) return {};  // its failure is delivered as usual
  // The best of several trainings is known only when all are done.
  const bool keep = study::trainings_per_proposal(state_.view.config) > 1 ||
                    top_k_.would_admit(standing(state_.view.config, state_.trial(trial.id)));
  services_.executor->command(Finish{trial.id, keep, false});
  return {};
}

}  // namespace lanista::engine
