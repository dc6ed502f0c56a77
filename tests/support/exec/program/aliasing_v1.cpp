#include "support/exec/program/aliasing_v1.h"

#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/sections.h"
#include "support/exec/program/test_models.h"

namespace lanista::program::testing {
namespace {

using graph::Port;

const std::vector<std::size_t>& old_choices(const std::string& kernel) {
  static const std::map<std::string, std::vector<std::size_t>> kChoices{
      {"relu", {0}},   {"relu_grad", {1}},       {"clip", {0}},           {"clip_grad", {1}}, {"gelu_grad", {1}},
      {"add", {0, 1}}, {"batch_norm_grad", {3}}, {"layer_norm_grad", {3}}};
  static const std::vector<std::size_t> kNone;
  const auto found = kChoices.find(kernel);
  return found == kChoices.end() ? kNone : found->second;
}

// Sizes in lines of 64 bytes, as the planner compares them.
std::int64_t lines(const graph::ValueType& type) {
  constexpr std::int64_t kBatch = 32;
  return (ElementCount(type.shape).at(kBatch) * element_bytes(type.dtype, sizeof(float)) + 63) / 64;
}

// The values of the arena: the value that each one replaces, its size and its last use.
struct OutputAddresses {
  std::map<Port, Port> of;
  std::map<Port, std::int64_t> size;
  std::map<Port, std::size_t> last;

  OutputAddresses(const LoweredGraph& lowered, const std::set<Port>& live_out, const std::set<Port>& outside_arena) {
    for (std::size_t i = 0; i < lowered.calls.size(); ++i) {
      const KernelCall& call = lowered.calls[i];
      for (const Port port : call.inputs) {
        if (of.contains(port)) last[port] = i;
      }
      for (std::uint32_t slot = 0; slot < call.out_types.size(); ++slot) {
        const Port port{call.id, slot};
        if (outside_arena.contains(port)) continue;
        of[port] = port;
        size[port] = lines(call.out_types[slot]);
        last[port] = i;
      }
    }
    for (const Port port : live_out) {
      if (of.contains(port)) last[port] = lowered.calls.size();
    }
  }
};

}  // namespace

bool v1_rule_overwrote_value_read_again(const LoweredGraph& lowered, const std::set<Port>& live_out,
                                        const std::set<Port>& outside_arena) {
  OutputAddresses places(lowered, live_out, outside_arena);
  bool wrong = false;
  for (std::size_t i = 0; i < lowered.calls.size(); ++i) {
    const KernelCall& call = lowered.calls[i];
    const Port output{call.id, 0};
    if (!places.of.contains(output)) continue;
    for (const std::size_t choice : old_choices(call.kernel)) {
      if (choice >= call.inputs.size() || !places.of.contains(call.inputs[choice])) continue;
      const Port place = places.of.at(call.inputs[choice]);
      if (places.last[place] != i || places.size[place] != places.size[output]) continue;
      // All other kernels of the list read an element before they write it, so they may work in place.
      for (std::size_t slot = 2; call.kernel == "add" && slot < call.inputs.size(); ++slot) {
        const auto found = places.of.find(call.inputs[slot]);
        wrong = wrong || (found != places.of.end() && found->second == place);
      }
      places.of[output] = place;
      places.last[place] = places.last[output];
      break;
    }
  }
  return wrong;
}

bool v1_rule_overwrote_value_read_again(const autodiff::TrainingStep& train, const autodiff::InferenceStep& infer) {
  const LoweredGraph training =
      lower(train.graph, train.types, train.compute, outputs_read_after(train), shipped_lowering_rules());
  const Port loss = training.source(train.loss);
  std::set<Port> outside_arena;
  for (const Port port : outputs_read_after(train)) outside_arena.insert(training.source(port));
  outside_arena.erase(loss);
  const LoweredGraph inference =
      lower(infer.graph, infer.types, infer.compute, {infer.prediction}, shipped_lowering_rules());
  return v1_rule_overwrote_value_read_again(training, {loss}, outside_arena) ||
         v1_rule_overwrote_value_read_again(inference, {inference.source(infer.prediction)}, {});
}

}  // namespace lanista::program::testing
