#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lanista/engine/control.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/podium.h"
#include "lanista/engine/shelf.h"
#include "lanista/engine/study_state.h"

namespace lanista::engine {

/// The engine over one log and one executor. Single-threaded; workers live behind the executor.
///
/// Its rule: the next event delivered is that of the running trial whose next epoch ends first in logical time, however
/// long that trial's report takes to arrive; reports of others wait in their buffers. What follows from an event (a
/// verdict, an outcome, new proposals) is done before the next event. Hence at any moment only the last event in the
/// log can have consequences that are not there yet, and those `pick_up` computes again.
class StudyEngine final : public Engine {
 public:
  StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
              std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<strategy::Strategy> strategy);

  const StudyView& view() const override { return state_.view; }
  Result<Summary> run() override;

 private:
  /// A running trial.
  struct Active {
    TrialId id;
    std::int64_t budget = 0;
    std::int64_t next = 1;     ///< the epoch to be delivered next; of a finishing trial, its last
    std::int64_t allowed = 0;  ///< it may train through this epoch
    bool started = false;
    std::deque<study::Measurement> reports;  ///< epochs next, next + 1, …
    std::optional<FailureReport> failure;
    std::optional<study::Outcome> finishing;  ///< Finish was commanded; this will be its outcome
    std::optional<FinishedReport> finished;
  };
  struct Costed {
    graph::Graph model;
    graph::ModelCost cost;
  };

  // study_engine.cpp: the loop
  Result<Summary> loop();
  Result<void> pick_up();
  Result<void> restore_shelf();
  Result<void> begin_attempt();
  Result<void> poll();
  Result<void> obey(const Request& request);
  Result<Summary> pause();
  Result<void> take(Report report);
  Result<void> take_epoch(study::Measurement measurement);
  Result<void> note_checkpoint(const CheckpointReport& report);
  bool ready(const Active& trial) const;
  Result<void> deliver(Active& trial);
  /// The model's params and flops as metrics, where a goal or a constraint asks for them.
  Result<void> add_costs(study::Measurement& measurement);
  void abandon_all();

  // study_trials.cpp: what follows from events
  Result<void> fill();
  Result<bool> budget_allows(const study::Proposal& proposal) const;
  Result<void> propose(study::Proposal proposal);
  Result<void> start(Active& trial, const std::string& checkpoint);
  Result<void> start(Active& trial, const std::string& checkpoint, graph::Graph model);
  void allow(Active& trial, std::int64_t epoch);
  Result<void> settle(Active& trial);
  Result<void> finish(Active& trial, study::OutcomeKind kind, const std::string& reason);
  Result<void> conclude(TrialId trial, study::Outcome outcome);
  Result<void> cancel(TrialId trial, const std::string& reason);
  Result<const Costed*> base_model(std::int64_t base);
  Result<Costed> build(const study::Proposal& proposal);
  void announce(const study::Event& event);
  Active& enter(TrialId id, std::int64_t next);
  void leave(TrialId id);
  std::int64_t steps_per_epoch() const;
  std::size_t podium_size() const;

  // study_end.cpp
  Result<Summary> end_study();
  Result<void> package_winner(const TrialView& winner, std::map<std::string, double>& test);
  void event(Level level, const std::string& name, nlohmann::json fields) const;

  std::string folder_;
  Services services_;
  store::LogWriter log_;
  StudyState state_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::unique_ptr<strategy::Strategy> strategy_;
  Podium podium_;
  Shelf shelf_;

  std::map<TrialId, Active> active_;
  std::set<std::pair<double, TrialId>> due_;  ///< of every active trial, when its next event is due
  std::unordered_map<Digest, TrialId> keys_;  ///< first trial of each duplicate key; never walked
  std::map<std::int64_t, Costed> bases_;      ///< base models that were used unchanged
  std::string nothing_left_;                  ///< why the strategy proposes nothing, or empty
  std::string pause_asked_;                   ///< by whom, or empty
  bool paused_ = false;
  double began_ = 0, last_sync_ = 0, last_worked_ = 0;  ///< on the clock of durations
  std::optional<double> last_poll_;
};

}  // namespace lanista::engine
