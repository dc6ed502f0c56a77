#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::device {

/// A training step as a list of block calls.
///
/// The calls work on the slab of a lane: state (in program::StateFormat), gradients, new buffers, values and scratch.
struct BlockProgram {
  std::vector<block::Call> calls;  ///< calls of one step, in order
  std::int64_t slab_words = 0;     ///< size of a slab in words of four bytes
  bool has_random_masks = false;   ///< true: a call samples random masks
  /// FLOPs of a step with a full batch, approximately; 0 until BlockExecutable::compile sets it.
  double flops = 0;

  /// Returns the size of a slab in bytes.
  std::int64_t slab_bytes() const { return 4 * slab_words; }
};

/// Returns the block program of a training step: the calls that a thread block interprets for its lane, with the
/// position of every value in the lane's memory. `state_format` is the layout of its states, `max_batch` the largest
/// batch in samples.
///
/// Errors: kUnimplemented for an operator or optimiser that the block backend lacks; the message names it.
Result<BlockProgram> block_program(const autodiff::TrainingStep& train, const program::StateFormat& state_format,
                                   const graph::OpTable& ops, std::int64_t max_batch);

/// Region of memory in which an operand lies, while calls are emitted on the host. Emitter::finish replaces it by the
/// operand's offset in the slab, or by block::kInput, kTarget or kNowhere. The first four follow the layout of the CPU
/// program.
enum class SlabRegion : std::uint8_t {
  kState,      ///< parameters, buffers and optimiser slots
  kGradient,   ///< gradients of the parameters
  kNewBuffer,  ///< new values of buffers, before the commit
  kArena,      ///< values of the step
  kScratch,    ///< scratch of one call
  kInput,      ///< features of the batch, outside the slab
  kTarget,     ///< targets of the batch, outside the slab
  kNowhere,    ///< no operand
};

/// A range of one region that a call reads or writes, in words of four bytes.
struct OperandRange {
  SlabRegion part = SlabRegion::kNowhere;  ///< region of the range
  std::int64_t begin = 0, words = 0;       ///< first word from the start of the region; number of words
  bool written = false;                    ///< true: the call writes the range; false: it only reads it
};

/// A call of the program before the offsets of the regions in the slab are known.
struct EmittedCall {
  block::Call call{};                                  ///< operator and sizes
  std::array<OperandRange, block::kMaxOperands> at{};  ///< ranges of the operands, in the order of Call::at
  bool reads_only_parameters = false;                  ///< true: it reads only parameters, so it may run first
  bool has_phases = false;                             ///< true: it has several phases with barriers between them
};

/// Collects the calls of a step and assigns their memory in the slab.
class Emitter {
 public:
  /// Makes an emitter without calls. `state_format` must outlive it; `max_batch` is in samples.
  Emitter(const program::StateFormat& state_format, std::int64_t max_batch)
      : state_format_(state_format), max_batch_(max_batch) {}

  /// Appends a call with these sizes (Call::n) and operands (Call::at), and returns it. The reference is valid until
  /// the next call of `add`.
  EmittedCall& add(block::Op op, std::vector<std::int64_t> sizes, std::vector<OperandRange> spots);
  /// Returns the range that input number `input` (from 0) of a call of the CPU program occupies: region, first word and
  /// words for the largest batch. Features and targets of the batch lie outside the slab and have 0 words.
  OperandRange read(const program::Binding<float>& b, std::size_t input) const;
  /// Returns the range (region, first word, words for the largest batch) that output number `output` (from 0) of a call
  /// of the CPU program occupies, marked as written. Changes nothing.
  OperandRange write(const program::Binding<float>& b, std::size_t output) const;
  /// Returns read(b, input) if the call has this optional input (`exists`), else an operand in the region kNowhere.
  /// Changes nothing.
  OperandRange read(const program::Binding<float>& b, std::size_t input, bool exists) const {
    return exists ? read(b, input) : OperandRange{};
  }
  /// Returns a new scratch range of `words` words, which no other call uses.
  OperandRange scratch(std::int64_t words);
  /// Returns the operand of `words` words at an address of the CPU program, for reading.
  OperandRange operand(program::Address place, std::int64_t words) const;
  /// Returns the largest batch of the program, in samples.
  std::int64_t max_batch() const { return max_batch_; }
  /// Returns the layout of the states.
  const program::StateFormat& state_format() const { return state_format_; }

  /// Moves calls that read only parameters to the front, fuses calls, places barriers, resolves operands to words of
  /// the slab, and returns the program.
  ///
  /// `arena_words` is the size of the region kArena in words. The emitter must not be used after it.
  BlockProgram finish(std::int64_t arena_words) &&;

 private:
  const program::StateFormat& state_format_;
  std::int64_t max_batch_;
  std::int64_t scratch_ = 0;
  std::vector<EmittedCall> calls_;
};

/// Appends the block calls of one call of the CPU program to the emitter.
using Emit = std::function<void(const program::Binding<float>&, Emitter&)>;

/// Lowering functions by the name of the step operator.
using EmitTable = std::map<std::string, Emit, std::less<>>;

/// Returns the lowering functions of all supported operators.
EmitTable emit_table();

/// Adds the lowering functions of linear layers, convolutions and matrix products.
void add_dense_calls(EmitTable& table);
/// Adds the lowering functions of activations, element-wise arithmetic, softmax and dropout.
void add_elementwise_calls(EmitTable& table);
/// Adds the lowering functions of normalisations, pools, means, data movement, embeddings and losses.
void add_other_calls(EmitTable& table);

}  // namespace lanista::device
