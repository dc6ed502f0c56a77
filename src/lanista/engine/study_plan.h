#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/data/spec.h"
#include "lanista/fuse/plan.h"
#include "lanista/fuse/table_cost.h"
#include "lanista/mutate/model_space.h"
#include "lanista/study/config.h"

namespace lanista::engine {

/// The machine a study is planned for, and how far to look.
struct PlanRequest {
  std::optional<std::int64_t> trials;  ///< proposals to look at; none: as many as a study has slots
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();  ///< of trials that run together
  std::int64_t lanes = 64;                                        ///< of a program, unless the study limits them
  fuse::MachinePrices prices{};
  graph::CostTable costs{};  ///< what was measured, under fuse::work_text
  graph::CostKey machine{};  ///< whose rows of it count
};

/// What would run together of a study's first trials.
struct StudyPlan {
  fuse::Plan plan;
  std::int64_t duplicates = 0;  ///< proposals that repeat an earlier one; they are not trained
  std::string nothing_left;     ///< why there are fewer trials than were asked for, or empty
};

/// Draws the first proposals of a study as the engine does, before any result is in, and plans them as executors on a
/// CPU run them: trials of equal structure and node ids are lanes of one program, programs are packed behind one input
/// pipeline, augmented samples are shared. Trains nothing. Errors: those of models, strategy and fuse::make_plan;
/// kInvalidArgument if not one trial is wanted; kResourceExhausted if the strategy has not even one to propose.
Result<StudyPlan> plan_study(const study::StudyConfig& config, const data::DataSpec& data,
                             std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request);

/// The passes of room fuse that plan_study leaves out, because no executor on a CPU does what they plan.
const std::vector<std::string>& passes_left_out();

/// Groups, programs and what was declined, a line each; with `explained` also what is shared, and why not more.
std::string plan_text(const StudyPlan& plan, bool explained);
nlohmann::json plan_json(const StudyPlan& plan, bool explained);

}  // namespace lanista::engine
