// A step's calls, taken down for a block: the lowering, the layouts and the plan of memory are the CPU's.
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

const std::map<std::string, block::Optimizer, std::less<>>& optimizers() {
  static const std::map<std::string, block::Optimizer, std::less<>> all{{"sgd", block::kSgd},
                                                                        {"adam", block::kAdam},
                                                                        {"adamw", block::kAdamW},
                                                                        {"lion", block::kLion},
                                                                        {"rmsprop", block::kRmsprop}};
  return all;
}

Error without_form(const std::string& what) {
  return {.code = Code::kUnimplemented,
          .message = what + " has no form in a block of a device; run on the CPU (run.devices: [cpu])",
          .where = {}};
}

std::int64_t words_of(const graph::ValueType& type, std::int64_t max_batch) {
  const std::int64_t elements = nn::Count(type.shape).at(max_batch);
  return type.dtype == graph::DType::kByte ? (elements + kWord - 1) / kWord : elements;
}

bool overlap(const Spot& a, const Spot& b) {
  return a.part == b.part && a.begin < b.begin + b.words && b.begin < a.begin + a.words;
}

// Whether the second may not begin before the first is done.
bool depends(const EmittedCall& first, const EmittedCall& second) {
  for (const Spot& a : first.at) {
    for (const Spot& b : second.at) {
      if ((a.written || b.written) && overlap(a, b)) return true;
    }
  }
  return false;
}

// A call waits where it depends on one since the last barrier.
void place_barriers(std::vector<EmittedCall>& calls) {
  std::vector<const EmittedCall*> open;
  for (EmittedCall& call : calls) {
    call.call.waits = std::ranges::any_of(open, [&](const EmittedCall* each) { return depends(*each, call); }) ? 1 : 0;
    if (call.call.waits != 0 || call.barriers) open.clear();
    open.push_back(&call);
  }
}

// The bias gradient of a convolution sums what its weight gradient reads: both are long chains of few outputs, and go
// together.
void join_sums(std::vector<EmittedCall>& calls) {
  for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
    EmittedCall &weights = calls[i], &sums = calls[i + 1];
    if (weights.call.op != block::kTapWeights || sums.call.op != block::kColumnSum) continue;
    if (weights.at[1].part != sums.at[0].part || weights.at[1].begin != sums.at[0].begin) continue;
    weights.at[2] = sums.at[1];
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

bool same(const Spot& a, const Spot& b) { return a.part == b.part && a.begin == b.begin && a.words == b.words; }

bool touches(const EmittedCall& call, const Spot& spot, bool writing) {
  return std::ranges::any_of(call.at,
                             [&](const Spot& each) { return (each.written || !writing) && overlap(each, spot); });
}

// Where a call stores the results that another may finish; none of calls that finish nothing.
std::optional<std::size_t> result_of(const EmittedCall& call) {
  const int* n = call.call.n;
  if (call.call.after != block::kNothing) return {};
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

// What a call does to a value in its own place: a finish, and what its gate reads.
block::After finish_of(const EmittedCall& call, const Spot& value, Spot& saved) {
  const auto in_place = [&](std::size_t in, std::size_t out) {
    return same(call.at[in], value) && same(call.at[out], value);
  };
  const int which = call.call.n[2];
  switch (call.call.op) {
    case block::kActivation:
      return which == block::kRelu && in_place(0, 1) ? block::kThenRelu : block::kNothing;
    case block::kWithNumbers:
      return which == block::kClipped && in_place(0, 1) ? block::kThenClip : block::kNothing;
    case block::kActivationGrad:
      saved = call.at[0];
      return which == block::kRelu && in_place(1, 2) ? block::kReluGate : block::kNothing;
    case block::kWithNumbersGrad:
      saved = call.at[0];
      return which == block::kClipped && in_place(1, 2) ? block::kClipGate : block::kNothing;
    default:
      return block::kNothing;
  }
}

// A call that only goes over what another has just stored becomes that one's last act: to the same bits, and a pass
// over memory less. Nobody may have seen the value between them.
void join_finish(std::vector<EmittedCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::optional<std::size_t> result = result_of(calls[i]);
    if (!result) continue;
    const Spot value = calls[i].at[*result];
    std::size_t j = i + 1;
    while (j < calls.size() && !touches(calls[j], value, false)) ++j;
    if (j == calls.size()) continue;
    Spot saved;
    const block::After after = finish_of(calls[j], value, saved);
    if (after == block::kNothing || overlap(saved, value)) continue;
    const auto writes_saved = [&](const EmittedCall& each) { return touches(each, saved, true); };
    const auto from = calls.begin() + static_cast<std::ptrdiff_t>(i),
               to = calls.begin() + static_cast<std::ptrdiff_t>(j);
    if (std::any_of(from, to, writes_saved)) continue;
    calls[i].call.after = after;
    calls[i].call.x[2] = calls[j].call.x[0];
    calls[i].call.x[3] = calls[j].call.x[1];
    calls[i].at[block::kSaved] = saved;
    calls.erase(to);
  }
}

// A kernel of the CPU's table that takes its call down instead of running it.
nn::KernelTable<float> taking_down(const nn::KernelTable<float>& cpu, Emitter& emitter) {
  nn::KernelTable<float> table;
  for (const auto& [name, emit] : emit_table()) {
    nn::KernelEntry<float> entry = cpu.at(name);
    entry.exchange = nullptr;
    entry.prepare = [emit = emit, &emitter](const nn::Binding<float>& b) {
      emit(b, emitter);
      return nn::Run<float>{};
    };
    table.emplace(name, std::move(entry));
  }
  return table;
}

void emit_commit(const step::TrainingStep& train, const nn::StateKind& kind, Emitter& emitter) {
  const nn::StateLayout& layout = kind.layout();
  const std::int64_t count = layout.parameters;
  const Spot gradients{Part::kGradient, 0, count, false};
  Spot factor = emitter.scratch(1);
  const std::int64_t blocks = (count + 1023) / 1024;
  emitter.add(block::kClip, {count}, {gradients, factor, emitter.scratch(2 * 9 * blocks)}).barriers = true;
  factor.written = false;
  const auto slots = static_cast<std::int64_t>(layout.slots.size());
  const std::int64_t between = slots > 1 ? (kind.part_offset(3) - kind.part_offset(2)) / kWord : 0;
  const Spot first{slots > 0 ? Part::kState : Part::kNowhere, kind.part_offset(2) / kWord,
                   (kind.bytes() - kind.part_offset(2)) / kWord, true};
  emitter.add(block::kUpdate, {optimizers().find(train.options.optimizer)->second, between},
              {gradients, Spot{Part::kState, 0, count, true}, first, factor});
  for (const nn::Range& run : layout.renewed) {
    emitter.add(block::kCopy, {run.count, 0},
                {Spot{Part::kNewBuffer, run.begin, run.count, false},
                 Spot{Part::kState, kind.part_offset(1) / kWord + run.begin, run.count, true}});
  }
}

}  // namespace

EmittedCall& Emitter::add(block::Op op, std::vector<std::int64_t> sizes, std::vector<Spot> spots) {
  LANISTA_CHECK(sizes.size() <= block::kSizes && spots.size() <= block::kPlaces, "a call of too many sizes");
  EmittedCall& to = calls_.emplace_back();
  to.call.op = op;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    LANISTA_CHECK(sizes[i] >= INT32_MIN && sizes[i] <= INT32_MAX, "a size beyond 32 bits");
    to.call.n[i] = static_cast<int>(sizes[i]);
  }
  std::ranges::copy(spots, to.at.begin());
  return to;
}

Spot Emitter::spot(nn::Place place, std::int64_t words) const {
  const std::int64_t at = place.offset / kWord;
  LANISTA_CHECK(place.offset % kWord == 0, "a value that begins inside a word");
  switch (place.space) {
    case nn::Space::kArena:
      return {Part::kArena, at, words, false};
    case nn::Space::kParameter:
      return {Part::kState, at, words, false};
    case nn::Space::kBuffer:
      return {Part::kState, kind_.part_offset(1) / kWord + at, words, false};
    case nn::Space::kSlot:
      return {Part::kState, kind_.part_offset(2) / kWord + at, words, false};
    case nn::Space::kGradient:
      return {Part::kGradient, at, words, false};
    case nn::Space::kNewBuffer:
      return {Part::kNewBuffer, at, words, false};
    case nn::Space::kInput:
      return {Part::kInput, 0, 0, false};
    case nn::Space::kTarget:
      return {Part::kTarget, 0, 0, false};
    case nn::Space::kEdge:
      break;
  }
  LANISTA_CHECK(false, "a value of another stage");
  return {};
}

Spot Emitter::read(const nn::Binding<float>& b, std::size_t input) const {
  return spot(b.in[input], words_of(b.call.in_types[input], max_batch_));
}

Spot Emitter::write(const nn::Binding<float>& b, std::size_t output) const {
  Spot to = spot(b.out[output], words_of(b.call.out_types[output], max_batch_));
  to.written = true;
  return to;
}

Spot Emitter::scratch(std::int64_t words) {
  const Spot to{Part::kScratch, scratch_, words, true};
  scratch_ += (words + 15) / 16 * 16;
  return to;
}

BlockProgram Emitter::finish(std::int64_t arena_words) && {
  std::ranges::stable_partition(calls_, [](const EmittedCall& each) { return each.early; });
  join_sums(calls_);
  join_finish(calls_);
  place_barriers(calls_);
  const auto aligned = [](std::int64_t words) { return nn::align_up(words * kWord) / kWord; };
  std::map<Part, std::int64_t> begin;
  std::int64_t end = 0;
  const auto lay = [&](Part part, std::int64_t words) {
    begin[part] = end;
    end += aligned(words);
  };
  lay(Part::kState, kind_.bytes() / kWord);
  lay(Part::kGradient, kind_.layout().parameters);
  lay(Part::kNewBuffer, kind_.layout().buffers);
  lay(Part::kArena, arena_words);
  lay(Part::kScratch, scratch_);
  BlockProgram program;
  program.slab_words = end;
  LANISTA_CHECK(end <= INT32_MAX, "a lane of more than 8 GiB");
  for (EmittedCall& each : calls_) {
    for (std::size_t i = 0; i < each.at.size(); ++i) {
      const Spot& spot = each.at[i];
      each.call.at[i] = spot.part == Part::kNowhere  ? block::kNowhere
                        : spot.part == Part::kInput  ? block::kInput
                        : spot.part == Part::kTarget ? block::kTarget
                                                     : static_cast<int>(begin[spot.part] + spot.begin);
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

std::vector<std::string> block_operators() {
  std::vector<std::string> names;
  for (const auto& [name, emit] : emit_table()) names.push_back(name);
  for (const auto& [name, rule] : optimizers()) names.push_back(name + "_update");
  std::ranges::sort(names);
  return names;
}

Result<BlockProgram> block_program(const step::TrainingStep& train, const nn::StateKind& kind,
                                   const graph::OpTable& ops, std::int64_t max_batch) {
  const nn::KernelTable<float> cpu = nn::kernel_table<float>();
  Emitter emitter(kind, max_batch);
  const nn::KernelTable<float> table = taking_down(cpu, emitter);
  const std::vector<nn::Fusion> fusions = nn::fusions_of(table);
  const nn::Lowered lowered = nn::lower(train.graph, train.types, train.compute, nn::results_of(train), {ops, fusions});
  for (const nn::Call& call : lowered.calls) {
    if (table.contains(call.kernel)) continue;
    return without_form("operator '" + call.op + "' (node %" + std::to_string(call.id.value) + ")");
  }
  if (!optimizers().contains(train.options.optimizer)) {
    return without_form("optimiser '" + train.options.optimizer + "'");
  }
  const nn::SectionInputs<float> inputs{.fixed = {},
                                        .layouts = {},
                                        .keep = {},
                                        .ops = ops,
                                        .table = table,
                                        .kernels = kernels::kernels<float>(kernels::Isa::kPortable),
                                        .max_batch = max_batch};
  const nn::Section<float> section = nn::train_section<float>(train, lowered, kind.layout(), inputs);
  for (const nn::Delivery& each : nn::deliveries<float>(train, lowered, kind.layout())) {
    const nn::Place from = section.places.at(each.value);
    if (from.space == each.place.space && from.offset == each.place.offset) continue;
    Spot to = emitter.spot(each.place, each.range.count);
    to.written = true;
    emitter.add(block::kCopy, {each.range.count, 0}, {emitter.spot(from, each.range.count), to});
  }
  emitter.add(block::kMeanLoss, {}, {emitter.spot(section.places.at(lowered.source(train.loss)), max_batch)});
  emit_commit(train, kind, emitter);
  BlockProgram program = std::move(emitter).finish(section.arena_bytes / kWord);
  program.draws_masks = section.draws_masks;
  return program;
}

}  // namespace lanista::device
