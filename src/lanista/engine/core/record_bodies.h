#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/planner.h"
#include "lanista/io/store/log.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

// The bodies of records: how each is written, and the one way in which it is read. Bodies of measurements are in room
// study. Errors of readers: kDataLoss.

struct HeaderRecord {
  study::StudyConfig config;
  std::int64_t schema = store::kPlainSchema;
  std::string text;
  nlohmann::json data, models;
  std::string frozen;  ///< address of the frozen part's weights, which is their hash; empty: all is trained
  std::vector<study::Baseline> baselines;
  std::optional<study::Earlier> earlier;
  std::optional<study::StartFile> start_file;
  std::optional<study::ZooSnapshot> zoo;
};
nlohmann::json header_body(const study::StudyConfig& config, const std::string& config_text, const data::DataSpec& data,
                           const mutate::ModelSpace& models, const std::string& frozen = "",
                           const std::vector<study::Baseline>& baselines = {},
                           const std::optional<study::Earlier>& earlier = {},
                           const std::optional<study::StartFile>& start_file = {},
                           const std::optional<study::ZooSnapshot>& zoo = {});
Result<HeaderRecord> read_header(const nlohmann::json& body);

/// A long line of descent makes no long records: the first steps and edits of a proposal that its parent has, too, are
/// counted and not told again.
struct ProposedRecord {
  TrialId trial;
  study::Proposal proposal;  ///< without those; see complete
  double logical_start = 0, logical_epoch = 1;
  std::int64_t parameters = 0;
  std::size_t num_shared_steps = 0, num_shared_edits = 0;
  std::size_t waiting_index = 0;                     ///< which it is of the new trials of groups that wait
  std::optional<study::ZooModel> zoo_model;  ///< that the trial begins with, where no trial did before
  std::string device = {};                   ///< study::TrialView::device
};
/// `parent`: of which the trial is a child, or null. `zoo_model`: see ProposedRecord, or null.
nlohmann::json proposed_body(const study::TrialView& trial, double logical_epoch, const Digest& key,
                             const study::Proposal* parent = nullptr, const study::ZooModel* zoo_model = nullptr,
                             std::size_t waiting_index = 0);
Result<ProposedRecord> read_proposed(const nlohmann::json& body);
/// Puts in what the parent has, too. Errors: kDataLoss (it has not that many).
Result<void> add_shared_steps(ProposedRecord& record, const study::Proposal& parent);

struct VerdictRecord {
  TrialId trial;
  study::Verdict verdict = study::Verdict::kStop;  ///< that is not to go on
};
nlohmann::json verdict_body(TrialId trial, std::int64_t epoch, study::Verdict verdict);
Result<VerdictRecord> read_verdict(const nlohmann::json& body);

/// What a strategy asked for, where that is more than one member, or has a barrier or a priority.
nlohmann::json group_body(const strategy::TrialGroup& group);
Result<strategy::TrialGroup> read_group(const nlohmann::json& body);

struct PausedRecord {
  study::Paused event;
  double logical_time = 0;
  std::string address;                 ///< what it goes on from, and its weights; empty: nothing is kept
  std::optional<Digest> weights_hash;  ///< of the state's bytes, where it is that of the epoch
};
nlohmann::json paused_body(const PausedRecord& paused);
Result<PausedRecord> read_paused(const nlohmann::json& body);

/// With a fork that tells where its state was found.
struct ResumedRecord {
  study::Resumed event;
  double logical_time = 0;
};
nlohmann::json resumed_body(const ResumedRecord& resumed);
Result<ResumedRecord> read_resumed(const nlohmann::json& body);

struct OutcomeRecord {
  TrialId trial;
  study::Outcome outcome;
  double logical_time = 0;
};
/// A reason that is longer than a page is cut.
nlohmann::json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time);
Result<OutcomeRecord> read_outcome(const nlohmann::json& body);

struct CheckpointRecord {
  TrialId trial;
  std::int64_t epoch = 0, step = 0;
  std::string address;
};
nlohmann::json checkpoint_body(const CheckpointRecord& checkpoint);
Result<CheckpointRecord> read_checkpoint(const nlohmann::json& body);

/// A process began to work on the study (`began`, Unix time), or noted how long it has worked (`seconds`).
struct AttemptRecord {
  std::optional<double> began, seconds;
};
nlohmann::json attempt_begin_body(double unix_time, std::int64_t pid, const std::string& host);
nlohmann::json attempt_worked_body(const std::string& event, double seconds);
Result<AttemptRecord> read_attempt(const nlohmann::json& body);

/// A request as it took effect.
struct ControlRecord {
  std::string request;  ///< pause, stop, stop-trial, guard, extend; "end": the engine ends paused trials with the study
  double time = 0;      ///< Unix time, seconds
  std::optional<TrialId> trial = {};
  std::optional<std::int64_t> trials = {};
  std::optional<double> minutes = {};
  std::string by = {};        ///< who asked for a pause
  bool has_lost_minutes = false;  ///< a build before the text form wrote null for them
  std::optional<std::int64_t> steps = {};
  std::string reason = {};  ///< of an end
};
nlohmann::json control_body(const ControlRecord& control);
Result<ControlRecord> read_control(const nlohmann::json& body);

/// What has changed in the plan since the last such record of the attempt, each of which begins with none; or a whole
/// plan, as in logs of schemas below 3.
struct PlanRecord {
  schedule::Regrouping changes;
  bool is_full_plan = false;  ///< whoever is not named is in no group
};
nlohmann::json plan_body(const schedule::Regrouping& changes);
nlohmann::json plan_body(const schedule::GroupPlan& whole);
Result<PlanRecord> read_plan(const nlohmann::json& body);

nlohmann::json span_body(const study::Span& span);
Result<study::Span> read_span(const nlohmann::json& body);

/// A worker process came or went (executor.h).
nlohmann::json worker_body(const WorkerReport& report, double unix_time);
Result<WorkerReport> read_worker(const nlohmann::json& body);

struct StudyEndRecord {
  std::string reason;
  std::optional<TrialId> winner;
  std::map<std::string, double> test;
  std::int64_t nulls = 0;  ///< metrics that a build before the text form wrote as null
  std::optional<study::Ensemble> ensemble = {};  ///< what is in best/, where that is more than the winner
};
nlohmann::json study_end_body(const std::string& reason, std::optional<TrialId> winner,
                              const std::map<std::string, double>& test,
                              const std::optional<study::Ensemble>& ensemble = {});
Result<StudyEndRecord> read_study_end(const nlohmann::json& body);

/// Reads a body as a later process will, so that a log never holds what its reader refuses. Errors: the reader's.
Result<void> check_body(store::RecordType type, const nlohmann::json& body);

}  // namespace lanista::engine
