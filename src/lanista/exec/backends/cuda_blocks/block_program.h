#pragma once

#include <array>
#include <cstdint>
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
/// The calls work on the slab of a lane: state (in nn::StateFormat), gradients, new buffers, values and scratch.
struct BlockProgram {
  std::vector<block::Call> calls;  ///< calls of one step, in order
  std::int64_t slab_words = 0;     ///< size of a slab in words of four bytes
  bool has_random_masks = false;   ///< whether a call samples random masks
  double flops = 0;                ///< operations of a step with a full batch

  /// Size of a slab in bytes.
  std::int64_t slab_bytes() const { return 4 * slab_words; }
};

/// Lowers a training step to a block program. `state_format` is the layout of its states.
///
/// Errors: kUnimplemented for an operator or optimiser that the block backend lacks; the message names it.
Result<BlockProgram> block_program(const step::TrainingStep& train, const nn::StateFormat& state_format,
                                   const graph::OpTable& ops, std::int64_t max_batch);

/// Sorted names of all step operators that the block backend supports, including optimiser updates.
std::vector<std::string> block_operators();

/// Region of an operand. The first four follow the layout of the CPU program.
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

/// Words that a call reads or writes.
struct OperandRange {
  SlabRegion part = SlabRegion::kNowhere;  ///< region
  std::int64_t begin = 0, words = 0;       ///< first word in the region, and number of words
  bool written = false;                    ///< whether the call writes them
};

/// A call before the offsets of the regions are known.
struct EmittedCall {
  block::Call call{};                                  ///< operator and sizes
  std::array<OperandRange, block::kMaxOperands> at{};  ///< operands
  bool reads_only_parameters = false;  ///< whether it reads parameters alone, so that it may run before all others
  bool has_phases = false;             ///< whether it has several phases with barriers between them
};

/// Collects the calls of a step and assigns their memory.
class Emitter {
 public:
  /// `state_format` must outlive the emitter.
  Emitter(const nn::StateFormat& state_format, std::int64_t max_batch)
      : state_format_(state_format), max_batch_(max_batch) {}

  /// Appends a call and returns it.
  EmittedCall& add(block::Op op, std::vector<std::int64_t> sizes, std::vector<OperandRange> spots);
  /// Operand that reads an input.
  OperandRange read(const nn::Binding<float>& b, std::size_t input) const;
  /// Operand that writes an output.
  OperandRange write(const nn::Binding<float>& b, std::size_t output) const;
  /// Operand that reads an optional input.
  OperandRange read(const nn::Binding<float>& b, std::size_t input, bool exists) const {
    return exists ? read(b, input) : OperandRange{};
  }
  /// New scratch of `words` words.
  OperandRange scratch(std::int64_t words);
  /// Operand of `words` words at an address of the CPU program.
  OperandRange operand(nn::Address place, std::int64_t words) const;
  /// Largest batch of the program, in samples.
  std::int64_t max_batch() const { return max_batch_; }
  /// Layout of the states.
  const nn::StateFormat& state_format() const { return state_format_; }

  /// Fuses epilogues, places barriers, resolves operands to words of the slab, and returns the program.
  ///
  /// `arena_words` is the size of the values.
  BlockProgram finish(std::int64_t arena_words) &&;

 private:
  const nn::StateFormat& state_format_;
  std::int64_t max_batch_;
  std::int64_t scratch_ = 0;
  std::vector<EmittedCall> calls_;
};

/// Function that lowers one call of the step to block calls.
using Emit = void (*)(const nn::Binding<float>&, Emitter&);

/// Lowering functions by operator name.
using EmitTable = std::map<std::string, Emit, std::less<>>;

/// Lowering functions of all supported operators.
EmitTable emit_table();

/// Adds linear layers, convolutions and matrix products.
void add_dense_calls(EmitTable& table);
/// Adds activations, element-wise arithmetic, softmax and dropout.
void add_elementwise_calls(EmitTable& table);
/// Adds normalisations, pools, means, data movement, embeddings and losses.
void add_other_calls(EmitTable& table);

}  // namespace lanista::device
