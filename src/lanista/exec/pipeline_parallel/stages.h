#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/exec/pipeline_parallel/stage_inbox.h"

// A step that several threads share by operators in place of samples (room `pipeline`; graphpipe.md 2 and 4).
namespace lanista::nn {

/// What a place does at a time: a stage's forward pass over one of its micro-batches, its backward pass, or one of the
/// two parts of that: what the stages before wait for, and what nobody waits for.
struct StagePass {
  enum class Kind : std::uint8_t { kForward, kBackward, kInputGrad, kWeightGrad };
  Kind kind = Kind::kForward;
  std::uint32_t stage = 0;
  std::uint32_t micro = 0;  ///< of the stage's micro-batches
  bool operator==(const StagePass&) const = default;
};

/// Operators that run together, micro-batch by micro-batch.
struct Stage {
  std::vector<graph::NodeId> nodes;  ///< of the model
  std::int64_t micro_batches = 1;    ///< that a batch comes in
  std::int64_t slots = 1;            ///< micro-batches whose values are held at most
  std::vector<std::uint32_t> successors;  ///< stages that wait for this one, ascending
  std::string name = {};             ///< for people
  bool operator==(const Stage&) const = default;
};

/// Seconds from the beginning of a step's first pass.
struct PassTime {
  double begin = 0, end = 0;
};

/// Sees what is done, from the threads that do it; its calls must not throw.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  virtual void on_pass_begin(std::size_t rank, const StagePass& pass) = 0;
  virtual void on_pass_end(std::size_t rank, const StagePass& pass) = 0;
  /// Values copied from one stage to another.
  virtual void on_edge_copy(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) = 0;
  /// Samples whose values a stage holds, as often as that changes.
  virtual void on_held_samples(std::uint32_t stage, std::int64_t samples) = 0;
};

/// Not all places are there any longer: nothing of the step was done.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whoever does what stands in the lists of all places but the first, where those are not threads of this process: the
/// same program, made anew from the same model (StageWorker). All see one piece of memory. One thread at a time.
class RemoteRanks {
 public:
  virtual ~RemoteRanks() = default;
  /// Before each step: memory of so many bytes, aligned to 64, that all places see and wait at; zeros at first, and as
  /// the last step left it, or zeros again. All have made the program of this digest. `map` lives as long as the
  /// program. Throws RankLost, std::bad_alloc.
  virtual std::byte* begin_step(const StageMemoryMap& map) = 0;
  /// During a step whose places do not see each other's memory (Stages::apart): to all of them; else null.
  virtual StageTransport* transport() { return nullptr; }
  /// Now and then, by who waits for others. Throws RankLost where one of them is gone.
  virtual void check_alive() = 0;
  /// Behind each step, also one that failed.
  virtual void end_step() = 0;
};

/// A model cut into stages, and who does what in which order: a thread or a process a place. All passes of all stages
/// stand in the lists once, those of one kind and stage in ascending order; that the lists end whatever takes how long
/// is for who made them to prove (pipeline::prove).
///
/// A batch comes in as many pieces as there are finest micro-batches (the least common multiple of all stages'), sizes
/// as BatchSplit has them; a stage's micro-batch is a run of neighbouring pieces. Gradients are summed in order of a stage's
/// micro-batches, so with equal ones a step has the bits of ProgramOptions::accumulate, whatever the stages and places;
/// but for batch norm, which knows the samples of a micro-batch alone, and renews its running statistics with each.
struct Stages {
  std::vector<Stage> stages;
  std::vector<std::vector<StagePass>> ranks;
  std::int64_t rank_bytes = 0;       ///< that parameters, slots and values of a place may take; 0: any
  StageObserver* observer = nullptr;  ///< lives as long as the program; may be null
  std::shared_ptr<RemoteRanks> remote_ranks = {};  ///< where places but the first are; null: threads of this process
  bool has_separate_memory = false;  ///< those do not see each other's memory; RemoteRanks::line carries what they have to know
  /// When whoever made the lists thinks that passes begin and end, as they stand in `ranks`; empty: nobody said.
  std::vector<std::vector<PassTime>> expected = {};

  /// Pieces of a batch. Requires stages with at least one micro-batch each.
  std::int64_t pieces() const;
};

/// A step of a program in stages as it was: of a whole batch, behind the first ones.
struct StepTimes {
  Stages stages;  ///< the program's, without observer and others' places
  std::int64_t batch = 0;
  std::vector<std::vector<PassTime>> ranks;  ///< of every pass, as they stand in the lists of the stages
};

}  // namespace lanista::nn
