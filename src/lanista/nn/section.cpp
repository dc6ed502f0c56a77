#include "lanista/nn/section.h"

#include "lanista/base/check.h"
#include "lanista/nn/plan_lines.h"
#include "lanista/step/liveness.h"

namespace lanista::nn {
namespace {

using graph::Port;

std::vector<Port> outputs(const Call& call) {
  std::vector<Port> ports;
  for (std::uint32_t slot = 0; slot < call.out_types.size(); ++slot) ports.push_back({call.id, slot});
  return ports;
}

// Inputs that a kernel reads, element by element, before it writes there: the result may take their place, which spares
// the caches a value.
std::vector<std::size_t> overwritable_inputs(std::string_view kernel) {
  static const std::map<std::string_view, std::vector<std::size_t>> kInPlace{
      {"relu", {0}},   {"relu_grad", {1}},       {"clip", {0}},           {"clip_grad", {1}}, {"gelu_grad", {1}},
      {"add", {0, 1}}, {"batch_norm_grad", {3}}, {"layer_norm_grad", {3}}};
  const auto found = kInPlace.find(kernel);
  return found == kInPlace.end() ? std::vector<std::size_t>{} : found->second;
}

// The planner reads graphs, and after lowering the calls are another graph than the step's.
step::MemoryPlan plan(const Lowered& lowered, const std::set<Port>& keep, std::int64_t max_batch, std::size_t real,
                      const std::map<Port, Place>& fixed) {
  graph::GraphBuilder builder;
  std::vector<graph::NodeId> order;
  std::map<graph::NodeId, const Call*> calls;
  for (const Call& call : lowered.calls) {
    for (const Port port : call.inputs) {
      if (!builder.peek().contains(port.node)) {
        builder.put({.id = port.node, .op = "parameter", .attrs = {}, .inputs = {}, .label = {}});
      }
    }
    builder.put({.id = call.id, .op = call.kernel, .attrs = {}, .inputs = call.inputs, .label = {}});
    order.push_back(call.id);
    calls[call.id] = &call;
  }
  const auto size = [&](Port port) -> std::int64_t {
    const auto call = calls.find(port.node);
    if (call == calls.end() || fixed.contains(port)) return 0;
    const graph::ValueType& type = call->second->out_types[port.slot];
    return Count(type.shape).at(max_batch) * element_bytes(type.dtype, real);
  };
  const auto outputs_of = [&](graph::NodeId id) { return outputs(*calls.at(id)); };
  const auto overwrites = [&](graph::NodeId id) { return overwritable_inputs(calls.at(id)->kernel); };
  return step::plan_memory(std::move(builder).take(), order, {keep.begin(), keep.end()}, size, outputs_of, overwrites);
}

}  // namespace

template <class T>
Result<void> check_kernels(const Lowered& lowered, const SectionInputs<T>& inputs) {
  for (const Call& call : lowered.calls) {
    if (inputs.table.contains(call.kernel) && inputs.ops.find(call.op) != nullptr) continue;
    return Error{
        .code = Code::kUnimplemented,
        .message = "operator '" + call.op + "' (node %" + std::to_string(call.id.value) + ") has no kernel on the CPU",
        .where = {}};
  }
  return {};
}

template <class T>
Section<T> build_section(const Lowered& lowered, const SectionInputs<T>& inputs) {
  const step::MemoryPlan memory = plan(lowered, inputs.keep, inputs.max_batch, sizeof(T), inputs.fixed);
  Section<T> section;
  section.arena_bytes = memory.bytes;
  section.places = inputs.fixed;
  for (const auto& [port, offset] : memory.offset) section.places.try_emplace(port, Place{Space::kArena, offset});

  const auto place = [&](Port port) {
    const auto found = section.places.find(port);
    LANISTA_CHECK(found != section.places.end(), "value %" + std::to_string(port.node.value) + "." +
                                                     std::to_string(port.slot) + " has no place in memory");
    return found->second;
  };
  for (const Call& call : lowered.calls) {
    const auto prepare = inputs.table.find(call.kernel);
    const graph::OpDef* def = inputs.ops.find(call.op);
    LANISTA_CHECK(prepare != inputs.table.end() && def != nullptr, "no kernel for " + call.kernel);
    Binding<T> binding{.call = call,
                       .def = *def,
                       .in = {},
                       .out = {},
                       .k = inputs.kernels,
                       .max_batch = inputs.max_batch,
                       .scratch = section.scratch,
                       .numbers = section.numbers};
    for (const Port port : call.inputs) binding.in.push_back(place(port));
    for (const Port port : outputs(call)) binding.out.push_back(place(port));
    section.calls.push_back(prepare->second(binding));
    section.plan.push_back(call_line(inputs.line, binding, inputs.layouts));
    if (call.kernel == "dropout_train") section.draws_masks = true;
  }
  return section;
}

template Result<void> check_kernels(const Lowered&, const SectionInputs<float>&);
template Result<void> check_kernels(const Lowered&, const SectionInputs<double>&);
template Section<float> build_section(const Lowered&, const SectionInputs<float>&);
template Section<double> build_section(const Lowered&, const SectionInputs<double>&);

}  // namespace lanista::nn
