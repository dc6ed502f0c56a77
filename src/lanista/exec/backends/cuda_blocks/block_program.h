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

/// A training step as the calls of a block, and the memory of a lane that they work on, in words of four bytes: the
/// state as nn::StateFormat has it, gradients, new buffers, values, scratch.
struct BlockProgram {
  std::vector<block::Call> calls;
  std::int64_t slab_words = 0;
  bool has_random_masks = false;
  double flops = 0;  ///< of a step with a full batch

  std::int64_t slab_bytes() const { return 4 * slab_words; }
};

/// Errors: kUnimplemented, an operator or optimiser that has no form here, by name. `state_format` is how states of the
/// step lie.
Result<BlockProgram> block_program(const step::TrainingStep& train, const nn::StateFormat& state_format,
                                   const graph::OpTable& ops, std::int64_t max_batch);

/// Operators of steps that have a form here, updates too, in order of their names.
std::vector<std::string> block_operators();

/// Parts of a lane's slab; those from kScratch on are this room's own.
enum class SlabRegion : std::uint8_t { kState, kGradient, kNewBuffer, kArena, kScratch, kInput, kTarget, kNowhere };

/// Words that a call reads or writes.
struct OperandRange {
  SlabRegion part = SlabRegion::kNowhere;
  std::int64_t begin = 0, words = 0;
  bool written = false;
};

/// A call before it is known where parts begin.
struct EmittedCall {
  block::Call call{};
  std::array<OperandRange, block::kMaxOperands> at{};
  bool reads_only_parameters = false;  ///< reads parameters alone: it may run before all others
  bool has_phases = false;             ///< it has phases
};

/// Takes down the calls of a step.
class Emitter {
 public:
  Emitter(const nn::StateFormat& state_format, std::int64_t max_batch)
      : state_format_(state_format), max_batch_(max_batch) {}

  EmittedCall& add(block::Op op, std::vector<std::int64_t> sizes, std::vector<OperandRange> spots);
  OperandRange read(const nn::Binding<float>& b, std::size_t input) const;
  OperandRange write(const nn::Binding<float>& b, std::size_t output) const;
  OperandRange read(const nn::Binding<float>& b, std::size_t input, bool exists) const {
    return exists ? read(b, input) : OperandRange{};
  }
  OperandRange scratch(std::int64_t words);
  OperandRange operand(nn::Address place, std::int64_t words) const;
  std::int64_t max_batch() const { return max_batch_; }
  const nn::StateFormat& state_format() const { return state_format_; }

  /// Puts the calls in their places. `arena_words`: of the values.
  BlockProgram finish(std::int64_t arena_words) &&;

 private:
  const nn::StateFormat& state_format_;
  std::int64_t max_batch_;
  std::int64_t scratch_ = 0;
  std::vector<EmittedCall> calls_;
};

/// What turns a call of the step into calls of a block.
using Emit = void (*)(const nn::Binding<float>&, Emitter&);
using EmitTable = std::map<std::string, Emit, std::less<>>;
EmitTable emit_table();

// Its parts.
void add_dense_calls(EmitTable& table);
void add_elementwise_calls(EmitTable& table);
void add_other_calls(EmitTable& table);

}  // namespace lanista::device
