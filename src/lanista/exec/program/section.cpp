#include "lanista/exec/program/section.h"

#include "lanista/base/check.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/model/autodiff/liveness.h"

namespace lanista::nn {
namespace {

using graph::Port;

std::vector<Port> outputs(const Call& call) {
  std::vector<Port> ports;
  for (std::uint32_t slot = 0; slot < call.out_types.size(); ++slot) ports.push_back({call.id, slot});
  return ports;
}

// The planner reads graphs, and after lowering the calls are another graph than the step's.
template <class T>
step::MemoryPlan plan(const Lowered& lowered, const SectionInputs<T>& inputs) {
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
    if (call == calls.end() || inputs.fixed.contains(port)) return 0;
    const graph::ValueType& type = call->second->out_types[port.slot];
    return Count(type.shape).at(inputs.max_batch) * element_bytes(type.dtype, sizeof(T));
  };
  const auto outputs_of = [&](graph::NodeId id) { return outputs(*calls.at(id)); };
  const auto in_place = [&](graph::NodeId id) { return inputs.table.find(calls.at(id)->kernel)->second.in_place; };
  return step::plan_memory(std::move(builder).take(), order, {inputs.keep.begin(), inputs.keep.end()}, size, outputs_of,
                           in_place);
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
  const step::MemoryPlan memory = plan(lowered, inputs);
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
    const auto entry = inputs.table.find(call.kernel);
    const graph::OpDef* def = inputs.ops.find(call.op);
    LANISTA_CHECK(entry != inputs.table.end() && def != nullptr, "no kernel for " + call.kernel);
    Binding<T> binding{.call = call,
                       .def = *def,
                       .in = {},
                       .out = {},
                       .k = inputs.kernels,
                       .max_batch = inputs.max_batch,
                       .threads = inputs.threads,
                       .scratch = section.scratch,
                       .numbers = section.numbers};
    for (const Port port : call.inputs) binding.in.push_back(place(port));
    for (const Port port : outputs(call)) binding.out.push_back(place(port));
    if (inputs.in_parts && entry->second.exchange) {
      section.exchanges.push_back({section.calls.size(), entry->second.exchange(binding)});
      section.calls.emplace_back();
    } else {
      section.calls.push_back(entry->second.prepare(binding));
    }
    section.plan.push_back(call_line(inputs.line, binding, inputs.layouts));
    if (def->random) section.draws_masks = true;
  }
  return section;
}

template Result<void> check_kernels(const Lowered&, const SectionInputs<float>&);
template Result<void> check_kernels(const Lowered&, const SectionInputs<double>&);
template Section<float> build_section(const Lowered&, const SectionInputs<float>&);
template Section<double> build_section(const Lowered&, const SectionInputs<double>&);

}  // namespace lanista::nn
