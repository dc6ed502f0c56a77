#include "lanista/engine/core/study_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using store::Record;
using store::RecordType;

Error damaged(const std::string& message) { return Error{Code::kDataLoss, message, "log"}; }

std::int64_t epoch_schedule_of(const study::TrialView& trial) {
  return trial.measurements.empty() ? 0 : trial.measurements.back().epoch;
}

std::string name_of(TrialId id) { return "trial " + std::to_string(id.value); }

}  // namespace

const study::Proposal* StudyState::parent_to_share(const study::Proposal& child) const {
  if (!child.parent || child.parent->value < 1 || child.parent->value > view.trials.size()) return nullptr;
  const study::Proposal& parent = trial(*child.parent).proposal;
  return shared_edits_ + parent.steps.size() + parent.edits.size() <= kMaxSharedEdits ? &parent : nullptr;
}

void StudyState::propose(TrialView trial, double logical_epoch, std::size_t waiting_index) {
  LANISTA_CHECK(trial.id.value == view.trials.size() + 1, "trials are numbered in order");
  // Two consecutive proposals: the first was no duplicate, or its outcome would be between them.
  if (last_record == LastRecord::kProposed) duplicates_in_a_row = 0;
  last_record = LastRecord::kProposed;
  last_trial = trial.id;
  now = trial.logical_start;
  OpenTrial& running = open[trial.id];
  running.logical_epoch = logical_epoch;
  running.began = trial.logical_start + (trial.proposal.race ? trial.proposal.race->time : 0);
  const auto asked = take_waiting([&waiting_index](const search::Member& m) {
    return std::holds_alternative<search::NewTrial>(m) && waiting_index-- == 0;
  });
  if (asked) {
    running.priority = asked->priority;
    if (asked->barrier) open_behind_barrier.insert(trial.id);
  }
  trial.budget = trial.proposal.budget;
  if (trial.budget < study::full_epochs(trial.proposal)) trial.rungs.push_back(trial.budget);
  if (const study::Proposal* parent = parent_to_share(trial.proposal)) {
    shared_edits_ += parent->steps.size() + parent->edits.size();
  }
  view.trials.push_back(std::move(trial));
}

std::optional<StudyState::WaitingMember> StudyState::take_waiting(
    const std::function<bool(const search::Member&)>& matches) {
  const auto found = std::find_if(waiting_members.begin(), waiting_members.end(),
                                  [&](const WaitingMember& w) { return matches(w.member); });
  if (found == waiting_members.end()) return std::nullopt;
  WaitingMember out = std::move(*found);
  waiting_members.erase(found);
  return out;
}

double StudyState::due(TrialId id, std::int64_t epoch) const {
  const OpenTrial& running = open.at(id);
  return running.began + static_cast<double>(epoch - running.began_after_epoch) * running.logical_epoch;
}

void StudyState::begin_group(const search::TrialGroup& group) {
  ++groups_;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    waiting_members.push_back({group.members[i], group.barrier, group.priority, groups_});
    if (i < group.costs.size()) waiting_members.back().cost = group.costs[i];
  }
}

void StudyState::pause(const PausedRecord& paused) {
  const TrialId id = paused.event.trial;
  OpenTrial& paused_trial = open.at(id);
  paused_trial.verdict.reset();
  paused_trial.checkpoint = paused_trial.paused_state = paused.address;
  paused_trial.paused_state_hash = paused.weights_hash;
  rule_pruned_in_a_row = 0;
  trial(id).paused = true;
  open_behind_barrier.erase(id);
  ++paused_;
  duplicates_in_a_row = 0;
  last_record = LastRecord::kOther;
  now = paused.logical_time;
}

void StudyState::resume(const ResumedRecord& resumed) {
  const TrialId id = resumed.event.trial;
  OpenTrial& running = open.at(id);
  running.paused_state.clear();
  running.paused_state_hash.reset();
  running.began = now = resumed.logical_time;
  running.began_after_epoch = resumed.event.epoch;
  trial(id).paused = false;
  trial(id).budget = resumed.event.budget;
  if (!trial(id).rungs.empty()) trial(id).rungs.push_back(resumed.event.budget);
  if (const auto& fork = resumed.event.fork) {
    TrialView& forked = trial(id);
    if (forked.forks.empty()) forked.first_sample = forked.proposal.sample;
    forked.forks.push_back(*fork);
    forked.proposal.sample = fork->sample;
    running.checkpoint = fork->address;
  }
  --paused_;
  const auto asked = take_waiting([id](const search::Member& m) {
    const auto* resume = std::get_if<search::ResumeTrial>(&m);
    return resume != nullptr && resume->trial == id;
  });
  if (asked) {
    running.priority = asked->priority;
    if (asked->barrier) open_behind_barrier.insert(id);
  }
  duplicates_in_a_row = 0;
  last_record = LastRecord::kOther;
}

void StudyState::measure(const study::Measurement& measurement) {
  TrialView& t = trial(measurement.trial);
  view.steps += measurement.step - (t.measurements.empty() ? 0 : t.measurements.back().step);
  view.steps += study::discarded_steps(measurement.race) + study::discarded_steps(measurement.selecting);
  t.measurements.push_back(measurement);
  duplicates_in_a_row = rule_pruned_in_a_row = 0;
  last_record = LastRecord::kMeasured;
  last_trial = measurement.trial;
  now = due(measurement.trial, measurement.epoch);
}

void StudyState::verdict(TrialId id, study::Verdict verdict) { open.at(id).verdict = verdict; }

void StudyState::end(TrialId id, const study::Outcome& outcome, double logical_time) {
  trial(id).outcome = outcome;
  if (std::exchange(trial(id).paused, false)) --paused_;
  open.erase(id);
  open_behind_barrier.erase(id);
  const auto belongs_to_trial = [id](const search::Member& member) {
    const auto* resume = std::get_if<search::ResumeTrial>(&member);
    const auto* stop = std::get_if<search::StopTrial>(&member);
    return (resume != nullptr && resume->trial == id) || (stop != nullptr && stop->trial == id);
  };
  while (take_waiting(belongs_to_trial)) {
  }
  duplicates_in_a_row = outcome.kind == study::OutcomeKind::kDuplicate ? duplicates_in_a_row + 1 : 0;
  rule_pruned_in_a_row = outcome.kind == study::OutcomeKind::kPrunedByRule ? rule_pruned_in_a_row + 1 : 0;
  last_record = LastRecord::kOther;
  now = logical_time;
}

void StudyState::end_study(const std::string& reason, std::optional<TrialId> winner, std::map<std::string, double> test,
                           std::optional<study::Ensemble> ensemble) {
  view.end_reason = reason;
  view.winner = winner;
  view.test = std::move(test);
  view.ensemble = std::move(ensemble);
}

void StudyState::extend(const Engine::Extension& extension) {
  // A log may contain larger numbers than the command line allows.
  const auto more = [](std::int64_t count, std::int64_t by) {
    return count + std::min(by, std::numeric_limits<std::int64_t>::max() - count);
  };
  if (extension.trials) trials = more(static_cast<std::int64_t>(view.trials.size()), *extension.trials);
  if (extension.steps) steps = more(view.steps, *extension.steps);
  if (extension.minutes) minutes = view.seconds / 60 + *extension.minutes;
  duplicates_in_a_row = rule_pruned_in_a_row = 0;
  view.end_reason.reset();
  view.winner.reset();
  view.ensemble.reset();
  view.test.clear();
  pending_end_reason.clear();
  finish_paused_reason.clear();
}

void StudyState::begin_attempt(double unix_time) {
  has_attempts = true;
  seconds_before_ = view.seconds;
  if (view.began == 0) view.began = unix_time;
  view.workers.present.clear();  // workers ended with their engine
  plan = {};
}

void StudyState::add_worker_report(const WorkerReport& report) { worker_history_builder_.add(report, view.workers); }

void StudyState::add_span(study::Span span) {
  if (span.timed != nullptr) ++timed_steps;
  view.spans.push_back(worker_history_builder_.with_host(std::move(span), view.workers));
}

void StudyState::set_worked_seconds(double seconds) { view.seconds = seconds_before_ + seconds; }

Result<TrialId> StudyState::open_trial(TrialId id) const {
  if (!open.contains(id)) return damaged(name_of(id) + " has a record, but it is not running");
  return id;
}

Result<TrialId> StudyState::running_trial(TrialId id) const {
  LANISTA_TRY(open_trial(id));
  if (trial(id).paused) return damaged(name_of(id) + " has a record of a running trial, but it is paused");
  return id;
}

Result<void> StudyState::apply_header(const json& body) {
  LANISTA_ASSIGN(HeaderRecord header, read_header(body));
  schema = header.schema;
  view.config = std::move(header.config);
  view.config_text = std::move(header.text);
  view.data = std::move(header.data);
  view.models = std::move(header.models);
  view.frozen = std::move(header.frozen);
  view.start_file = std::move(header.start_file);
  view.zoo = std::move(header.zoo);
  view.baselines = std::move(header.baselines);
  view.earlier = std::move(header.earlier);
  trials = view.config.budget.trials;
  steps = view.config.budget.steps;
  minutes = view.config.budget.guard_minutes;
  return {};
}

void StudyState::apply_control(const ControlRecord& control) {
  if (control.request == "extend") {
    extend({.trials = control.trials, .minutes = control.minutes, .steps = control.steps});
    if (control.has_lost_minutes) ++lost_null_metrics;
  } else if (control.request == "stop" || control.request == "guard") {
    if (pending_end_reason.empty()) pending_end_reason = control.request == "stop" ? "stopped by the user" : "guard";
  } else if (control.request == "stop-trial" && control.trial && open.contains(*control.trial)) {
    open[*control.trial].cancel_asked = true;  // it may have ended in the meantime
  } else if (control.request == "end") {
    finish_paused_reason = control.reason;
  }
}

Result<void> StudyState::apply(const Record& record, const std::function<void(const study::Event&)>& on_event) {
  const json& body = record.body;
  const bool first = view.config_text.empty();
  if (first != (record.type == RecordType::kHeader)) {
    return damaged(first ? "the log does not begin with a header" : "the log has two headers");
  }
  switch (record.type) {
    case RecordType::kHeader:
      return apply_header(body);
    case RecordType::kNumerics:
      view.numerics = body;
      return {};
    case RecordType::kProposed: {
      LANISTA_ASSIGN(ProposedRecord proposed, read_proposed(body));
      if (proposed.trial.value != view.trials.size() + 1) return damaged("proposals are not numbered in order");
      if (auto& model = proposed.zoo_model) view.zoo_models.insert_or_assign(model->id, *std::move(model));
      if (proposed.proposal.is_refinement && !view.config.strategy.then) {
        return damaged(name_of(proposed.trial) + " is a refinement in a study without a second stage");
      }
      for (const study::Start* start : study::start_parents_of(proposed.proposal)) {
        if (start->parent >= proposed.trial) {
          return damaged(name_of(proposed.trial) + " starts from " + name_of(start->parent));
        }
        if (!start->zoo.empty() && !view.zoo_models.contains(start->zoo)) {
          return damaged(name_of(proposed.trial) + " starts from a zoo model that the log does not describe");
        }
      }
      if (proposed.num_shared_steps + proposed.num_shared_edits > 0) {
        const study::Proposal* parent = parent_to_share(proposed.proposal);
        if (parent == nullptr) {
          return damaged(name_of(proposed.trial) + " shares edits with an unknown parent, " +
                         name_of(*proposed.proposal.parent));
        }
        LANISTA_TRY(add_shared_steps(proposed, *parent));
      }
      TrialView trial;
      trial.id = proposed.trial;
      trial.proposal = std::move(proposed.proposal);
      trial.logical_start = proposed.logical_start;
      trial.parameters = proposed.parameters;
      trial.device = std::move(proposed.device);
      const study::Proposed event{trial.id, trial.proposal};
      propose(std::move(trial), proposed.logical_epoch, proposed.waiting_index);
      on_event(event);
      return {};
    }
    case RecordType::kMeasurement: {
      LANISTA_ASSIGN(study::Measurement m, study::measurement_from_json(body));
      LANISTA_ASSIGN(const TrialId id, running_trial(m.trial));
      if (m.epoch != epoch_schedule_of(trial(id)) + 1) {
        return damaged(name_of(id) + " measured epoch " + std::to_string(m.epoch) + " out of order");
      }
      const auto& race = trial(id).proposal.race;
      if (!m.race.empty() && (m.epoch != 1 || !race || std::ssize(m.race) != race->racers())) {
        return damaged(name_of(id) + " reports a start race that it did not have");
      }
      measure(m);
      on_event(study::Measured{std::move(m)});
      return {};
    }
    case RecordType::kVerdict: {
      LANISTA_ASSIGN(const VerdictRecord parsed, read_verdict(body));
      LANISTA_TRY(running_trial(parsed.trial));
      verdict(parsed.trial, parsed.verdict);
      return {};
    }
    case RecordType::kGroup: {
      LANISTA_ASSIGN(const search::TrialGroup group, read_group(body));
      begin_group(group);
      return {};
    }
    case RecordType::kPaused: {
      LANISTA_ASSIGN(const PausedRecord paused, read_paused(body));
      LANISTA_ASSIGN(const TrialId id, running_trial(paused.event.trial));
      if (paused.event.epoch != epoch_schedule_of(trial(id)))
        return damaged(name_of(id) + " paused at another epoch than its last");
      pause(paused);
      on_event(paused.event);
      return {};
    }
    case RecordType::kResumed: {
      LANISTA_ASSIGN(const ResumedRecord resumed, read_resumed(body));
      LANISTA_ASSIGN(const TrialId id, open_trial(resumed.event.trial));
      if (!trial(id).paused) return damaged(name_of(id) + " resumes, but it is running");
      if (resumed.event.epoch != epoch_schedule_of(trial(id)) || resumed.event.budget <= resumed.event.epoch) {
        return damaged(name_of(id) + " resumes at another epoch than its last, or with no more budget");
      }
      if (const auto& fork = resumed.event.fork) {
        const bool known = fork->from.value <= view.trials.size() && fork->from != id;
        if (!known || fork->epoch != resumed.event.epoch || epoch_schedule_of(trial(fork->from)) < fork->epoch) {
          return damaged(name_of(id) + " is forked from " + name_of(fork->from) + ", which was not at that epoch");
        }
      }
      resume(resumed);
      on_event(resumed.event);
      return {};
    }
    case RecordType::kOutcome: {
      LANISTA_ASSIGN(OutcomeRecord ended, read_outcome(body));
      LANISTA_TRY(open_trial(ended.trial));
      if (const auto& by = ended.outcome.pruned_by; by && (by->value > view.trials.size() || *by == ended.trial)) {
        return damaged(name_of(ended.trial) + " is pruned by " + name_of(*by) + ", which does not exist");
      }
      end(ended.trial, ended.outcome, ended.logical_time);
      on_event(study::Ended{ended.trial, std::move(ended.outcome)});
      return {};
    }
    case RecordType::kCheckpoint: {
      LANISTA_ASSIGN(CheckpointRecord saved, read_checkpoint(body));
      // The trial may have ended before the file was saved.
      if (open.contains(saved.trial)) open[saved.trial].checkpoint = std::move(saved.address);
      return {};
    }
    case RecordType::kAttempt: {
      LANISTA_ASSIGN(const AttemptRecord attempt, read_attempt(body));
      if (attempt.began) begin_attempt(*attempt.began);
      if (attempt.seconds) set_worked_seconds(*attempt.seconds);
      return {};
    }
    case RecordType::kControl: {
      LANISTA_ASSIGN(const ControlRecord control, read_control(body));
      apply_control(control);
      return {};
    }
    case RecordType::kStudyEnd: {
      LANISTA_ASSIGN(StudyEndRecord end, read_study_end(body));
      lost_null_metrics += end.nulls;
      if (end.ensemble) {
        for (const study::Ensemble::Member& member : end.ensemble->members) {
          if (member.trial.value <= view.trials.size()) continue;
          return damaged("an ensemble has " + name_of(member.trial) + ", which does not exist");
        }
      }
      end_study(end.reason, end.winner, std::move(end.test), std::move(end.ensemble));
      return {};
    }
    case RecordType::kSpan: {
      LANISTA_ASSIGN(const study::Span span, read_span(body));
      if (span.trial.value > view.trials.size()) {
        return damaged("a span has " + name_of(span.trial) + ", which does not exist");
      }
      add_span(span);
      return {};
    }
    case RecordType::kPlan: {
      LANISTA_ASSIGN(const PlanRecord report, read_plan(record.body));
      for (const plan::Regrouping::Part& part : report.changes.parts) {
        for (const TrialId trial : part.trials) {
          if (trial.value > view.trials.size())
            return damaged("a plan has " + name_of(trial) + ", which does not exist");
        }
      }
      if (report.is_full_plan) plan = {};
      plan.apply(report.changes);
      return {};
    }
    case RecordType::kWorker: {
      LANISTA_ASSIGN(const WorkerReport report, read_worker(body));
      add_worker_report(report);
      return {};
    }
    case RecordType::kCostRows:
      return {};
  }
  return damaged("a record of the unknown type " + std::to_string(static_cast<int>(record.type)));
}

Result<void> replay_records(StudyState& state, const std::vector<Record>& records,
                            const std::function<void(const study::Event&)>& on_event, std::size_t before) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string where = "log, record " + std::to_string(before + i + 1);
    try {
      if (auto applied = state.apply(records[i], on_event); !applied) {
        return Error{applied.error().code, applied.error().message, where};
      }
    } catch (const json::exception& error) {
      return Error{Code::kDataLoss, error.what(), where};
    }
  }
  if (state.view.config_text.empty()) return damaged("the log holds no header");
  return {};
}

Result<StudyView> fold(const std::vector<Record>& records) {
  StudyState state;
  LANISTA_TRY(replay_records(state, records, [](const study::Event&) {}));
  return std::move(state.view);
}

}  // namespace lanista::engine
