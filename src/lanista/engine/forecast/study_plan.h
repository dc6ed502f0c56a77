#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/plan/sharing/plan.h"
#include "lanista/plan/sharing/table_cost.h"
#include "lanista/search/study/config.h"
#include "lanista/search/tuning/extra_steps.h"

namespace lanista::engine {

/// The machine for which a study is planned, and the number of proposals.
struct PlanRequest {
  std::optional<std::int64_t> trials = {};          ///< Proposals to plan; absent: the number of slots.
  schedule::Machine machine{};                      ///< The machine.
  fuse::MachinePrices prices{};                     ///< Costs of its operations and memory.
  graph::CostTable costs{};                         ///< Measured costs by fuse::work_text.
  graph::CostKey measured_on{};                     ///< Rows of `costs` to use.
  std::shared_ptr<const TimingHistory> known = {};  ///< Step times of earlier studies on this machine; null: none.
  /// All devices of the study; empty: the CPU with lanista kernels.
  std::vector<TrainingDevice> devices = {};
  /// Speeds of the devices, in the same order.
  std::vector<schedule::DeviceSpeed> speeds = {};
};

/// The part of a plan that one device trains.
struct DeviceShare {
  std::string name;             ///< Name of the device.
  std::vector<TrialId> trials;  ///< Its trials.
  double share = 0;             ///< Share of all work.
  double seconds = 0;           ///< Predicted seconds at the measured speed.
};

/// Predicted time of a whole trial, from earlier studies.
struct MemberTime {
  bool measured = false;  ///< Its program was measured; otherwise by regression.
  double seconds = 0;     ///< Total, with evaluation, set-up and expected extra steps.
  double step = 0;        ///< Seconds of one step.
};

/// The frozen first nodes that several trials share, and whether their outputs are cached.
struct SharedPrefix {
  std::vector<TrialId> trials;  ///< Trials that share it.
  std::string through;          ///< Its last node, "%4 relu".
  std::string text;             ///< Its graph as text.
  fuse::Materialized cache;     ///< The decision to cache.
};

/// The groups in which a study's first trials would run.
struct StudyPlan {
  schedule::GroupPlan plan;                       ///< As the engine would send it to its executor.
  fuse::FusionPlan predicted;                     ///< The same groups with shared work and predicted time.
  std::vector<SharedPrefix> prefixes;             ///< With a frozen part; equal models share longer prefixes.
  schedule::Machine machine;                      ///< The machine of the request.
  std::vector<study::ExtraSteps> extra;           ///< Of each member of `predicted`.
  std::vector<std::int64_t> steps_without_extra;  ///< Of each member, to its full budget.
  std::vector<MemberTime> times;                  ///< Of each member of `predicted`; empty: no earlier study is known.
  std::string known;                              ///< Source of `times`, as text.
  std::vector<DeviceShare> devices = {};          ///< Empty: the CPU with lanista kernels.
  bool augmented = false;                         ///< Prefixes then cache validation rows only.
  std::int64_t duplicates = 0;                    ///< Proposals that repeat an earlier one; they are not trained.
  std::string exhausted_reason;                   ///< Why there are fewer trials than requested, or empty.
  std::int64_t num_refinements = 0;               ///< Refinements that strategy.then adds later; not in this plan.
};

struct PlannedMember;
/// Predicted time of a member in a group of `lanes` lanes, with `residents` workers that train at the same time.
/// `known` must not be empty.
MemberTime member_time(const PlannedMember& member, const TimingHistory& known, std::int64_t lanes,
                       std::int64_t residents);

/// Samples the first proposals of a study and plans them, both as the engine does (schedule::make_plan). The result is
/// the first plan that the study logs. Trains nothing. Errors: those of the model space, the strategy and
/// fuse::plan_of, kInvalidArgument (no trial is requested), kResourceExhausted (the strategy has no proposal).
Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request);

/// One line for each group. With `with_explanation` also the shared work, and why no more is shared.
std::string plan_text(const StudyPlan& plan, bool with_explanation);
/// The plan as JSON, with the same content.
nlohmann::json plan_json(const StudyPlan& plan, bool with_explanation);

}  // namespace lanista::engine
