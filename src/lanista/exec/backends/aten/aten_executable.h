#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/exec/backends/aten/aten_queue.h"
#include "lanista/exec/backends/aten/aten_section.h"
#include "lanista/exec/backends/aten/aten_update.h"
#include "lanista/exec/backends/aten/lane_kernels.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/step_input_buffer.h"
#include "lanista/exec/program/backend.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::device {

/// Executable of the batched backend: a step of all lanes is a sequence of ATen calls with a lane axis.
///
/// States are the rows of one tensor [lanes, elements of StateFormat]. So attach, detach and clone copy one row. Masked
/// or empty lanes between active ones, on some devices all of them, are computed but never written.
class AtenExecutable final : public program::SingleObjectExecutable {
 public:
  /// Returns an executable that is compiled for `device`. `train` may be null; then the executable only predicts. If
  /// the device has too little memory for the states, the executable has fewer lanes, with a warning.
  ///
  /// Errors: kInvalidArgument for invalid options; kUnimplemented for an operator without a table entry, an unknown
  /// optimiser or a batch in parts; kResourceExhausted.
  static Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                              const autodiff::InferenceStep& infer,
                                                              const program::ProgramOptions& options,
                                                              const AtenDevice& device);
  ~AtenExecutable() override;

  std::int64_t bytes() const override;
  std::string describe() const override;
  Result<program::LaneState> make_state(std::uint64_t trial_seed) const override;
  void attach(std::int64_t lane, program::LaneState&& state) override;
  program::LaneState detach(std::int64_t lane) override;
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override;
  std::int64_t step_count(std::int64_t lane) const override;
  std::vector<lanista::Tensor> extract_state(std::int64_t lane) const override;
  void run(const program::Chunk& chunk, std::span<program::LaneResult> ends) override;
  void wait() override;
  Result<program::LaneGradients> make_gradients() const override;
  double gradients(std::int64_t lane, const program::Batch& batch, std::int64_t total, const program::LaneHyper& hyper,
                   program::LaneGradients& out, bool add) override;
  void commit(std::int64_t lane, const program::LaneGradients& gradients, const program::LaneHyper& hyper) override;
  void renew_buffers(std::int64_t lane, const program::LaneGradients& from) override;
  double squared_gradient_norm(std::int64_t lane, const program::LaneGradients& gradients,
                               const program::LaneHyper& hyper) const override;
  void predict(std::int64_t lane, const program::Batch& batch, program::PredictionBuffer out) override;
  void evaluate(const program::BatchSource& batches, std::span<program::LaneMetrics> lanes) override;
  void losses(std::int64_t lane, const program::Batch& batch, double label_smoothing, std::span<double> out) override;
  void profile_step(const program::Batch& batch, const program::LaneHyper& hyper,
                    const std::function<void()>& done) override;

  /// Returns the number of lanes of one launch. It is below the number of lanes after the device ran out of memory.
  std::int64_t lanes_per_launch() const { return lanes_per_launch_; }
  /// Returns the bytes that were uploaded for the steps of all chunks so far.
  std::int64_t uploaded_bytes() const { return uploaded_bytes_; }

 private:
  // Neighbouring lanes.
  struct Lanes {
    std::int64_t begin = 0, count = 0;
  };
  // What the batches of a step bring: one for all of these lanes, or one a lane; null where a lane has none here.
  struct LaneBatches {
    Lanes lanes;
    std::int64_t size = 0;
    std::vector<const program::Batch*> of;
    bool shared = false;
  };
  struct StepResults {
    Tensor losses;     // [lanes, batch]
    Tensor gradients;  // [lanes, parameters]
    Tensor buffers;    // [lanes, buffers], where they are renewed
  };
  // Rows of totals_.
  enum ChunkTotal { kLossSum, kLoss, kFirstNonfiniteStep, kSquaredGradientNorm, kNumTotals };
  struct PendingChunk;
  struct RecordedStep;
  struct Step;
  struct CompiledParts;

  AtenExecutable(program::ExecutableProperties properties, CompiledParts parts, const program::ProgramOptions& options,
                 const AtenDevice& device);
  program::LaneState& state_of(std::int64_t lane) { return states_[static_cast<std::size_t>(lane)]; }
  Tensor host_row(std::int64_t lane) const;
  Tensor state_part(const Lanes& lanes, std::size_t part, std::int64_t elements) const;
  void bind_state(const Lanes& lanes, const std::vector<autodiff::StateTensor>& state, Values& values) const;
  Tensor tensor_view(const Tensor& flat, const program::StateTensorLayout& item) const;

  void check_batch(const program::Batch& batch, bool trains) const;
  StepShape shape_of(const LaneBatches& fed, std::span<const program::LaneHyper> hyper) const;
  StepInputBuffer::Layouts layouts_of(const StepShape& shape) const;
  std::unique_ptr<RecordedStep> make_recorded_step(const StepShape& shape, std::size_t steps = 1) const;
  std::unique_ptr<RecordedStep> record(const StepShape& shape);
  RecordedStep& recorded(const StepShape& shape);
  void fill(RecordedStep& step, std::size_t at, const LaneBatches& fed, std::span<const program::LaneHyper> hyper,
            std::span<const std::uint8_t> active, std::int64_t number) const;
  void fill_batches(StepInputBuffer& inputs, std::size_t at, const LaneBatches& fed, const DeviceDataset* table) const;
  static std::int64_t token_index(float number);
  Tensor upload_column(const program::SampleTable& table, const graph::ValueType& type,
                       std::span<const float> program::Batch::*member) const;
  std::shared_ptr<const DeviceDataset> upload_dataset(const program::SampleTable& table) const;
  const DeviceDataset* dataset_of(const LaneBatches& fed) const;
  static Tensor read(const StepInputBuffer& inputs, const StepShape& shape, StepInputBuffer::Region region,
                     std::size_t at = 0);
  static Tensor read_shared(const StepInputBuffer& inputs, StepInputBuffer::Region region, std::int64_t lanes,
                            std::size_t at = 0);
  void run_queued_steps();
  Values compute_step(const Step& step, const std::function<void()>& done = {}) const;
  StepResults collect_results(const Lanes& lanes, const Values& values) const;
  void run_step(const Step& step);
  bool can_fuse_updates(const StepShape& shape) const;
  lane::UpdateTarget update_target(const Step& step, std::int64_t piece, std::int64_t begin) const;
  std::map<graph::NodeId, FusedUpdate> fused_updates_of(const Step& step) const;
  void commit_fused(const Step& step, const Values& values);
  void commit_with_lane_kernels(const Step& step, const StepResults& of);
  void update_buffers_with_lane_kernels(const Step& step, const lane::StateRanges& of);
  // If `note` is not null, the same launch also records the losses.
  void update_with_lane_kernels(const Step& step, std::int64_t piece, const lane::StateRanges& of, const Tensor& scale,
                                lane::LossRecord* note = nullptr);
  void commit_lanes(const Step& step, const StepResults& of, std::vector<std::pair<Tensor, Tensor>> writes);
  void count_steps(const Lanes& lanes, std::span<const std::uint8_t> active);
  UpdateHyperTable hyper_of(const Step& step, std::int64_t piece) const;
  std::vector<std::pair<Tensor, Tensor>> loss_updates(const Step& step, const StepResults& of);
  Tensor gradient_squares(const Step& step, const Tensor& gradients) const;
  bool probe_lanes();
  void check_lane_equality();
  std::string numeric_class_by_lanes() const;
  Tensor predictions(const LaneBatches& fed) const;
  Tensor predictions_of(const Lanes& lanes, const program::Batch& batch);
  void halve_lanes_per_launch(std::int64_t lanes);
  void train_step(const program::StepInput& step_input, std::int64_t step);
  void train_lanes(const Lanes& lanes, std::span<const std::uint8_t> group, const program::StepInput& step_input,
                   std::int64_t step);
  bool train_group(const LaneBatches& fed, const program::StepInput& step_input, std::vector<std::uint8_t> active,
                   std::int64_t step);
  void check_hyper(const program::LaneHyper& hyper) const;
  std::int64_t values_per_target(const program::Metrics& requested) const;

  program::ProgramOptions options_;
  const AtenDevice& device_;
  std::unique_ptr<AtenQueue> queue_;
  at::TensorOptions real_;
  std::shared_ptr<const program::StateFormat> state_format_;
  std::optional<autodiff::TrainingStep> train_;
  autodiff::InferenceStep infer_;
  AtenSection compute_, predict_;
  AtenUpdate update_ = nullptr;
  std::int64_t classes_ = 0, positions_ = 1, row_ = 1;
  std::int64_t planned_bytes_ = 0;  // of values, with all lanes
  MemoryBudget::Reservation reservation_;
  Tensor state_rows_;                            // [lanes, elements of a state]
  Tensor chunk_totals_;                          // double [kNumTotals, lanes] of the chunk under way
  std::vector<program::LaneState> states_;       // the host's memory of each; none where a lane is empty
  std::unique_ptr<PendingChunk> pending_chunk_;  // of a chunk under way
  std::map<StepShape, std::unique_ptr<RecordedStep>> recorded_steps_;
  RecordedStep* queued_ = nullptr;              // recording with filled steps that have not run yet
  std::int64_t num_single_steps_ = 0;           // so many steps do not wait for others
  std::vector<std::int64_t> num_queued_steps_;  // of each lane: so many of its steps wait
  std::int64_t lanes_per_launch_ = 1;
  std::int64_t uploaded_bytes_ = 0;
  mutable std::map<const void*, std::shared_ptr<const DeviceDataset>> dataset_cache_;  // null: not for this program
  bool lanes_are_equal_ = true;  // lanes have the same bits wherever they lie
};

}  // namespace lanista::device
