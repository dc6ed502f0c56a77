#pragma once

#include <string>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/plan/pipeline/schedule.h"

namespace lanista::testing {

/// The value of a result; an error ends the program.
template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result.error().message);
  return *std::move(result);
}

/// What a model may hold beside linear layers, activations and joins.
enum class Extras { kNone, kPerSample, kBatchNorm };  ///< kPerSample: layer norm and dropout

/// A random series-parallel model of values of one dimension, [6] to 5 classes: chains, branches of two to four that
/// read one value and meet in a sum, a product or side by side, skips around them, and values read twice.
graph::Graph random_branchy(Rng rng, Extras extras);

/// A plan with a schedule that is proved to end, for a random number of places.
struct PipelineCase {
  runtime::PlannedModel planned;
  pipeline::Problem problem;
  pipeline::PipelinePlan plan;
  pipeline::Schedule schedule;
  std::string kind;        ///< "1F1B", "2F2B", "gpipe", "split"; "planned" in front where the planner cut
  bool is_equal = true;    ///< all stages have one micro-batch size
  bool is_shared = false;  ///< some place has several stages
};
PipelineCase random_case(Rng rng, const step::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                         bool may_be_unequal);

}  // namespace lanista::testing
