#include <algorithm>

#include "lanista/engine/assembly.h"
#include "lanista/engine/frozen.h"
#include "lanista/engine/package.h"
#include "lanista/engine/study_engine.h"

namespace lanista::engine {

Result<Summary> StudyEngine::end_study() {
  const bool stopped = state_.ending == "stopped by the user";
  const std::string reason = !state_.ending.empty()       ? state_.ending
                             : !state_.winding_up.empty() ? state_.winding_up
                             : nothing_left_.empty()      ? "budget"
                                                          : nothing_left_;
  std::optional<TrialId> winner;
  std::map<std::string, double> test;
  // Nothing about the winner is told before what made it the winner is on disk.
  LANISTA_TRY(log_.sync());
  for (const study::Standing& standing : podium_.best()) {
    auto packaged = package_winner(state_.trial(standing.trial), test);
    if (!packaged && packaged.error().code != Code::kDataLoss) return std::move(packaged).error();
    if (packaged) {
      winner = standing.trial;
      break;
    }
    event(Level::kWarning, "winner_lost", {{"trial", standing.trial.value}, {"reason", packaged.error().text()}});
  }
  const double seconds = services_.clock->now() - began_;
  state_.worked(seconds);
  LANISTA_TRY(log_.append(store::RecordType::kAttempt, worked_body("worked", seconds)));
  LANISTA_TRY(log_.append(store::RecordType::kStudyEnd, study_end_body(reason, winner, test)));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(shelf_.flush());
  state_.end_study(reason, winner, std::move(test));
  return Summary{stopped ? End::kStoppedByUser : End::kDone, reason};
}

Result<void> StudyEngine::package_winner(const TrialView& winner, std::map<std::string, double>& test) {
  const std::string& weights = winner.outcome->weights;
  if (weights.empty()) {
    event(Level::kWarning, "winner_without_weights", {{"trial", winner.id.value}});
    return {};
  }
  LANISTA_ASSIGN(Costed built, build(winner.proposal));
  const study::StudyConfig& config = state_.view.config;
  LANISTA_ASSIGN(Job job, make_job(config, *services_.data, winner, built.model));
  job.frozen = frozen();
  LANISTA_ASSIGN(store::Checkpoint checkpoint, weights_of(winner, job));
  if (test.empty()) {
    LANISTA_ASSIGN(test, services_.executor->test(job, weights));
  }
  LANISTA_ASSIGN(auto state, whole_state(store::standing_weights(std::move(checkpoint)), job.frozen, shelf_.files()));
  LANISTA_TRY(write_package(
      *services_.fs, folder_ + "/best",
      make_package(config, *services_.data, winner, job.recipe, std::move(built.model), std::move(state), test)));
  if (services_.observer.on_package) services_.observer.on_package(!test.empty());
  return {};
}

Result<store::Checkpoint> StudyEngine::weights_of(const TrialView& trial, const Job& job) {
  const std::string& address = trial.outcome->weights;
  auto stored = shelf_.files().get(address);
  if (stored || (stored.error().code != Code::kDataLoss && stored.error().code != Code::kNotFound)) return stored;
  event(Level::kWarning, "weights_lost", {{"trial", trial.id.value}, {"reason", stored.error().text()}});
  LANISTA_TRY(shelf_.discard(address));
  LANISTA_TRY(train_again(job, trial.measurements.back().epoch));
  stored = shelf_.files().get(address);
  if (stored || stored.error().code != Code::kNotFound) return stored;
  return Error{Code::kDataLoss, "its weights are lost, and training it again gave others", ""};
}

Result<void> StudyEngine::train_again(const Job& job, std::int64_t epochs) {
  const auto lost = [](const std::string& reason) {
    return Error{Code::kDataLoss, "its weights are lost, and it cannot be trained again: " + reason, ""};
  };
  if (auto started = services_.executor->start(job); !started) return lost(started.error().text());
  services_.executor->command(Allow{job.trial, epochs});
  services_.executor->command(Finish{job.trial, true, false});
  while (true) {
    if (services_.pause != nullptr && services_.pause->load() != 0) {
      return Error{Code::kUnavailable, "interrupted while the winner was trained again", ""};
    }
    const auto report = services_.executor->next(kPollSeconds);
    if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
    if (!report) continue;
    if (const auto* broken = std::get_if<BrokenReport>(&*report)) return broken->error;
    if (const auto* saved = std::get_if<CheckpointReport>(&*report)) LANISTA_TRY(note_checkpoint(*saved));
    const auto* failure = std::get_if<FailureReport>(&*report);
    if (failure != nullptr && failure->trial == job.trial) return lost(failure->reason);
    const auto* finished = std::get_if<FinishedReport>(&*report);
    if (finished != nullptr && finished->trial == job.trial) return {};
  }
}

Result<void> StudyEngine::mend_package() {
  if (!state_.view.winner) return {};
  const TrialView& winner = state_.trial(*state_.view.winner);
  const auto whole = read_package(*services_.fs, folder_ + "/best", services_.ops);
  if (whole || (whole.error().code != Code::kDataLoss && whole.error().code != Code::kNotFound)) return {};
  event(Level::kWarning, "package_lost", {{"trial", winner.id.value}, {"reason", whole.error().text()}});
  std::map<std::string, double> test = state_.view.test;
  LANISTA_TRY(package_winner(winner, test));
  return shelf_.flush();
}

Engine::Extension StudyEngine::more() const {
  const StudyView& view = state_.view;
  const bool stopped = view.end_reason == "stopped by the user";
  if (!stopped && view.end_reason != "budget" && view.end_reason != "guard") return {};
  const study::BudgetConfig& budget = view.config.budget;
  const std::int64_t least = least_steps_of_a_trial(view.config, *services_.data);
  const auto trials = static_cast<std::int64_t>(view.trials.size());
  const auto as_many_steps = [&] { return std::max(least, budget.steps.value_or(view.steps)); };
  Extension out;
  if (trials_spent()) out.trials = std::max<std::int64_t>(1, trials);
  if (state_.steps && view.steps + least > *state_.steps) out.steps = as_many_steps();
  if (out.empty() && stopped) {
    if (state_.trials) {
      out.trials = *state_.trials - trials;
    } else if (state_.steps) {
      out.steps = *state_.steps - view.steps;
    }
  } else if (out.empty() && state_.steps && view.end_reason == "budget") {
    out.steps = as_many_steps();  // a trial of the least steps would fit, those that were proposed did not
  }
  // A guard that leaves less than the study has worked would soon end it again.
  const double left = state_.minutes ? *state_.minutes * 60 - view.seconds : 0;
  if (state_.minutes && (stopped ? left <= 0 : left < view.seconds)) {
    out.minutes = budget.guard_minutes.value_or(*state_.minutes);
  } else if (state_.minutes && out.empty()) {
    out.minutes = std::max(left / 60, 0.001);
  }
  return out;
}

}  // namespace lanista::engine
