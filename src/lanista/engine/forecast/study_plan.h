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
#include "lanista/search/study/config.h"
#include "lanista/search/tuning/extra_steps.h"

namespace lanista::engine {

/// What a study is planned for: the machine or the devices with their costs, and the number of proposals.
struct PlanRequest {
  std::optional<std::int64_t> trials = {};          ///< Number of proposals to plan; absent: the number of slots.
  plan::Machine machine{};                          ///< Workers, lanes and memory of the machine.
  plan::Costs costs{};                              ///< Measured times of operators (sharing::work_text), and rates.
  std::shared_ptr<const TimingHistory> known = {};  ///< Step times of earlier studies on this machine; null: none.
  /// All devices of the study; empty: the CPU with lanista kernels.
  std::vector<TrainingDevice> devices = {};
  /// Measured speed of each device, in the same order.
  std::vector<plan::DeviceSpeed> speeds = {};
};

/// The part of a plan that one device trains.
struct DeviceShare {
  std::string name;             ///< Name of the device.
  std::vector<TrialId> trials;  ///< The trials that it trains, by id; may be empty.
  double share = 0;             ///< Share of the work (FLOPs) of all planned trials, from 0 to 1.
  double seconds = 0;           ///< Predicted seconds of this work at the measured speed.
};

/// Predicted time of a whole trial, from earlier studies.
struct MemberTime {
  bool measured = false;  ///< True: its program was measured; false: predicted by regression.
  double seconds = 0;     ///< Seconds of the whole trial, with evaluation, set-up and expected extra steps.
  double step = 0;        ///< Seconds of one training step.
};

/// The frozen first nodes of one or more trials, and whether their outputs are cached.
struct SharedPrefix {
  std::vector<TrialId> trials;  ///< Trials with this prefix, by id.
  std::string through;          ///< Id and operator of its last node, as text: "%4 relu".
  std::string text;             ///< Its graph as text (graph::to_text), which equal prefixes share.
  sharing::Materialized cache;  ///< Costs of caching its outputs, and the decision.
};

/// The lane groups in which a study's first trials would run, with predicted times.
struct StudyPlan {
  plan::GroupPlan plan;  ///< The groups, as the engine would send them to its executor.
  sharing::FusionPlan
      predicted;  ///< The same groups in the same order, with shared work and predicted times of a step.
  std::vector<SharedPrefix> prefixes;  ///< Frozen prefixes; empty if the study has no frozen part.
  plan::Machine machine;               ///< The machine of the request; with several devices it has the workers of all.
  std::vector<study::ExtraSteps> extra;           ///< Discarded steps of each member of `predicted`.
  std::vector<std::int64_t> steps_without_extra;  ///< Training steps of each member of `predicted`, to its full budget.
  std::vector<MemberTime> times;  ///< Predicted time of each member of `predicted`; empty: no earlier study is known.
  std::string known;              ///< Source of `times`, as text for the user; empty: none.
  std::vector<DeviceShare> devices = {};  ///< The part of each device; empty: the CPU with lanista kernels.
  bool augmented = false;                 ///< True: the data are augmented, so prefixes cache validation rows only.
  std::int64_t duplicates = 0;            ///< Number of proposals that repeat an earlier one; they are not planned.
  /// Why the strategy proposed fewer trials than it was asked for, as text; empty: it did not. Trials above the budget
  /// of the study are not asked for.
  std::string exhausted_reason;
  /// Number of refinements that strategy.then adds later; they are not in this plan.
  std::int64_t num_refinements = 0;
};

struct PlannedMember;
/// Predicted seconds of the whole trial of a member and of one of its steps, in a group of `lanes` lanes, and whether
/// its program was measured. `residents` workers train at the same time, that of the group included. All fields are 0
/// or false if `known` has no times of this machine.
MemberTime member_time(const PlannedMember& member, const TimingHistory& known, std::int64_t lanes,
                       std::int64_t residents);

/// Samples the first proposals of a study and plans them, both as the engine does (plan::make_plan). With as many
/// proposals as slots, the result is the first plan that the study logs. It plans at most the trials of the budget,
/// without the refinements. Nothing is trained.
///
/// Errors: kInvalidArgument (less than one trial is requested), kResourceExhausted (the strategy has no proposal),
/// those of check_config (kInvalidArgument), of the model space, the strategy and sharing::plan_of.
Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request);

/// Text for the user, with one line for each group. With `with_explanation` it also lists the shared work, and why no
/// more is shared.
std::string plan_text(const StudyPlan& plan, bool with_explanation);
/// The plan as a JSON object: `v` (version), `trials`, `workers`, `duplicates`, `nothing_left` (reason), `us`,
/// `alone_us`, and `groups` with `trials`, `us`, `apart_us` and `bytes`. Where they apply, it also has `frozen`,
/// `devices`, `finals`, `known`, `explained` and the discarded steps. Times with `us` are microseconds of a step.
nlohmann::json plan_json(const StudyPlan& plan, bool with_explanation);

}  // namespace lanista::engine
