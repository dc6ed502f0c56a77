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
namespace lanista::nn {

/// A pass: the work of a rank at one time, for one stage and one of its micro-batches.
struct StagePass {
  /// Forward, whole backward, or one of the parts of a split backward pass: input or weight gradient.
  enum class Kind : std::uint8_t { kForward, kBackward, kInputGrad, kWeightGrad };
  Kind kind = Kind::kForward;
  std::uint32_t stage = 0;
  std::uint32_t micro = 0;  ///< index among the stage's micro-batches
  bool operator==(const StagePass&) const = default;
};

/// Operators that run together, micro-batch by micro-batch, on one rank.
struct Stage {
  std::vector<graph::NodeId> nodes;       ///< nodes of the model
  std::int64_t micro_batches = 1;         ///< micro-batches of a batch
  std::int64_t slots = 1;                 ///< most micro-batches with stored values
  std::vector<std::uint32_t> successors;  ///< stages that wait for this one, ascending
  std::string name = {};                  ///< for people
  bool operator==(const Stage&) const = default;
};

/// Begin and end of a pass, in seconds from the begin of the step's first pass.
struct PassTime {
  double begin = 0, end = 0;
};

/// An observer of the passes. The threads that run them call it; its functions must not throw.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  /// Called before a pass.
  virtual void on_pass_begin(std::size_t rank, const StagePass& pass) = 0;
  /// Called after a pass.
  virtual void on_pass_end(std::size_t rank, const StagePass& pass) = 0;
  /// Called when values were copied from one stage to another.
  virtual void on_edge_copy(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) = 0;
  /// Called when the number of samples with stored values of a stage changes.
  virtual void on_held_samples(std::uint32_t stage, std::int64_t samples) = 0;
};

/// A rank is gone; nothing of the step was committed.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The ranks of a program except rank 0, if they are processes. They run the same program, compiled from the same model
/// (StageWorker), and all see one block of memory or copies of it. One thread at a time.
class RemoteRanks {
 public:
  virtual ~RemoteRanks() = default;
  /// Prepares a step and returns the memory of map.bytes, aligned to 64, that all ranks share.
  ///
  /// The memory holds zeros, or what the last step left. All ranks have compiled the program with the map's digest.
  /// `map` must live as long as the program. Throws RankLost, std::bad_alloc.
  virtual std::byte* begin_step(const StageMemoryMap& map) = 0;
  /// During a step with separate memory, the transport to all ranks; else null.
  virtual StageTransport* transport() { return nullptr; }
  /// Called regularly by waiting ranks. Throws RankLost if a rank is gone.
  virtual void check_alive() = 0;
  /// Called after each step, also after a failed one.
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
  std::vector<Stage> stages;
  std::vector<std::vector<StagePass>> ranks;  ///< passes of each rank in order
  std::int64_t rank_bytes = 0;                ///< Most bytes of parameters, slots and values of a rank. 0: no limit.
  StageObserver* observer = nullptr;          ///< Lives as long as the program; may be null.
  std::shared_ptr<RemoteRanks> remote_ranks = {};  ///< All ranks but 0. Null: threads of this process.
  bool has_separate_memory = false;                ///< Whether RemoteRanks::transport carries memory between ranks.
  /// Expected times of the passes in `ranks`, by the maker of the lists; empty: unknown.
  std::vector<std::vector<PassTime>> expected = {};

  /// Number of pieces of a batch. Requires stages with at least one micro-batch each.
  std::int64_t pieces() const;
};

/// Measured times of a step in stages, for a whole batch after the first steps.
struct StepTimes {
  Stages stages;                             ///< the program's stages, without observer and remote ranks
  std::int64_t batch = 0;                    ///< samples
  std::vector<std::vector<PassTime>> ranks;  ///< times of the passes in `stages.ranks`
};

}  // namespace lanista::nn
