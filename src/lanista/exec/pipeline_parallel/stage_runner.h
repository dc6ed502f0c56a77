#pragma once

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/batch_split.h"
#include "lanista/exec/program/section.h"
#include "lanista/exec/pipeline_parallel/stage_progress.h"
#include "lanista/exec/pipeline_parallel/step_timer.h"
#include "lanista/exec/pipeline_parallel/stage_partition.h"
#include "lanista/exec/pipeline_parallel/shared_step_memory.h"
#include "lanista/exec/program/state_layout.h"
#include "lanista/exec/program/thread_pool.h"

namespace lanista::nn {

/// The compute section of a step in stages, each pass of which is a list of prepared calls, and the threads or
/// processes that go through their lists. What a micro-batch leaves behind from its forward to its backward pass lies
/// in a slot of the stage; there are as many as the plan says. A stage copies what it reads of others into its own slot
/// as its forward pass begins, and its gradients into theirs as its backward pass ends: both slots are held then,
/// whatever else is under way, since nobody passes backward before all who wait for it have.
template <class T>
class StageRunner {
 public:
  struct Inputs {
    const Stages& stages;
    const StagePartition& cut;
    const step::TrainingStep& train;
    const LoweredGraph& lowered;
    const StateLayout& layout;
    SectionInputs<T> section;                          ///< as for a whole program; its max_batch is the program's
    std::int64_t input_stride = 0, target_stride = 0;  ///< bytes of a sample of what a batch brings
  };
  /// Errors: kUnimplemented (what cannot go from stage to stage), kResourceExhausted (Stages::rank_bytes).
  static Result<std::unique_ptr<StageRunner>> plan(const Inputs& inputs);

  /// Of slots and scratch; where places are processes, of those at the first place and of what all of them read.
  std::int64_t bytes() const { return local_bytes_; }
  /// The memory that all places see, and what those that do not see it tell each other.
  const StageMemoryMap& map() const { return memory_map_; }
  /// Asks for its memory and begins its threads. Throws std::bad_alloc, std::system_error.
  void start();
  /// One of the places of another process's steps, whose memory that is, until `should_stop`, which is asked now and then.
  void serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop, StageTransport* transport);

  /// All of it that is not calls: lines in the order of `profile_step`, numbers of a lane, whether masks are drawn.
  const Section<T>& properties() const { return properties_; }

  /// Gradients of the batch that `run` was fed, summed in micro-batch order: written to `out`, or added to it; `scratch_gradients`
  /// has the same size. New buffers go where `run` says. The sum of losses. What a call throws reaches the caller, from
  /// another process its words alone. Throws RankLost.
  double sum_gradients(const RunContext<T>& run, T* out, T* scratch_gradients, bool add);
  /// A step as it was, once some of them have been timed; not again.
  std::optional<StepTimes> take_step_times() { return timer_.take_step_times(); }
  /// Losses of the samples of the last micro-batch.
  const T* losses() const;
  /// The first micro-batch, all stages in order, with a call of `done` after every line.
  void profile_step(const RunContext<T>& run, T* out, const std::function<void()>& done);

 private:
  // What is copied with a micro-batch: from the maker's slot to the reader's.
  struct EdgeCopy {
    std::uint32_t other = 0;
    Address from, to;
    std::int64_t sample_bytes = 0;
  };
  // What places that do not see this memory are told behind a forward pass.
  struct RemoteValue {
    Address from;
    std::int64_t sample_bytes = 0;
    std::vector<std::uint32_t> ranks;
  };
  struct StageState {
    std::uint32_t rank = 0;
    std::vector<RemoteValue> remote_values;
    std::array<std::vector<Run<T>>, 3> passes;
    std::array<std::vector<Range>, 3> gradients;  // that the pass gives
    std::vector<Range> renewed;
    std::vector<EdgeCopy> incoming, outgoing;
    std::vector<std::uint32_t> predecessors, successors;
    std::int64_t pieces = 1;  // of a micro-batch
    std::int64_t slots = 1, slot_bytes = 0, edge_offset = 0, offset = 0;
    std::int64_t scratch_offset = 0;
    std::size_t first_lane_attr = 0, lane_attrs = 0;
    // Of the step under way.
    LaneHyper hyper;
    std::int64_t held = 0;
  };
  // Neighbouring samples of the batch under way.
  struct Samples {
    std::int64_t begin = 0, end = 0;
  };
  class Planner;

  StageRunner() = default;
  void begin(const StageStep<T>& step, std::byte* memory, StageTransport* transport);
  void send_step();
  void send_values(std::uint32_t stage, std::int64_t micro);
  void send_results(std::size_t rank);
  void send_bytes(std::uint32_t rank, const void* from, std::int64_t bytes);
  void load_step(const StageStep<T>& step, std::span<const double> lane_attrs);
  void start_step_timer();
  void run_local_ranks();
  void run_with_remote_ranks();
  void run_rank(std::size_t rank, const std::function<void()>& watch);
  bool exists(const StagePass& pass) const;
  void wait_for_inputs(const StagePass& pass, const std::function<void()>& watch);
  void publish(const StagePass& pass);
  void run_pass(const StagePass& pass);
  void compute(std::uint32_t stage, std::int64_t micro, std::size_t pass, const std::function<void()>& done);
  void copy_inputs(std::uint32_t stage, std::int64_t micro);
  void return_gradients(std::uint32_t stage, std::int64_t micro);
  void copy_edge(const EdgeCopy& transfer, bool gradient, std::uint32_t from, std::int64_t sender, std::uint32_t to,
            std::int64_t receiver);
  std::int64_t pieces_end(std::uint32_t stage, std::int64_t micro) const;
  Samples samples(std::uint32_t stage, std::int64_t micro) const;
  std::byte* slot(std::uint32_t stage, std::int64_t micro) const;
  double& loss_sum() const { return *reinterpret_cast<double*>(block_ + loss_offset_); }
  RunContext<T> context(std::uint32_t stage, std::int64_t micro) const;

  BatchSplit batch_split_;
  std::vector<std::vector<StagePass>> ranks_;
  StageObserver* observer_ = nullptr;
  const kernels::Kernels<T>* kernels_ = nullptr;
  std::vector<StageState> stages_;
  std::uint32_t loss_stage_ = 0;  // that has the loss
  Address loss_;
  Section<T> properties_;
  std::int64_t buffers_ = 0;  // elements
  std::int64_t buffer_offset_ = 0;
  std::int64_t input_stride_ = 0, target_stride_ = 0;
  std::int64_t local_bytes_ = 0;
  StageMemoryMap memory_map_;
  std::shared_ptr<RemoteRanks> remote_ranks_;  // null: places are threads
  SharedStepMemory<T> shared_step_;                     // where they are not
  StepTimer timer_;
  std::vector<typename SharedStepMemory<T>::RankReads> rank_reads_;  // of each place
  std::int64_t loss_offset_ = 0, timer_offset_ = 0, shared_step_offset_ = 0;
  std::int64_t samples_ = 0;    // of a batch, at most
  AlignedBytes memory_;         // of threads
  std::vector<T> last_losses_;  // of what others' memory held
  std::unique_ptr<ThreadPool> thread_pool_;

  StageStep<T> step_;
  std::byte* block_ = nullptr;        // the memory that all places of the step see
  StageProgress progress_;                  // at its beginning
  StageTransport* transport_ = nullptr;         // to places that do not see it
  std::vector<std::int64_t> bounds_;  // samples before each piece, and all
  std::int64_t num_used_pieces_ = 0;             // pieces that have samples
  std::mutex mutex_;
  std::exception_ptr failure_;  // under the mutex
};

}  // namespace lanista::nn
