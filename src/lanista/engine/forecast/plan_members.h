#pragma once

#include <memory>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/cost/costs.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/plan/sharing/fusion_member.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/step_profile.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/tuning/extra_steps.h"

namespace lanista::engine {

/// A trial with what planning and time prediction need.
struct PlannedMember {
  sharing::FusionMember member;      ///< Input of the fusion plan.
  plan::PlannedTrial trial;          ///< Input of the engine's planner.
  study::StepShape shape;            ///< Program and size of its training step, for predicted times.
  study::EpochSchedule epochs;       ///< Number of steps in each epoch.
  std::int64_t full_epochs = 0;      ///< Number of epochs of its schedule.
  std::int64_t validation_rows = 0;  ///< Number of rows measured at the end of each epoch.
  study::ExtraSteps extra;           ///< Numbers of discarded steps in tune searches.
};

/// Makes planned members from the proposals of a study.
class PlanMemberBuilder {
 public:
  /// Builds members for this study. `prices` gives the cost of reading a sample. `config` and `data` outlive this.
  PlanMemberBuilder(const study::StudyConfig& config, const data::DataSpec& data,
                    std::shared_ptr<const mutate::ModelSpace> models, const plan::CostPrices& prices);
  /// The planned member of a trial. Errors: those of the model space, of graph::model_cost (kNotFound,
  /// kInvalidArgument) and of make_job (kInvalidArgument, kDataLoss).
  Result<PlannedMember> make(const study::TrialView& trial) const;

 private:
  const study::StudyConfig& config_;
  const data::DataSpec& data_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::vector<sharing::DataStep> steps_;
};

}  // namespace lanista::engine
