// Lowers a step to block calls. The lowering, the layouts and the memory plan are those of the CPU.
#include "lanista/exec/backends/cuda_blocks/block_program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lanista/base/check.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/sections.h"

namespace lanista::device {
namespace {

using block::Call;

constexpr std::int64_t kWord = 4;

Error unsupported_operator(const std::string& what) {
  return {.code = Code::kUnimplemented,
          .message = what + " is not supported by the block backend; run on the CPU (run.devices: [cpu])",
          .where = {}};
}

std::int64_t words_of(const graph::ValueType& type, std::int64_t max_batch) {
  const std::int64_t elements = program::ElementCount(type.shape).at(max_batch);
  return type.dtype == graph::DType::kByte ? (elements + kWord - 1) / kWord : elements;
}

bool overlap(const OperandRange& a, const OperandRange& b) {
  return a.part == b.part && a.begin < b.begin + b.words && b.begin < a.begin + a.words;
}

// Returns true if the second call may not start before the first is done.
bool depends(const EmittedCall& first, const EmittedCall& second) {
  for (const OperandRange& a : first.at) {
    for (const OperandRange& b : second.at) {
      if ((a.written || b.written) && overlap(a, b)) return true;
    }
  }
  return false;
}

// A call waits if it depends on a call since the last barrier.
void insert_barriers(std::vector<EmittedCall>& calls) {
  std::vector<const EmittedCall*> open;
  for (EmittedCall& call : calls) {
    call.call.needs_barrier =
        std::ranges::any_of(open, [&](const EmittedCall* each) { return depends(*each, call); }) ? 1 : 0;
    if (call.call.needs_barrier != 0 || call.has_phases) open.clear();
    open.push_back(&call);
  }
}

// The bias gradient of a convolution sums values that its weight gradient reads. Both are long sums of few outputs, so
// one call computes both.
void fuse_bias_gradients(std::vector<EmittedCall>& calls) {
  for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
    EmittedCall &weights = calls[i], &sums = calls[i + 1];
    if (weights.call.op != block::kTapWeights || sums.call.op != block::kColumnSum) continue;
    if (weights.at[1].part != sums.at[0].part || weights.at[1].begin != sums.at[0].begin) continue;
    weights.at[2] = sums.at[1];
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

bool same(const OperandRange& a, const OperandRange& b) {
  return a.part == b.part && a.begin == b.begin && a.words == b.words;
}

bool touches(const EmittedCall& call, const OperandRange& operand, bool writing) {
  return std::ranges::any_of(
      call.at, [&](const OperandRange& each) { return (each.written || !writing) && overlap(each, operand); });
}

// Operand of the results that an epilogue may change; none if the call supports no epilogue.
std::optional<std::size_t> epilogue_target(const EmittedCall& call) {
  const int* n = call.call.n;
  if (call.call.after != block::kNoEpilogue) return {};
  switch (call.call.op) {
    case block::kProduct:
      return n[11] == 0 && n[12] == 1 && n[19] == 0 ? std::optional<std::size_t>(3) : std::nullopt;
    case block::kTaps:
    case block::kDepthwise:
      return n[15] == 0 ? std::optional<std::size_t>(3) : std::nullopt;
    case block::kBatchNorm:
      return 5;
    case block::kBinary:
      return n[2] == block::kAdd ? std::optional<std::size_t>(2) : std::nullopt;
    default:
      return {};
  }
}

// The epilogue that replaces an in-place call, and the operand that its gate reads.
block::Epilogue epilogue_of(const EmittedCall& call, const OperandRange& value, OperandRange& saved) {
  const auto in_place = [&](std::size_t in, std::size_t out) {
    return same(call.at[in], value) && same(call.at[out], value);
  };
  const int which = call.call.n[2];
  switch (call.call.op) {
    case block::kActivation:
      return which == block::kRelu && in_place(0, 1) ? block::kReluEpilogue : block::kNoEpilogue;
    case block::kParametricActivation:
      return which == block::kClipped && in_place(0, 1) ? block::kClipEpilogue : block::kNoEpilogue;
    case block::kActivationGrad:
      saved = call.at[0];
      return which == block::kRelu && in_place(1, 2) ? block::kReluGradEpilogue : block::kNoEpilogue;
    case block::kParametricActivationGrad:
      saved = call.at[0];
      return which == block::kClipped && in_place(1, 2) ? block::kClipGradEpilogue : block::kNoEpilogue;
    default:
      return block::kNoEpilogue;
  }
}

// A call that only transforms a value which another call has just stored becomes the epilogue of that call. The bits
// are the same, and memory is read once less. No call may read the value between them.
void fuse_epilogues(std::vector<EmittedCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::optional<std::size_t> result = epilogue_target(calls[i]);
    if (!result) continue;
    const OperandRange value = calls[i].at[*result];
    std::size_t j = i + 1;
    while (j < calls.size() && !touches(calls[j], value, false)) ++j;
    if (j == calls.size()) continue;
    OperandRange saved;
    const block::Epilogue after = epilogue_of(calls[j], value, saved);
    if (after == block::kNoEpilogue || overlap(saved, value)) continue;
    const auto writes_saved = [&](const EmittedCall& each) { return touches(each, saved, true); };
    const auto from = calls.begin() + static_cast<std::ptrdiff_t>(i),
               to = calls.begin() + static_cast<std::ptrdiff_t>(j);
    if (std::any_of(from, to, writes_saved)) continue;
    calls[i].call.after = after;
    calls[i].call.x[2] = calls[j].call.x[0];
    calls[i].call.x[3] = calls[j].call.x[1];
    calls[i].at[block::kGateOperand] = saved;
    calls.erase(to);
  }
}

// A copy of the CPU's kernel table, with kernels that emit a call instead of running it.
program::KernelTable<float> emitting_table(const program::KernelTable<float>& cpu, Emitter& emitter) {
  program::KernelTable<float> table;
  for (const auto& [name, emit] : emit_table()) {
    program::KernelEntry<float> entry = cpu.at(name);
    entry.batch_reduction = nullptr;
    entry.prepare = [emit = emit, &emitter](const program::Binding<float>& b) {
      emit(b, emitter);
      return program::Run<float>{};
    };
    table.emplace(name, std::move(entry));
  }
  return table;
}

void emit_commit(const autodiff::TrainingStep& train, const program::StateFormat& state_format, Emitter& emitter) {
  const program::StateLayout& layout = state_format.layout();
  const std::int64_t count = layout.parameters;
  const OperandRange gradients{SlabRegion::kGradient, 0, count, false};
  OperandRange factor = emitter.scratch(1);
  const std::int64_t blocks = (count + 1023) / 1024;
  emitter.add(block::kClip, {count}, {gradients, factor, emitter.scratch(2 * 9 * blocks)}).has_phases = true;
  factor.written = false;
  const auto slots = static_cast<std::int64_t>(layout.slots.size());
  const std::int64_t between = slots > 1 ? (state_format.part_offset(3) - state_format.part_offset(2)) / kWord : 0;
  const OperandRange first{slots > 0 ? SlabRegion::kState : SlabRegion::kNowhere, state_format.part_offset(2) / kWord,
                           (state_format.bytes() - state_format.part_offset(2)) / kWord, true};
  const std::int64_t rule = std::ranges::find(kUpdateRuleNames, train.options.optimizer) - kUpdateRuleNames;
  emitter.add(block::kUpdate, {rule, between},
              {gradients, OperandRange{SlabRegion::kState, 0, count, true}, first, factor});
  for (const program::Range& run : layout.renewed) {
    emitter.add(block::kCopy, {run.count, 0},
                {OperandRange{SlabRegion::kNewBuffer, run.begin, run.count, false},
                 OperandRange{SlabRegion::kState, state_format.part_offset(1) / kWord + run.begin, run.count, true}});
  }
}

}  // namespace

EmittedCall& Emitter::add(block::Op op, std::vector<std::int64_t> sizes, std::vector<OperandRange> spots) {
  LANISTA_CHECK(sizes.size() <= block::kSizes && spots.size() <= block::kMaxOperands, "a call has too many sizes");
  EmittedCall& to = calls_.emplace_back();
  to.call.op = op;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    LANISTA_CHECK(sizes[i] >= INT32_MIN && sizes[i] <= INT32_MAX, "a size exceeds 32 bits");
    to.call.n[i] = static_cast<int>(sizes[i]);
  }
  std::ranges::copy(spots, to.at.begin());
  return to;
}

OperandRange Emitter::operand(program::Address place, std::int64_t words) const {
  const std::int64_t at = place.offset / kWord;
  LANISTA_CHECK(place.offset % kWord == 0, "a value does not begin at a word");
  switch (place.space) {
    case program::MemorySpace::kArena:
      return {SlabRegion::kArena, at, words, false};
    case program::MemorySpace::kParameter:
      return {SlabRegion::kState, at, words, false};
    case program::MemorySpace::kBuffer:
      return {SlabRegion::kState, state_format_.part_offset(1) / kWord + at, words, false};
    case program::MemorySpace::kSlot:
      return {SlabRegion::kState, state_format_.part_offset(2) / kWord + at, words, false};
    case program::MemorySpace::kGradient:
      return {SlabRegion::kGradient, at, words, false};
    case program::MemorySpace::kNewBuffer:
      return {SlabRegion::kNewBuffer, at, words, false};
    case program::MemorySpace::kInput:
      return {SlabRegion::kInput, 0, 0, false};
    case program::MemorySpace::kTarget:
      return {SlabRegion::kTarget, 0, 0, false};
    case program::MemorySpace::kEdge:
      break;
  }
  LANISTA_CHECK(false, "a value belongs to another stage");
  return {};
}

OperandRange Emitter::read(const program::Binding<float>& b, std::size_t input) const {
  return operand(b.in[input], words_of(b.call.in_types[input], max_batch_));
}

OperandRange Emitter::write(const program::Binding<float>& b, std::size_t output) const {
  OperandRange to = operand(b.out[output], words_of(b.call.out_types[output], max_batch_));
  to.written = true;
  return to;
}

OperandRange Emitter::scratch(std::int64_t words) {
  const OperandRange to{SlabRegion::kScratch, scratch_, words, true};
  scratch_ += (words + 15) / 16 * 16;
  return to;
}

BlockProgram Emitter::finish(std::int64_t arena_words) && {
  std::ranges::stable_partition(calls_, [](const EmittedCall& each) { return each.reads_only_parameters; });
  fuse_bias_gradients(calls_);
  fuse_epilogues(calls_);
  insert_barriers(calls_);
  const auto aligned = [](std::int64_t words) { return program::align_up(words * kWord) / kWord; };
  std::map<SlabRegion, std::int64_t> begin;
  std::int64_t end = 0;
  const auto place_region = [&](SlabRegion part, std::int64_t words) {
    begin[part] = end;
    end += aligned(words);
  };
  place_region(SlabRegion::kState, state_format_.bytes() / kWord);
  place_region(SlabRegion::kGradient, state_format_.layout().parameters);
  place_region(SlabRegion::kNewBuffer, state_format_.layout().buffers);
  place_region(SlabRegion::kArena, arena_words);
  place_region(SlabRegion::kScratch, scratch_);
  BlockProgram program;
  program.slab_words = end;
  LANISTA_CHECK(end <= INT32_MAX, "a lane needs more than 8 GiB");
  for (EmittedCall& each : calls_) {
    for (std::size_t i = 0; i < each.at.size(); ++i) {
      const OperandRange& operand = each.at[i];
      each.call.at[i] = operand.part == SlabRegion::kNowhere  ? block::kNowhere
                        : operand.part == SlabRegion::kInput  ? block::kInput
                        : operand.part == SlabRegion::kTarget ? block::kTarget
                                                              : static_cast<int>(begin[operand.part] + operand.begin);
    }
    program.calls.push_back(each.call);
  }
  return program;
}

EmitTable emit_table() {
  EmitTable table;
  add_dense_calls(table);
  add_elementwise_calls(table);
  add_other_calls(table);
  return table;
}

Result<BlockProgram> block_program(const autodiff::TrainingStep& train, const program::StateFormat& state_format,
                                   const graph::OpTable& ops, std::int64_t max_batch) {
  const program::KernelTable<float> cpu = program::kernel_table<float>();
  Emitter emitter(state_format, max_batch);
  const program::KernelTable<float> table = emitting_table(cpu, emitter);
  const std::vector<program::Fusion> fusions = program::fusions_of(table);
  const program::LoweredGraph lowered =
      program::lower(train.graph, train.types, train.compute, program::outputs_read_after(train), {ops, fusions});
  for (const program::KernelCall& call : lowered.calls) {
    if (table.contains(call.kernel)) continue;
    return unsupported_operator("operator '" + call.op + "' (node %" + std::to_string(call.id.value) + ")");
  }
  if (std::ranges::find(kUpdateRuleNames, train.options.optimizer) == std::end(kUpdateRuleNames)) {
    return unsupported_operator("optimiser '" + train.options.optimizer + "'");
  }
  const program::SectionInputs<float> inputs{.fixed_addresses = {},
                                             .layouts = {},
                                             .live_out = {},
                                             .ops = ops,
                                             .table = table,
                                             .kernels = kernels::kernels<float>(kernels::Isa::kPortable),
                                             .max_batch = max_batch};
  const program::Section<float> section = program::train_section<float>(train, lowered, state_format.layout(), inputs);
  for (const program::CommitInput& each : program::commit_inputs<float>(train, lowered, state_format.layout())) {
    const program::Address from = section.addresses.at(each.value);
    if (from.space == each.address.space && from.offset == each.address.offset) continue;
    OperandRange to = emitter.operand(each.address, each.range.count);
    to.written = true;
    emitter.add(block::kCopy, {each.range.count, 0}, {emitter.operand(from, each.range.count), to});
  }
  emitter.add(block::kMeanLoss, {}, {emitter.operand(section.addresses.at(lowered.source(train.loss)), max_batch)});
  emit_commit(train, state_format, emitter);
  BlockProgram program = std::move(emitter).finish(section.arena_bytes / kWord);
  program.has_random_masks = section.has_random_masks;
  return program;
}

}  // namespace lanista::device
