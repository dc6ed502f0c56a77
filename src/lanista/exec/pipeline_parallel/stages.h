#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lanista/exec/pipeline_parallel/stage_inbox.h"
#include "lanista/model/graph/graph.h"

// A training step that several ranks share by operators instead of samples (plan/pipeline).
namespace lanista::program {

/// A pass: what a rank does in one turn, for one stage and one of its micro-batches.
struct StagePass {
  /// Forward pass, whole backward pass, or one of the parts of a split backward pass: input or weight gradient.
  enum class Kind : std::uint8_t { kForward, kBackward, kInputGrad, kWeightGrad };
  Kind kind = Kind::kForward;  ///< Which pass.
  std::uint32_t stage = 0;     ///< Index in Stages::stages.
  std::uint32_t micro = 0;     ///< Index among the stage's micro-batches, from 0.
  bool operator==(const StagePass&) const = default;
};

/// Operators that run together, micro-batch by micro-batch, on one rank.
struct Stage {
  std::vector<graph::NodeId> nodes;       ///< Model nodes that the stage computes.
  std::int64_t micro_batches = 1;         ///< Number of micro-batches into which the stage divides a batch.
  std::int64_t slots = 1;                 ///< Most micro-batches of which the stage holds values at a time.
  std::vector<std::uint32_t> successors;  ///< Indices of the stages that wait for this one, ascending.
  std::string name = {};                  ///< Text for people, e.g. first and last operator.
  bool operator==(const Stage&) const = default;
};

/// Begin and end of a pass, in seconds from the begin of the step's first pass.
struct PassTime {
  double begin = 0, end = 0;  ///< Seconds.
};

/// An observer of the passes, for tests and traces. The threads that run the passes call it, several at once; its
/// functions must not throw. If the other ranks are processes, it observes rank 0 only.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  /// Called before a rank runs a pass.
  virtual void on_pass_begin(std::size_t rank, const StagePass& pass) = 0;
  /// Called after a rank has run a pass.
  virtual void on_pass_end(std::size_t rank, const StagePass& pass) = 0;
  /// Called when `bytes` of values, or of gradients if `gradient`, were copied from stage `from` to stage `to`.
  virtual void on_edge_copy(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) = 0;
  /// Called when the number of samples of which a stage holds values changes to `samples`.
  virtual void on_held_samples(std::uint32_t stage, std::int64_t samples) = 0;
};

/// The exception for a step of which a rank is gone; nothing of the step was committed.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The ranks of a program except rank 0, if they are processes. They run the same program, compiled from the same model
/// (StageWorker), and all see one block of memory or copies of it. One thread at a time.
class RemoteRanks {
 public:
  virtual ~RemoteRanks() = default;
  /// Prepares a step and returns the memory of map.bytes bytes, aligned to 64, that all ranks share or copy.
  ///
  /// The memory holds zeros at first, later what the last step left. The ranks own it, and it is valid until
  /// end_step(). All ranks have compiled the program with the map's digest. `map` must live as long as the program.
  /// Throws RankLost, std::bad_alloc.
  virtual std::byte* begin_step(const StageMemoryMap& map) = 0;
  /// During a step with separate memory, the transport to all ranks, owned by this object; else null.
  virtual StageTransport* transport() { return nullptr; }
  /// Throws RankLost if a rank is gone. Waiting ranks call it regularly.
  virtual void check_alive() = 0;
  /// Ends the step of begin_step(). Called after each step, also after a failed one.
  virtual void end_step() = 0;
};

/// A model cut into stages, and the list of passes of each rank, a thread or a process.
///
/// The lists contain every pass of every stage once. Passes of one kind and stage are in ascending order. The maker of
/// the lists proves that they end for any durations (pipeline::prove).
///
/// A batch has as many pieces as the least common multiple of the stages' numbers of micro-batches, with the sizes of
/// BatchSplit. A micro-batch is a run of neighbouring pieces. Gradients are summed in the order of a stage's
/// micro-batches. So with equal micro-batches a step has the bits of ProgramOptions::accumulate, for any stages and
/// ranks. Batch norm is the exception: it uses the samples of a micro-batch, and renews its running statistics with
/// each.
struct Stages {
  std::vector<Stage> stages;                  ///< Stages of the model, by index.
  std::vector<std::vector<StagePass>> ranks;  ///< Passes of each rank in the order in which it runs them.
  std::int64_t rank_bytes = 0;                ///< Most bytes of parameters, slots and values of one rank; 0: no limit.
  StageObserver* observer = nullptr;          ///< Observer that lives as long as the program; may be null.
  /// All ranks but rank 0, in processes; null: threads of this process.
  std::shared_ptr<RemoteRanks> remote_ranks = {};
  /// True: RemoteRanks::transport carries memory between ranks, because they share none.
  bool has_separate_memory = false;
  /// Expected times of the passes, in the order of `ranks`, from the simulation of the plan; empty: unknown.
  std::vector<std::vector<PassTime>> expected = {};

  /// Number of pieces of a batch: the least common multiple of the stages' micro-batches. Requires at least one
  /// micro-batch a stage.
  std::int64_t pieces() const;
};

/// Measured times of one step in stages, for a whole batch: the step of median duration among a few early ones.
struct StepTimes {
  Stages stages;                             ///< Stages of the program, without observer and remote ranks.
  std::int64_t batch = 0;                    ///< Samples of the step.
  std::vector<std::vector<PassTime>> ranks;  ///< Times of the passes, in the order of `stages.ranks`.
};

}  // namespace lanista::program
