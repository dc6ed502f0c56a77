#pragma once

#include <string>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/plan/pipeline/schedule.h"

namespace lanista::testing {

/// Returns the value of a result; an error ends the program.
template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result.error().message);
  return *std::move(result);
}

/// Operators of a model in addition to linear layers, activations and joins.
enum class Extras {
  kNone,       ///< no others
  kPerSample,  ///< layer norm and dropout
  kBatchNorm,  ///< batch norm
};

/// Returns a random series-parallel model of one-dimensional values, from 6 features to 5 classes.
///
/// It has chains, skips and values that are read twice. Two to four branches read one value and meet in a sum, a
/// product or a concatenation.
graph::Graph random_branchy(Rng rng, Extras extras);

/// A pipeline plan with a schedule that is proved to end, for a random number of ranks.
struct PipelineCase {
  runtime::PlannedModel planned;  ///< the training step as operators with costs
  pipeline::Problem problem;
  pipeline::PipelinePlan plan;
  pipeline::Schedule schedule;
  std::string kind;        ///< "1F1B", "2F2B", "gpipe", "split"; begins with "planned" if the planner made it
  bool is_equal = true;    ///< all stages have one micro-batch size
  bool is_shared = false;  ///< a rank has several stages
};

/// Returns a random pipeline of a training step for batches of `batch` samples.
///
/// With `may_be_unequal`, micro-batches of different stages may have different sizes.
PipelineCase random_case(Rng rng, const autodiff::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                         bool may_be_unequal);

}  // namespace lanista::testing
