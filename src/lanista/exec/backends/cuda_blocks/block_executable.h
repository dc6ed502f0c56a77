#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_blocks/block_program.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/executable.h"
#include "lanista/exec/program/layout.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::device {

/// Executable of the block backend: one thread block, or a team of blocks, runs one lane.
///
/// Each occupied lane has a slab of device memory with its state, gradients and values. Its block interprets the calls
/// of the program for a chunk of steps. The batches of a round of steps are uploaded together, and a launch writes
/// losses to the host. A CPU executable of one lane runs other work on the downloaded state: predictions, split steps,
/// and chunks with gradient norms or with a function before each commit.
class BlockExecutable final : public program::SingleObjectExecutable {
 public:
  /// Returns an executable that is compiled for `device`, which must outlive it. If `train` is null, it is a CPU
  /// executable, which only predicts.
  ///
  /// Errors: kInvalidArgument for invalid options; kUnimplemented for an unsupported operator or optimiser, a precision
  /// other than float32, a batch in parts or a model in stages; kResourceExhausted; kUnavailable (the device failed).
  static Result<std::unique_ptr<program::Executable>> compile(BlockDevice& device, const autodiff::TrainingStep* train,
                                                              const autodiff::InferenceStep& infer,
                                                              const program::ProgramOptions& options);

  ~BlockExecutable() override;

  std::int64_t bytes() const override;
  Result<void> reserve_lanes(std::int64_t lanes) override;
  std::string describe() const override;
  Result<program::LaneState> make_state(std::uint64_t trial_seed) const override;
  void attach(std::int64_t lane, program::LaneState&& state) override;
  program::LaneState detach(std::int64_t lane) override;
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override;
  std::int64_t step_count(std::int64_t lane) const override;
  std::vector<Tensor> extract_state(std::int64_t lane) const override;
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

  /// Sets the limit of the staging memory for batches, in bytes. Two steps always fit. Executables of
  /// one launch divide it. A chunk that needs more runs in
  /// rounds.
  void set_max_staging_bytes(std::int64_t bytes) { max_staging_bytes_ = bytes; }
  /// Returns the number of rounds of all chunks so far. A round is one upload of batches and one launch.
  std::int64_t num_rounds() const { return num_rounds_; }
  /// Begins to count the cycles of each call of the program, in the first lane of every chunk, from 0. For profiling.
  void time_calls();
  /// A call of the program and its time since `time_calls`.
  struct TimedCall {
    block::Call call;          ///< call of the program
    std::uint64_t cycles = 0;  ///< device cycles of all its runs in sum
  };
  /// Returns, for each call of the program in its order, the sum of the cycles of its runs since `time_calls`, which
  /// must have been called. Only the first lane of each chunk counts.
  std::vector<TimedCall> timed_calls() const;

 private:
  friend void run_in_one_launch(std::span<const struct LaunchPart> parts);

  // Steps of a lane in a round, which were uploaded together.
  struct Round {
    std::size_t lane = 0;
    std::vector<block::Step> steps;
    program::LaneHyper hyper;       // of the last step
    std::int64_t first = 0;         // first step in the chunk
    const float* losses = nullptr;  // one per step
  };
  struct Slab {
    BlockMemory memory;
    MemoryBudget::Reservation reservation;
  };
  struct LaneSlot {
    program::LaneState state;
    bool is_device_newer = false;  // the device's bytes are newer than the host's
    Slab slab = {};                // empty if the lane has no state
  };
  // Addresses of an uploaded batch.
  struct UploadedBatch {
    const void *input = nullptr, *target = nullptr;
    const block::i64* samples = nullptr;
    const float* weights = nullptr;
    int size = 0;
  };
  // A batch that an executable of a combined launch has uploaded for the current step.
  struct SharedUpload {
    program::Batch batch;
    const BlockExecutable* uploader = nullptr;
    UploadedBatch uploaded;
  };

  BlockExecutable(program::ExecutableProperties properties, BlockDevice& device, BlockProgram program,
                  std::unique_ptr<program::Executable> cpu_executable, const autodiff::TrainingStep& train,
                  const program::ProgramOptions& options);
  LaneSlot& lane_slot(std::int64_t lane) const { return lane_slots_[static_cast<std::size_t>(lane)]; }
  std::byte* slab(std::int64_t lane) const { return lane_slot(lane).slab.memory.at(); }
  std::int64_t num_occupied_lanes() const;
  Result<Slab> acquire_slab();
  void release_spare_slabs();
  void download_state(std::int64_t lane) const;
  void upload_state(std::int64_t lane) const;
  template <class F>
  void with_cpu_executable(std::int64_t lane, bool changes, const F& f) const;
  void run_on_cpu(const program::Chunk& chunk, std::span<program::LaneResult> ends);

  // A chunk runs in rounds. After `begin`, while it has steps left: open a round, append steps while they fit, close
  // the round, launch its lanes, collect the results.
  void begin(const program::Chunk& chunk, std::span<program::LaneResult> ends);
  bool has_steps() const { return next_step_ < chunk_.steps; }
  void allocate_staging(std::int64_t lanes, std::int64_t most);
  void open_round(std::int64_t executables);  // number of executables that share the launch and the staging limit
  bool has_staging_space() const;
  void append_step(std::vector<SharedUpload>* shared_uploads);
  void close_round(std::vector<block::Lane>& lanes);
  void collect_results();
  void fail(const std::exception_ptr& why);

  void check_batch(const program::Batch& batch) const;
  const void* put_features(const program::Batch& batch);
  const void* put_target(const program::Batch& batch);
  UploadedBatch put_batch(const program::Batch& batch);
  UploadedBatch upload_batch(const program::Batch& batch, std::vector<SharedUpload>* shared_uploads);
  bool has_same_batch_layout(const BlockExecutable& other) const;
  block::Step put_step(const UploadedBatch& uploaded, const program::LaneHyper& hyper, std::int64_t done);
  template <class T>
  T* put(std::int64_t count, const T*& on_device);

  program::ProgramOptions options_;
  BlockDevice* device_;
  BlockProgram program_;
  std::unique_ptr<program::Executable> cpu_executable_;
  std::shared_ptr<const program::StateFormat> state_format_;
  bool corrects_rate_;
  program::Reorder input_;
  program::Reorder target_;
  bool tokens_ = false;
  std::int64_t classes_ = 0, positions_ = 1;
  std::int64_t sample_values_ = 1, target_values_ = 1;
  std::int64_t staging_bytes_per_lane_ = 0;  // maximum staging bytes of a step, per lane
  std::int64_t max_staging_bytes_ = std::int64_t{64} << 20, num_rounds_ = 0;
  BlockMemory calls_, staging_, device_staging_;  // staging memory exists while a chunk runs
  BlockMemory call_cycles_;                       // cycles of each call; empty unless calls are timed
  mutable std::vector<LaneSlot> lane_slots_;
  std::vector<Slab> spare_slabs_;        // for later states
  std::int64_t num_reserved_lanes_ = 1;  // minimum number of slabs

  // State of the current chunk.
  program::Chunk chunk_;
  std::span<program::LaneResult> ends_;
  std::vector<std::uint8_t> active_;
  std::int64_t next_step_ = 0, first_step_ = 0, num_staged_bytes_ = 0, max_step_bytes_ = 0;
  std::vector<Round> rounds_;
};

/// An executable and its chunk, as an input of `run_in_one_launch`.
struct LaunchPart {
  program::Executable* executable = nullptr;  ///< executable of the block backend
  const program::Chunk* chunk = nullptr;      ///< steps to run on the executable
  std::span<program::LaneResult> ends = {};   ///< result of each lane; an output
};

/// Runs the chunks of several executables of one block device in shared launches, and waits for them. Their programs
/// may differ.
///
/// Results are those of Executable::run and wait. If several executables receive the same batch (by address) for the
/// same step of a round, it is uploaded once. So the batch must not change until all of them have received that step.
void run_in_one_launch(std::span<const LaunchPart> parts);

}  // namespace lanista::device
