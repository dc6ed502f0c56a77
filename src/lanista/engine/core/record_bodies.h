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

/// Body of a header record: everything that is fixed when a study is created.
struct HeaderRecord {
  study::StudyConfig config;                  ///< The configuration, parsed from `text`.
  std::int64_t schema = store::kPlainSchema;  ///< Number of the log schema.
  std::string text;                           ///< The resolved study file: its YAML text with every setting.
  nlohmann::json data, models;  ///< Description of the data set, as JSON; base models of the space, as an array.
  std::string frozen;           ///< Address of the frozen weights, which is their hash; empty: none are frozen.
  std::vector<study::Baseline> baselines;      ///< Reference results; may be empty.
  std::optional<study::Earlier> earlier;       ///< Trials that were imported from an earlier study; absent: none.
  std::optional<study::StartFile> start_file;  ///< The start file of train.start; absent: none.
  std::optional<study::ZooSnapshot> zoo;  ///< The zoo models that the study may start from; absent: it uses no zoo.
};
/// Returns the JSON body of the record of a header body. The schema is the oldest one that can hold the study. In its
/// key `config`, settings of the machine such as run.workers have default values, so that equal studies have equal
/// text. `config_text` is unchanged.
nlohmann::json header_body(const study::StudyConfig& config, const std::string& config_text, const data::DataSpec& data,
                           const mutate::ModelSpace& models, const std::string& frozen = "",
                           const std::vector<study::Baseline>& baselines = {},
                           const std::optional<study::Earlier>& earlier = {},
                           const std::optional<study::StartFile>& start_file = {},
                           const std::optional<study::ZooSnapshot>& zoo = {});
/// Reads the JSON body of the record of a header body of a schema that this version reads (store::read_log refuses
/// newer ones). Errors: kDataLoss (malformed).
Result<HeaderRecord> read_header(const nlohmann::json& body);

/// Body of a proposal. Its first mutation steps and edits are left out if its parent has the same ones; only their
/// number is stored. A long lineage thus gives no long records.
struct ProposedRecord {
  TrialId trial;             ///< Number of the new trial.
  study::Proposal proposal;  ///< The proposal, without the shared steps and edits until add_shared_steps.
  double logical_start = 0, logical_epoch = 1;  ///< Logical time of its start, and logical duration of an epoch.
  std::int64_t parameters = 0;                  ///< Number of trained parameters of the model.
  std::size_t num_shared_steps = 0, num_shared_edits = 0;  ///< Number of steps and edits left out.
  std::size_t waiting_index = 0;  ///< Index, from 0, of the trial among the new trials that waited for a slot.
  std::optional<study::ZooModel> zoo_model;  ///< Zoo model of its start, in the first record that uses it; else absent.
  std::string device = {};                   ///< Name of its device (study::TrialView::device); empty: none is fixed.
};
/// Returns the JSON body of the record of a proposal. `key` is its duplicate key. `parent` is the parent proposal with
/// which it shares steps; null: all steps are written. `zoo_model` and `waiting_index` are as in ProposedRecord; null:
/// no zoo model.
nlohmann::json proposed_body(const study::TrialView& trial, double logical_epoch, const Digest& key,
                             const study::Proposal* parent = nullptr, const study::ZooModel* zoo_model = nullptr,
                             std::size_t waiting_index = 0);
/// Reads a proposal, without the steps and edits that it shares with its parent. The duplicate key is not read. Errors:
/// kDataLoss (malformed).
Result<ProposedRecord> read_proposed(const nlohmann::json& body);
/// Adds the left-out steps and edits, from the parent's proposal. Errors: kDataLoss (the parent has fewer than were
/// left out).
Result<void> add_shared_steps(ProposedRecord& record, const study::Proposal& parent);

/// Body of a verdict that is not `continue`.
struct VerdictRecord {
  TrialId trial;                                   ///< The trial.
  study::Verdict verdict = study::Verdict::kStop;  ///< Pause or stop.
};
/// Returns the JSON body of the record of the verdict on a trial after its measurement of `epoch`.
nlohmann::json verdict_body(TrialId trial, std::int64_t epoch, study::Verdict verdict);
/// Reads a verdict. The epoch is not read; without the field `verdict` it is kStop. Errors: kDataLoss (malformed).
Result<VerdictRecord> read_verdict(const nlohmann::json& body);

/// Returns the JSON body of the record of a trial group that a strategy suggested. The engine records only groups with
/// several members, a barrier or a priority.
nlohmann::json group_body(const search::TrialGroup& group);
/// Reads the JSON body of the record of a trial group. Errors: kDataLoss (malformed).
Result<search::TrialGroup> read_group(const nlohmann::json& body);

/// Body of a trial's pause.
struct PausedRecord {
  study::Paused event;                 ///< The trial, and its last epoch before the pause.
  double logical_time = 0;             ///< Logical time of the pause.
  std::string address;                 ///< Address of the state to resume from; empty: no state is kept.
  std::optional<Digest> weights_hash;  ///< Hash of the state at the end of the epoch; absent: no state is kept.
};
/// Returns the JSON body of the record of a pause.
nlohmann::json paused_body(const PausedRecord& paused);
/// Reads the JSON body of the record of a pause. Errors: kDataLoss (malformed).
Result<PausedRecord> read_paused(const nlohmann::json& body);

/// Body of a trial's resumption. After a fork, Fork::address is the state to resume from.
struct ResumedRecord {
  study::Resumed event;     ///< The trial, its last epoch before, its new budget and its fork.
  double logical_time = 0;  ///< Logical time of the resumption.
};
/// Returns the JSON body of the record of a resumption.
nlohmann::json resumed_body(const ResumedRecord& resumed);
/// Reads the JSON body of the record of a resumption. Errors: kDataLoss (malformed).
Result<ResumedRecord> read_resumed(const nlohmann::json& body);

/// Body of a trial's outcome.
struct OutcomeRecord {
  TrialId trial;            ///< The trial.
  study::Outcome outcome;   ///< How it ended.
  double logical_time = 0;  ///< Logical time of its end.
};
/// Returns the JSON body of the record of an outcome. A reason of more than 2,000 bytes is cut and ends with "…".
nlohmann::json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time);
/// Reads the JSON body of the record of an outcome. Errors: kDataLoss (malformed).
Result<OutcomeRecord> read_outcome(const nlohmann::json& body);

/// Body of a stored checkpoint of a running trial.
struct CheckpointRecord {
  TrialId trial;                     ///< The trial.
  std::int64_t epoch = 0, step = 0;  ///< Number of complete epochs and steps in the checkpoint.
  std::string address;               ///< Address in the checkpoint store.
};
/// Returns the JSON body of the record of a checkpoint.
nlohmann::json checkpoint_body(const CheckpointRecord& checkpoint);
/// Reads the JSON body of the record of a checkpoint. Errors: kDataLoss (malformed).
Result<CheckpointRecord> read_checkpoint(const nlohmann::json& body);

/// Body of an attempt: a process began to work on the study, or recorded the time that it has worked since.
struct AttemptRecord {
  /// Unix time of the begin in seconds; seconds of work since the begin. Only one of them is present.
  std::optional<double> began, seconds;
};
/// Returns the JSON body of the record of the begin of an attempt by process `pid` on `host`, at `unix_time` in
/// seconds.
nlohmann::json attempt_begin_body(double unix_time, std::int64_t pid, const std::string& host);
/// Returns the JSON body of the record of the seconds of work since the begin of the attempt. `event` names the
/// occasion, such as "worked".
nlohmann::json attempt_worked_body(const std::string& event, double seconds);
/// Reads the JSON body of the record of an attempt. Errors: kDataLoss (malformed).
Result<AttemptRecord> read_attempt(const nlohmann::json& body);

/// Body of a request that took effect. A field that belongs to another request is absent or empty.
struct ControlRecord {
  /// "pause", "stop", "stop-trial", "guard" (the minutes are spent), "extend", or "end" (paused trials end with the
  /// study).
  std::string request;
  double time = 0;                          ///< Unix time in seconds.
  std::optional<TrialId> trial = {};        ///< The trial of stop-trial.
  std::optional<std::int64_t> trials = {};  ///< Number of further trials of extend.
  std::optional<double> minutes = {};       ///< Further minutes of extend.
  std::string by = {};                      ///< Origin of a pause: "signal" or "request".
  bool has_lost_minutes = false;            ///< True: an old build wrote the minutes as null, so they are unknown.
  std::optional<std::int64_t> steps = {};   ///< Number of further training steps of extend.
  std::string reason = {};                  ///< Why the paused trials end, of "end".
};
/// Returns the JSON body of the record of a request. A reason of more than 2,000 bytes is cut and ends with "…".
/// `has_lost_minutes` is not written.
nlohmann::json control_body(const ControlRecord& control);
/// Reads the JSON body of the record of a request. Errors: kDataLoss (malformed).
Result<ControlRecord> read_control(const nlohmann::json& body);

/// Body of a plan: the lane groups that changed since the last plan record of the attempt. Logs of schemas below 3 have
/// whole plans. At the begin of an attempt there is no group.
struct PlanRecord {
  plan::Regrouping changes;   ///< Trials with a new group, by the number of that group.
  bool is_full_plan = false;  ///< True: a whole plan, so trials that are not named are in no group.
};
/// Returns the JSON body of the record of the changed groups of a plan.
nlohmann::json plan_body(const plan::Regrouping& changes);
/// Returns the JSON body of the record of a whole plan, in the form of schemas below 3.
nlohmann::json plan_body(const plan::GroupPlan& whole);
/// Reads the JSON body of the record of a plan of either form. Errors: kDataLoss (malformed).
Result<PlanRecord> read_plan(const nlohmann::json& body);

/// Returns the JSON body of the record of a span.
nlohmann::json span_body(const study::Span& span);
/// Reads the JSON body of the record of a span. Errors: kDataLoss (malformed).
Result<study::Span> read_span(const nlohmann::json& body);

/// Returns the JSON body of the record of the start or the loss of a worker process, at `unix_time` in seconds. The
/// seconds of each trial are written only if the host is known; `is_dropped` is not written.
nlohmann::json worker_body(const WorkerReport& report, double unix_time);
/// Reads the JSON body of the record of the start or the loss of a worker process. Errors: kDataLoss (malformed).
Result<WorkerReport> read_worker(const nlohmann::json& body);

/// Body of the end of a study.
struct StudyEndRecord {
  std::string reason;                  ///< Why it ended, as text for the user.
  std::optional<TrialId> winner;       ///< The best trial; absent: no trial has a result.
  std::map<std::string, double> test;  ///< Metrics by name of the winner on the test part; empty: not measured.
  std::int64_t nulls = 0;              ///< Number of metrics that an old build wrote as null; they are read as NaN.
  std::optional<study::Ensemble> ensemble = {};  ///< The ensemble in best/; absent: best/ has the winner only.
};
/// Returns the JSON body of the record of the end of a study. Arguments are as in StudyEndRecord. A reason of more than
/// 2,000 bytes is cut.
nlohmann::json study_end_body(const std::string& reason, std::optional<TrialId> winner,
                              const std::map<std::string, double>& test,
                              const std::optional<study::Ensemble>& ensemble = {});
/// Reads the JSON body of the record of the end of a study. Errors: kDataLoss (malformed).
Result<StudyEndRecord> read_study_end(const nlohmann::json& body);

/// Reads the JSON body of a record with the reader of its type and drops the result, so that a log never
/// holds a record that its reader refuses. Errors: those of the reader (kDataLoss), kInternal (an unknown type).
Result<void> check_body(store::RecordType type, const nlohmann::json& body);

}  // namespace lanista::engine
