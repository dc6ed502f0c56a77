#include "support/exec/program/old_aliasing.h"

#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/sections.h"
#include "support/exec/program/test_models.h"

namespace lanista::nn::testing {
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

// In lines of 64 bytes, as the planner compares sizes.
std::int64_t lines(const graph::ValueType& type) {
  constexpr std::int64_t kBatch = 32;
  return (Count(type.shape).at(kBatch) * element_bytes(type.dtype, sizeof(float)) + 63) / 64;
}

// The values of the arena: in whose place each lies, and for a place its size and last use.
struct Places {
  std::map<Port, Port> of;
  std::map<Port, std::int64_t> size;
  std::map<Port, std::size_t> last;

  Places(const Lowered& lowered, const std::set<Port>& keep, const std::set<Port>& elsewhere) {
    for (std::size_t i = 0; i < lowered.calls.size(); ++i) {
      const Call& call = lowered.calls[i];
      for (const Port port : call.inputs) {
        if (of.contains(port)) last[port] = i;
      }
      for (std::uint32_t slot = 0; slot < call.out_types.size(); ++slot) {
        const Port port{call.id, slot};
        if (elsewhere.contains(port)) continue;
        of[port] = port;
        size[port] = lines(call.out_types[slot]);
        last[port] = i;
      }
    }
    for (const Port port : keep) {
      if (of.contains(port)) last[port] = lowered.calls.size();
    }
  }
};

}  // namespace

bool old_rule_overwrote_a_value_read_again(const Lowered& lowered, const std::set<Port>& keep,
                                           const std::set<Port>& elsewhere) {
  Places places(lowered, keep, elsewhere);
  bool wrong = false;
  for (std::size_t i = 0; i < lowered.calls.size(); ++i) {
    const Call& call = lowered.calls[i];
    const Port output{call.id, 0};
    if (!places.of.contains(output)) continue;
    for (const std::size_t choice : old_choices(call.kernel)) {
      if (choice >= call.inputs.size() || !places.of.contains(call.inputs[choice])) continue;
      const Port place = places.of.at(call.inputs[choice]);
      if (places.last[place] != i || places.size[place] != places.size[output]) continue;
      // All other kernels of the list read an element wherever it comes before they write it.
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

bool old_rule_overwrote_a_value_read_again(const step::TrainingStep& train, const step::InferenceStep& infer) {
  const Lowered training = lower(train.graph, train.types, train.compute, results_of(train), shipped_facts());
  const Port loss = training.source(train.loss);
  std::set<Port> elsewhere;
  for (const Port port : results_of(train)) elsewhere.insert(training.source(port));
  elsewhere.erase(loss);
  const Lowered inference = lower(infer.graph, infer.types, infer.compute, {infer.prediction}, shipped_facts());
  return old_rule_overwrote_a_value_read_again(training, {loss}, elsewhere) ||
         old_rule_overwrote_a_value_read_again(inference, {inference.source(infer.prediction)}, {});
}

}  // namespace lanista::nn::testing
