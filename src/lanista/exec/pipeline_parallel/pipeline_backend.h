#pragma once

#include <cstdint>

#include "lanista/exec/program/backend.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::runtime {

class StageProcessPool;

struct PipelineOptions {
  std::int64_t ranks = 1;       ///< of a program, from 1 to pipeline::kMaxDeviceClasses; 0: as many as this machine has
                                 ///< cores, where the plan promises a gain
  StageProcessPool* process_pool = nullptr;   ///< whose processes are at all places but the first; null: threads of this one
  pipeline::Link link = {0, 0};  ///< of that process to each of them, where they are apart; no speed: nobody knows it
  std::int64_t rank_bytes = 0;  ///< that a place may take; 0: any, and of processes what the program's budget is
};

/// Programs of another backend whose steps several threads or processes share by operators: the model is cut into
/// stages by room `pipeline`, for the micro-batches that the recipe sums gradients over anyway (shards, or parts of a
/// shard). So numbers are those of the other backend's, to the bit, whatever the number of places; its name and numeric
/// class too.
///
/// Programs that cannot be shared so are the other backend's own: those that only predict, those with several threads
/// for lanes, and those whose model has batch norm, whose statistics over a batch no micro-batch of a pipeline knows.
/// Programs whose model is not told, or has operators of the caller's, are shared by threads alone.
class PipelineBackend final : public nn::Backend {
 public:
  /// `inner` and what the options name outlive it.
  PipelineBackend(const nn::Backend& inner, const PipelineOptions& options) : inner_(inner), options_(options) {}
  /// Of threads.
  PipelineBackend(const nn::Backend& inner, std::int64_t ranks)
      : PipelineBackend(inner, PipelineOptions{.ranks = ranks}) {}

  std::string_view name() const override { return inner_.name(); }
  std::string_view numeric_class() const override { return inner_.numeric_class(); }
  /// Errors: those of the other backend; kInvalidArgument where the micro-batches of a recipe are of unlike sizes, or
  /// shards come in parts: a plan has neither. kResourceExhausted says how many places would do, where a plan tells it.
  Result<std::unique_ptr<nn::Executable>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                               const nn::ProgramOptions& options) const override;

 private:
  Result<std::unique_ptr<nn::Executable>> try_compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                                   const nn::ProgramOptions& options) const;
  std::string memory_advice(const step::TrainingStep& train, const nn::ProgramOptions& options, std::int64_t bytes) const;
  bool has_link_speed() const { return options_.link.bytes_per_second > 0; }
  pipeline::Devices devices(std::int64_t ranks, double bytes) const;
  /// The same with what hand-overs take.
  pipeline::Devices expected(std::int64_t ranks, double bytes) const;
  Result<std::unique_ptr<nn::Executable>> compile_for_ranks(const step::TrainingStep& train, const step::InferenceStep& infer,
                                                 const nn::ProgramOptions& options, std::int64_t ranks) const;

  const nn::Backend& inner_;
  PipelineOptions options_;
};

}  // namespace lanista::runtime
