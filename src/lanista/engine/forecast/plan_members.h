#pragma once

#include <memory>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/plan/sharing/fusion_member.h"
#include "lanista/plan/cost/cost_table.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/tuning/extra_steps.h"
#include "lanista/search/study/step_profile.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// A trial as those see it who plan and predict.
struct PlannedMember {
  fuse::FusionMember member;
  schedule::PlannedTrial trial;  ///< by what the engine's planner decides
  study::StepShape shape;
  study::EpochSchedule epochs;
  std::int64_t full_epochs = 0;             ///< epochs of its schedule
  std::int64_t validation_rows = 0;  ///< that it is measured on at the end of each
  study::ExtraSteps extra;           ///< of searches and races, beside its own
};

/// Makes them of a study's proposals.
class PlanMemberBuilder {
 public:
  /// `config` and `data` outlive this.
  PlanMemberBuilder(const study::StudyConfig& config, const data::DataSpec& data,
              std::shared_ptr<const mutate::ModelSpace> models, const graph::CostPrices& prices);
  /// Errors: those of models, costs and make_job.
  Result<PlannedMember> make(const study::TrialView& trial) const;

 private:
  const study::StudyConfig& config_;
  const data::DataSpec& data_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::vector<fuse::DataStep> steps_;
};

}  // namespace lanista::engine
