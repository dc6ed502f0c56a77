#pragma once

#include <cstdint>

#include "lanista/nn/backend.h"
#include "lanista/nn/stages.h"

namespace lanista::runtime {

/// Programs of another backend whose steps several threads share by operators: the model is cut into stages by room
/// `pipeline`, for the micro-batches that the recipe sums gradients over anyway (shards, or parts of a shard). So
/// numbers are those of the other backend's, to the bit, whatever the number of threads; its name and numeric class
/// too.
///
/// Programs that cannot be shared so are the other backend's own: those that only predict, those with several threads
/// for lanes, and those whose model has batch norm, whose statistics over a batch no micro-batch of a pipeline knows.
class PipelineBackend final : public nn::Backend {
 public:
  /// `places` threads a program, from 1 to pipeline::kMostClasses; 0: as many as this machine has cores, where the plan
  /// promises a gain. `inner` outlives it.
  PipelineBackend(const nn::Backend& inner, std::int64_t places) : inner_(inner), places_(places) {}

  std::string_view name() const override { return inner_.name(); }
  std::string_view numeric_class() const override { return inner_.numeric_class(); }
  /// Errors: those of the other backend; kInvalidArgument where the micro-batches of a recipe are of unlike sizes, or
  /// shards come in parts: a plan has neither.
  Result<std::unique_ptr<nn::Machine>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                               const nn::ProgramOptions& options) const override;

 private:
  const nn::Backend& inner_;
  std::int64_t places_;
};

}  // namespace lanista::runtime
