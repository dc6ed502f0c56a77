#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/plan/sharing/plan.h"
#include "lanista/plan/sharing/table_cost.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/config.h"
#include "lanista/search/tuning/extra_steps.h"

namespace lanista::engine {

/// The machine a study is planned for, and how far to look.
struct PlanRequest {
  std::optional<std::int64_t> trials = {};  ///< proposals to look at; none: as many as a study has slots
  schedule::Machine machine{};
  fuse::MachinePrices prices{};
  graph::CostTable costs{};                      ///< what was measured, under fuse::work_text
  graph::CostKey measured_on{};                  ///< whose rows of it count
  std::shared_ptr<const TimingHistory> known = {};  ///< what earlier studies took on this machine; null: nothing
  /// All devices of a study, with their speeds in `speeds`; none: own kernels alone.
  std::vector<TrainingDevice> devices = {};
  std::vector<schedule::DeviceSpeed> speeds = {};
};

/// What a device does of a plan.
struct DeviceShare {
  std::string name;
  std::vector<TrialId> trials;
  double share = 0;    ///< of the work of all
  double seconds = 0;  ///< that it takes for its own, as fast as it was measured to be
};

/// What a whole trial is expected to take, after what earlier studies took.
struct MemberTime {
  bool measured = false;  ///< its program is known; else by regression
  double seconds = 0;     ///< with measuring, the making of its program, and the steps that are expected beside its own
  double step = 0;        ///< seconds of one
};

/// What a study's first trials do not train, and whether what it gives is kept.
struct SharedPrefix {
  std::vector<TrialId> trials;
  std::string through;  ///< the last node, "%4 relu"
  std::string text;     ///< of its graph
  fuse::Materialized cache;
};

/// What would run together of a study's first trials.
struct StudyPlan {
  schedule::GroupPlan plan;                 ///< as the engine would give it to its executor
  fuse::FusionPlan predicted;                ///< the same groups: what they share and take
  std::vector<SharedPrefix> prefixes;  ///< of studies with a frozen part; models that go on alike share a longer one
  schedule::Machine machine;
  std::vector<study::ExtraSteps> extra;   ///< of each member of `predicted`
  std::vector<std::int64_t> steps_without_extra;    ///< of each, to its full budget
  std::vector<MemberTime> times;          ///< of each member of `predicted`; empty: no study is known
  std::string known;                      ///< in words, what `times` are of
  std::vector<DeviceShare> devices = {};  ///< none: own kernels alone
  bool augmented = false;                 ///< then what is kept of prefixes is only what is measured on
  std::int64_t duplicates = 0;            ///< proposals that repeat an earlier one; they are not trained
  std::string exhausted_reason;               ///< why there are fewer trials than were asked for, or empty
  std::int64_t num_refinements = 0;  ///< trials that strategy.then will train behind the search; they are not in this plan
};

struct PlannedMember;
/// With so many lanes in its go, and so many workers that train at the same time. Something must be known.
MemberTime member_time(const PlannedMember& member, const TimingHistory& known, std::int64_t lanes,
                       std::int64_t residents);

/// Draws the first proposals of a study as the engine does, before any result is in, and plans them as the engine does
/// (schedule::make_plan): the first plan that a study of so many slots logs. Trains nothing. Errors: those of models,
/// strategy and fuse::plan_of; kInvalidArgument if not one trial is wanted; kResourceExhausted if the strategy has not
/// even one to propose.
Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request);

/// Groups, a line each; with `with_explanation` also what is shared, and why not more.
std::string plan_text(const StudyPlan& plan, bool with_explanation);
nlohmann::json plan_json(const StudyPlan& plan, bool with_explanation);

}  // namespace lanista::engine
