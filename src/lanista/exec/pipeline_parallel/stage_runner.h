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
#include "lanista/exec/pipeline_parallel/shared_step_memory.h"
#include "lanista/exec/pipeline_parallel/stage_partition.h"
#include "lanista/exec/pipeline_parallel/stage_progress.h"
#include "lanista/exec/pipeline_parallel/step_timer.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/batch_split.h"
#include "lanista/exec/program/section.h"
#include "lanista/exec/program/state_layout.h"
#include "lanista/exec/program/thread_pool.h"

namespace lanista::program {

/// The compute section of a step in stages, and the threads or processes that run the ranks' lists of passes.
///
/// Each pass is a list of prepared calls. A slot of a stage holds the values of one micro-batch from its forward to its
/// backward pass. At the begin of its forward pass a stage copies what it reads from other stages into its slot. At the
/// end of its backward pass it copies gradients into the slots of the stages that made those values. Both slots are in
/// use then, because a stage runs its backward pass after all its successors.
template <class T>
class StageRunner {
 public:
  /// The inputs of plan(). The references are read while planning only.
  struct Inputs {
    const Stages& stages;                              ///< Stages and lists of passes.
    const StagePartition& cut;                         ///< Stage of each step node.
    const autodiff::TrainingStep& train;               ///< Training step.
    const LoweredGraph& lowered;                       ///< Kernel calls of the whole compute section.
    const StateLayout& layout;                         ///< Layout of the lane states.
    SectionInputs<T> section;                          ///< Inputs for the whole program, with the program's max_batch.
    std::int64_t input_stride = 0, target_stride = 0;  ///< Bytes of a sample's input and target in the batch.
  };
  /// Plans memory and calls of all stages. Errors: kUnimplemented (a value without batch axis crosses stages, or a
  /// backward call reads a buffer), kResourceExhausted (a rank needs more than Stages::rank_bytes).
  static Result<std::unique_ptr<StageRunner>> plan(const Inputs& inputs);

  /// Bytes of slots and scratch memory of all stages. With processes: those of rank 0 and of the shared memory.
  std::int64_t bytes() const { return local_bytes_; }
  /// The memory that all ranks share or copy, and the routes between ranks with separate memory.
  const StageMemoryMap& map() const { return memory_map_; }
  /// Allocates the memory and, without remote ranks, starts the threads. Call it once, before sum_gradients(). Throws
  /// std::bad_alloc, std::system_error.
  void start();
  /// Runs the passes of rank `rank` for another process's steps, in `memory` of map().bytes, until `should_stop`
  /// returns true. `should_stop` is called regularly while waiting. `transport` is null if the memory is shared.
  void serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop, StageTransport* transport);

  /// The properties of the section without its calls: plan lines, lane attributes and whether masks are random.
  const Section<T>& properties() const { return properties_; }

  /// Runs the compute section for the batch in `run`, and returns the sum of the samples' losses.
  ///
  /// Gradients are summed in the order of micro-batches, and written to `out`, or added with `add`. `scratch_gradients`
  /// has the same size. New buffer values are written to MemorySpace::kNewBuffer of `run`. An exception of a call is
  /// rethrown; from another process only its text arrives. Throws RankLost.
  double sum_gradients(const RunContext<T>& run, T* out, T* scratch_gradients, bool add);
  /// Returns the measured times of one step, once, after enough steps. Nothing before, after that, or with separate
  /// memory.
  std::optional<StepTimes> take_step_times() { return timer_.take_step_times(); }
  /// Losses of the samples of the step's last micro-batch, [samples of a micro-batch], valid until the next step.
  const T* losses() const;
  /// Runs the first micro-batch through all stages in order, with a call of `done` after every line of the plan. `out`
  /// receives its gradients.
  void profile_step(const RunContext<T>& run, T* out, const std::function<void()>& done);

 private:
  // A copy of a value or gradient with a micro-batch, from the slot of its maker to that of its reader.
  struct EdgeCopy {
    std::uint32_t other = 0;  // stage
    Address from, to;
    std::int64_t sample_bytes = 0;
  };
  // A value that is sent after a forward pass to ranks with separate memory.
  struct RemoteValue {
    Address from;
    std::int64_t sample_bytes = 0;
    std::vector<std::uint32_t> ranks;
  };
  struct StageState {
    std::uint32_t rank = 0;
    std::vector<RemoteValue> remote_values;
    std::array<std::vector<Run<T>>, 3> passes;
    std::array<std::vector<Range>, 3> gradients;  // that each pass computes
    std::vector<Range> renewed;
    std::vector<EdgeCopy> incoming, outgoing;
    std::vector<std::uint32_t> predecessors, successors;
    std::int64_t pieces = 1;  // of the batch in a micro-batch
    std::int64_t slots = 1, slot_bytes = 0, edge_offset = 0, offset = 0;
    std::int64_t scratch_offset = 0;
    std::size_t first_lane_attr = 0, lane_attrs = 0;
    // Of the current step.
    LaneHyper hyper;
    std::int64_t held = 0;
  };
  // Neighbouring samples of the current batch.
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
  std::uint32_t loss_stage_ = 0;  // that computes the loss
  Address loss_;
  Section<T> properties_;
  std::int64_t buffers_ = 0;  // elements
  std::int64_t buffer_offset_ = 0;
  std::int64_t input_stride_ = 0, target_stride_ = 0;
  std::int64_t local_bytes_ = 0;
  StageMemoryMap memory_map_;
  std::shared_ptr<RemoteRanks> remote_ranks_;  // null: ranks are threads
  SharedStepMemory<T> shared_step_;            // if ranks are processes
  StepTimer timer_;
  std::vector<typename SharedStepMemory<T>::RankReads> rank_reads_;  // of each rank
  std::int64_t loss_offset_ = 0, timer_offset_ = 0, shared_step_offset_ = 0;
  std::int64_t samples_ = 0;    // most samples of a batch
  AlignedBytes memory_;         // of threads
  std::vector<T> last_losses_;  // copied from memory of others
  std::unique_ptr<ThreadPool> thread_pool_;

  StageStep<T> step_;
  std::byte* block_ = nullptr;           // the memory that all ranks of the step share
  StageProgress progress_;               // at the begin of that memory
  StageTransport* transport_ = nullptr;  // to ranks with separate memory
  std::vector<std::int64_t> bounds_;     // first sample of each piece, and the number of samples
  std::int64_t num_used_pieces_ = 0;     // pieces that have samples
  std::mutex mutex_;
  std::exception_ptr failure_;  // under the mutex
};

}  // namespace lanista::program
