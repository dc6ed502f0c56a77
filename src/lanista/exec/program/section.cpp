#include "lanista/exec/program/section.h"

#include "lanista/base/check.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/model/autodiff/memory_plan.h"

namespace lanista::program {
namespace {

using graph::Port;

std::vector<Port> outputs(const KernelCall& call) {
  std::vector<Port> ports;
  for (std::uint32_t slot = 0; slot < call.out_types.size(); ++slot) ports.push_back({call.id, slot});
  return ports;
}

// The memory plan of the calls. The planner reads graphs, and after lowering the calls differ from the step's graph.
template <class T>
autodiff::MemoryPlan plan(const LoweredGraph& lowered, const SectionInputs<T>& inputs) {
  graph::GraphBuilder builder;
  std::vector<graph::NodeId> order;
  std::map<graph::NodeId, const KernelCall*> calls;
  for (const KernelCall& call : lowered.calls) {
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
    if (call == calls.end() || inputs.fixed_addresses.contains(port)) return 0;
    const graph::ValueType& type = call->second->out_types[port.slot];
    return ElementCount(type.shape).at(inputs.max_batch) * element_bytes(type.dtype, sizeof(T));
  };
  const auto outputs_of = [&](graph::NodeId id) { return outputs(*calls.at(id)); };
  const auto in_place = [&](graph::NodeId id) { return inputs.table.find(calls.at(id)->kernel)->second.in_place; };
  return autodiff::plan_memory(std::move(builder).take(), order, {inputs.live_out.begin(), inputs.live_out.end()}, size,
                               outputs_of, in_place);
}

}  // namespace

template <class T>
Result<void> check_kernels(const LoweredGraph& lowered, const SectionInputs<T>& inputs) {
  for (const KernelCall& call : lowered.calls) {
    if (inputs.table.contains(call.kernel) && inputs.ops.find(call.op) != nullptr) continue;
    return Error{
        .code = Code::kUnimplemented,
        .message = "operator '" + call.op + "' (node %" + std::to_string(call.id.value) + ") has no kernel on the CPU",
        .where = {}};
  }
  return {};
}

template <class T>
Section<T> build_section(const LoweredGraph& lowered, const SectionInputs<T>& inputs) {
  const autodiff::MemoryPlan memory = plan(lowered, inputs);
  Section<T> section;
  section.arena_bytes = memory.bytes;
  section.addresses = inputs.fixed_addresses;
  for (const auto& [port, offset] : memory.offset)
    section.addresses.try_emplace(port, Address{MemorySpace::kArena, offset});

  const auto address = [&](Port port) {
    const auto found = section.addresses.find(port);
    LANISTA_CHECK(found != section.addresses.end(),
                  "value %" + std::to_string(port.node.value) + "." + std::to_string(port.slot) + " has no address");
    return found->second;
  };
  for (const KernelCall& call : lowered.calls) {
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
                       .lane_attrs = section.lane_attrs};
    for (const Port port : call.inputs) binding.in.push_back(address(port));
    for (const Port port : outputs(call)) binding.out.push_back(address(port));
    if (inputs.is_split && entry->second.batch_reduction) {
      section.batch_reductions.push_back({section.calls.size(), entry->second.batch_reduction(binding)});
      section.calls.emplace_back();
    } else {
      section.calls.push_back(entry->second.prepare(binding));
    }
    section.plan.push_back(call_line(inputs.line, binding, inputs.layouts));
    if (def->random) section.has_random_masks = true;
  }
  return section;
}

template Result<void> check_kernels(const LoweredGraph&, const SectionInputs<float>&);
template Result<void> check_kernels(const LoweredGraph&, const SectionInputs<double>&);
template Section<float> build_section(const LoweredGraph&, const SectionInputs<float>&);
template Section<double> build_section(const LoweredGraph&, const SectionInputs<double>&);

}  // namespace lanista::program
