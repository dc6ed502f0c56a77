#pragma once

#include <cstdint>

#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/backend.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::runtime {

class StageProcessPool;

/// The options of a PipelineBackend.
struct PipelineOptions {
  /// Most ranks of a program, this process included, up to pipeline::kMaxDeviceClasses. 1: the inner backend alone. 0:
  /// as many as this machine has cores, if the simulated step is at least 1.2 times as fast.
  std::int64_t ranks = 1;
  StageProcessPool* process_pool = nullptr;  ///< Processes for all ranks but rank 0; null: threads of this process.
  pipeline::Link link = {0, 0};              ///< Link from this process to each other rank; a speed of 0: unknown.
  std::int64_t rank_bytes = 0;  ///< Most bytes of one rank. 0: no limit; with processes, the program's budget.
};

/// A backend that cuts the training steps of another backend into stages for several threads or processes.
///
/// The planner (plan/pipeline) cuts the model for the micro-batches over which the recipe sums gradients anyway:
/// shards, or parts of a shard. So the bits, the name and the numeric class are those of the inner backend for any
/// number of ranks.
///
/// The inner backend alone compiles programs that cannot be cut: those that only predict, those without parameters,
/// those with several threads for lanes, and those with batch norm, which needs statistics of the whole batch. It also
/// compiles all programs if `ranks` is 1, or if the planner finds one stage best. Programs without
/// ProgramOptions::model, or with operators of the caller, use threads only.
class PipelineBackend final : public program::Backend {
 public:
  /// `inner` and what the options refer to must outlive it, and it must outlive its executables.
  PipelineBackend(const program::Backend& inner, const PipelineOptions& options) : inner_(inner), options_(options) {}
  /// A backend with `ranks` threads of this process, as PipelineOptions::ranks.
  PipelineBackend(const program::Backend& inner, std::int64_t ranks)
      : PipelineBackend(inner, PipelineOptions{.ranks = ranks}) {}

  std::string_view name() const override { return inner_.name(); }
  std::string_view numeric_class() const override { return inner_.numeric_class(); }
  /// Compiles an executable in stages, or with the inner backend alone.
  ///
  /// Errors: those of the inner backend and of the planner. For a program that can be cut, kInvalidArgument: max_batch
  /// does not divide into equal micro-batches, or both shards and accumulate exceed 1. The message of
  /// kResourceExhausted names the ranks that would suffice, if a plan finds a number.
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override;

 private:
  Result<std::unique_ptr<program::Executable>> try_compile(const autodiff::TrainingStep* train,
                                                           const autodiff::InferenceStep& infer,
                                                           const program::ProgramOptions& options) const;
  std::string memory_advice(const autodiff::TrainingStep& train, const program::ProgramOptions& options,
                            std::int64_t bytes) const;
  bool has_link_speed() const { return options_.link.bytes_per_second > 0; }
  pipeline::Devices devices(std::int64_t ranks, double bytes) const;
  /// The same devices with the cost of transfers.
  pipeline::Devices expected(std::int64_t ranks, double bytes) const;
  Result<std::unique_ptr<program::Executable>> compile_for_ranks(const autodiff::TrainingStep& train,
                                                                 const autodiff::InferenceStep& infer,
                                                                 const program::ProgramOptions& options,
                                                                 std::int64_t ranks) const;

  const program::Backend& inner_;
  PipelineOptions options_;
};

}  // namespace lanista::runtime
