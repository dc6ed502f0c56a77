#include "lanista/engine/package.h"
#include "lanista/engine/study_engine.h"

namespace lanista::engine {

Result<Summary> StudyEngine::end_study() {
  const bool stopped = state_.ending == "stopped by the user";
  const std::string reason = !state_.ending.empty() ? state_.ending : nothing_left_.empty() ? "budget" : nothing_left_;
  std::optional<TrialId> winner;
  std::map<std::string, double> test;
  // Nothing about the winner is told before what made it the winner is on disk.
  LANISTA_TRY(log_.sync());
  if (!podium_.best().empty()) {
    winner = podium_.best().front().trial;
    LANISTA_TRY(package_winner(state_.trial(*winner), test));
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
  LANISTA_ASSIGN(const Job job, make_job(config, *services_.data, winner, built.model));
  LANISTA_ASSIGN(test, services_.executor->test(job, weights));
  LANISTA_ASSIGN(store::Checkpoint checkpoint, shelf_.files().get(weights));
  return write_package(*services_.fs, folder_ + "/best",
                       make_package(config, *services_.data, winner, job.recipe, std::move(built.model),
                                    std::move(checkpoint.tensors), test));
}

}  // namespace lanista::engine
