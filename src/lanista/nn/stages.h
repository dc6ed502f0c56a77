#pragma once

#include <cstdint>
#include <vector>

#include "lanista/graph/graph.h"

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
  std::vector<std::uint32_t> after;  ///< stages that wait for this one, ascending
  bool operator==(const Stage&) const = default;
};

/// Sees what is done, from the threads that do it; its calls must not throw.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  virtual void begins(std::size_t place, const StagePass& pass) = 0;
  virtual void ends(std::size_t place, const StagePass& pass) = 0;
  /// Values copied from one stage to another.
  virtual void sent(std::uint32_t from, std::uint32_t to, bool gradient, std::int64_t bytes) = 0;
  /// Samples whose values a stage holds, as often as that changes.
  virtual void holds(std::uint32_t stage, std::int64_t samples) = 0;
};

/// A model cut into stages, and who does what in which order: a thread a place. All passes of all stages stand in the
/// lists once, those of one kind and stage in ascending order; that the lists end whatever takes how long is for who
/// made them to prove (pipeline::prove).
///
/// A batch comes in as many pieces as there are finest micro-batches (the least common multiple of all stages'), sizes
/// as Cut has them; a stage's micro-batch is a run of neighbouring pieces. Gradients are summed in order of a stage's
/// micro-batches, so with equal ones a step has the bits of ProgramOptions::accumulate, whatever the stages and places;
/// but for batch norm, which knows the samples of a micro-batch alone, and renews its running statistics with each.
struct Stages {
  std::vector<Stage> stages;
  std::vector<std::vector<StagePass>> places;
  std::int64_t place_bytes = 0;       ///< that parameters, slots and values of a place may take; 0: any
  StageObserver* observer = nullptr;  ///< lives as long as the program; may be null

  /// Pieces of a batch. Requires stages with at least one micro-batch each.
  std::int64_t pieces() const;
};

}  // namespace lanista::nn
