#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/engine/core/executor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/log.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/planner.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

// Bodies of log records: one writer and one reader for each type. Module search/study has those of measurements.
// Errors of readers: kDataLoss.

/// Body of a header record: everything that a new study fixes.
struct HeaderRecord {
  study::StudyConfig config;                   ///< The parsed configuration.
  std::int64_t schema = store::kPlainSchema;   ///< Schema of the log.
  std::string text;                            ///< Text of the study file, with every setting.
  nlohmann::json data, models;                 ///< Description of the data set; base models of the space.
  std::string frozen;                          ///< Address of the frozen weights, which is their hash; empty: none.
  std::vector<study::Baseline> baselines;      ///< Reference results.
  std::optional<study::Earlier> earlier;       ///< Imported trials of an earlier study.
  std::optional<study::StartFile> start_file;  ///< The start file of train.start.
  std::optional<study::ZooSnapshot> zoo;       ///< The zoo models that the study may start from.
};
/// Writes a header body.
nlohmann::json header_body(const study::StudyConfig& config, const std::string& config_text, const data::DataSpec& data,
                           const mutate::ModelSpace& models, const std::string& frozen = "",
                           const std::vector<study::Baseline>& baselines = {},
                           const std::optional<study::Earlier>& earlier = {},
                           const std::optional<study::StartFile>& start_file = {},
                           const std::optional<study::ZooSnapshot>& zoo = {});
/// Reads a header body.
Result<HeaderRecord> read_header(const nlohmann::json& body);

/// Body of a proposal. The first steps and edits that its parent has too are counted, not repeated, so that a long
/// lineage makes no long records.
struct ProposedRecord {
  TrialId trial;                                ///< Number of the new trial.
  study::Proposal proposal;                     ///< Without the shared steps and edits; see add_shared_steps.
  double logical_start = 0, logical_epoch = 1;  ///< Start and duration of an epoch on the logical clock.
  std::int64_t parameters = 0;                  ///< Parameter count of the model.
  std::size_t num_shared_steps = 0, num_shared_edits = 0;  ///< Steps and edits left out.
  std::size_t waiting_index = 0;                           ///< Index of the trial among the new trials that wait.
  std::optional<study::ZooModel> zoo_model;  ///< Zoo model of its start, in the first record that uses it.
  std::string device = {};                   ///< study::TrialView::device.
};
/// Writes a proposal. `parent` is the parent proposal with which it shares steps, or null. `zoo_model` is as in
/// ProposedRecord, or null. `key` is the duplicate key.
nlohmann::json proposed_body(const study::TrialView& trial, double logical_epoch, const Digest& key,
                             const study::Proposal* parent = nullptr, const study::ZooModel* zoo_model = nullptr,
                             std::size_t waiting_index = 0);
/// Reads a proposal, without the shared steps and edits.
Result<ProposedRecord> read_proposed(const nlohmann::json& body);
/// Adds the steps and edits that the record shares with its parent. Errors: kDataLoss (the parent has fewer).
Result<void> add_shared_steps(ProposedRecord& record, const study::Proposal& parent);

/// Body of a verdict that is not `continue`.
struct VerdictRecord {
  TrialId trial;                                   ///< The trial.
  study::Verdict verdict = study::Verdict::kStop;  ///< Pause or stop.
};
/// Writes a verdict after `epoch`.
nlohmann::json verdict_body(TrialId trial, std::int64_t epoch, study::Verdict verdict);
/// Reads a verdict.
Result<VerdictRecord> read_verdict(const nlohmann::json& body);

/// Writes a trial group of a strategy. Only groups with several members, a barrier or a priority are recorded.
nlohmann::json group_body(const strategy::TrialGroup& group);
/// Reads a trial group.
Result<strategy::TrialGroup> read_group(const nlohmann::json& body);

/// Body of a trial's pause.
struct PausedRecord {
  study::Paused event;                 ///< Trial and epoch.
  double logical_time = 0;             ///< Logical time of the pause.
  std::string address;                 ///< State to resume from, which holds its weights; empty: nothing is kept.
  std::optional<Digest> weights_hash;  ///< Hash of the state at the end of the epoch.
};
/// Writes a pause.
nlohmann::json paused_body(const PausedRecord& paused);
/// Reads a pause.
Result<PausedRecord> read_paused(const nlohmann::json& body);

/// Body of a trial's resumption; its fork, if any, has the address of the state.
struct ResumedRecord {
  study::Resumed event;     ///< Trial, epoch, new budget and fork.
  double logical_time = 0;  ///< Logical time of the resumption.
};
/// Writes a resumption.
nlohmann::json resumed_body(const ResumedRecord& resumed);
/// Reads a resumption.
Result<ResumedRecord> read_resumed(const nlohmann::json& body);

/// Body of a trial's outcome.
struct OutcomeRecord {
  TrialId trial;            ///< The trial.
  study::Outcome outcome;   ///< How it ended.
  double logical_time = 0;  ///< Logical time of its end.
};
/// Writes an outcome. A reason that is longer than a page is cut.
nlohmann::json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time);
/// Reads an outcome.
Result<OutcomeRecord> read_outcome(const nlohmann::json& body);

/// Body of a stored checkpoint.
struct CheckpointRecord {
  TrialId trial;                     ///< The trial.
  std::int64_t epoch = 0, step = 0;  ///< Complete epochs and steps.
  std::string address;               ///< Address in the checkpoint store.
};
/// Writes a checkpoint.
nlohmann::json checkpoint_body(const CheckpointRecord& checkpoint);
/// Reads a checkpoint.
Result<CheckpointRecord> read_checkpoint(const nlohmann::json& body);

/// Body of an attempt: a process began to work on the study, or recorded for how long it has worked.
struct AttemptRecord {
  std::optional<double> began, seconds;  ///< Unix time of the begin; seconds of work.
};
/// Writes the begin of an attempt by process `pid` on `host`.
nlohmann::json attempt_begin_body(double unix_time, std::int64_t pid, const std::string& host);
/// Writes the seconds of work so far. `event` names the moment.
nlohmann::json attempt_worked_body(const std::string& event, double seconds);
/// Reads an attempt.
Result<AttemptRecord> read_attempt(const nlohmann::json& body);

/// Body of a request that took effect.
struct ControlRecord {
  std::string request;  ///< Pause, stop, stop-trial, guard, extend, or end: paused trials end with the study.
  double time = 0;      ///< Unix time, seconds.
  std::optional<TrialId> trial = {};        ///< Of stop-trial.
  std::optional<std::int64_t> trials = {};  ///< Of extend: more trials.
  std::optional<double> minutes = {};       ///< Of extend: more minutes.
  std::string by = {};                      ///< Source of a pause request.
  bool has_lost_minutes = false;            ///< An old build wrote the minutes as null.
  std::optional<std::int64_t> steps = {};   ///< Of extend: more training steps.
  std::string reason = {};                  ///< Of end.
};
/// Writes a request.
nlohmann::json control_body(const ControlRecord& control);
/// Reads a request.
Result<ControlRecord> read_control(const nlohmann::json& body);

/// Body of a plan: lane groups that changed since the last plan record of the attempt. Logs of schemas below 3 have
/// whole plans. An attempt begins without groups.
struct PlanRecord {
  schedule::Regrouping changes;  ///< Trials by their new groups.
  bool is_full_plan = false;     ///< Trials that are not named are in no group.
};
/// Writes changes of a plan.
nlohmann::json plan_body(const schedule::Regrouping& changes);
/// Writes a whole plan, as in schemas below 3.
nlohmann::json plan_body(const schedule::GroupPlan& whole);
/// Reads a plan of either form.
Result<PlanRecord> read_plan(const nlohmann::json& body);

/// Writes a span.
nlohmann::json span_body(const study::Span& span);
/// Reads a span.
Result<study::Span> read_span(const nlohmann::json& body);

/// Writes the start or the loss of a worker process.
nlohmann::json worker_body(const WorkerReport& report, double unix_time);
/// Reads the start or the loss of a worker process.
Result<WorkerReport> read_worker(const nlohmann::json& body);

/// Body of the end of a study.
struct StudyEndRecord {
  std::string reason;                            ///< Why it ended.
  std::optional<TrialId> winner;                 ///< Best trial; absent: none.
  std::map<std::string, double> test;            ///< Metrics of best/ on the test part.
  std::int64_t nulls = 0;                        ///< Metrics that an old build wrote as null.
  std::optional<study::Ensemble> ensemble = {};  ///< Content of best/, if it is more than the winner.
};
/// Writes the end of a study.
nlohmann::json study_end_body(const std::string& reason, std::optional<TrialId> winner,
                              const std::map<std::string, double>& test,
                              const std::optional<study::Ensemble>& ensemble = {});
/// Reads the end of a study.
Result<StudyEndRecord> read_study_end(const nlohmann::json& body);

/// Reads a body with the reader of its type, so that a log never holds a record that its reader refuses. Errors: those
/// of the reader.
Result<void> check_body(store::RecordType type, const nlohmann::json& body);

}  // namespace lanista::engine
