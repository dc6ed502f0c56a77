#include "lanista/exec/backends/aten/aten_section.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"

namespace lanista::device {
namespace {

program::PlanLine line_of(const std::string& section, const graph::Node& node, const AtenCall& call) {
  const auto value = [](const graph::ValueType& type) {
    return program::PlanValue{.shape = type.shape, .layout = "strided", .address = "device"};
  };
  program::PlanLine line{.section = section,
                         .node = node.id,
                         .op = node.op,
                         .kernel = node.op,
                         .family = "aten",
                         .attrs = {},
                         .inputs = {},
                         .outputs = {}};
  for (const graph::ValueType& type : call.args.inputs) line.inputs.push_back(value(type));
  for (const graph::ValueType& type : call.out) line.outputs.push_back(value(type));
  return line;
}

}  // namespace

Result<AtenSection> AtenSection::make(const std::string& section_name, const graph::Graph& graph,
                                      const graph::Types& types, const std::vector<graph::NodeId>& order,
                                      const std::set<graph::Port>& keep, const graph::OpTable& ops,
                                      const AtenTable& table, const AtenFusions& fusions,
                                      const std::map<graph::Port, graph::Port>& updatable_parameters) {
  AtenSection section;
  const auto fused = find_fusions(graph, types, order, keep, fusions);
  std::set<graph::NodeId> fused_away;
  for (const auto& [at, of] : fused) {
    for (const graph::NodeId id : of.nodes) {
      if (id != at) fused_away.insert(id);
    }
  }
  for (const graph::NodeId at : order) {
    const auto found = fused.find(at);
    const std::vector<graph::NodeId> nodes = found != fused.end() ? found->second.nodes : std::vector{at};
    const graph::OpDef* def = ops.find(graph.node(at).op);
    if ((def != nullptr && def->role == graph::OpRole::kSource) || fused_away.contains(at)) continue;
    std::vector<std::vector<graph::ValueType>> in, out;
    for (const graph::NodeId id : nodes) {
      const graph::Node& node = graph.node(id);
      if (ops.find(node.op) == nullptr || !table.contains(node.op)) {
        return Error{.code = Code::kUnimplemented,
                     .message = "operator '" + node.op +
                                "' is not supported on this device; run on the CPU (run.devices: [cpu])",
                     .where = {}};
      }
      in.push_back(types.inputs(node));
      out.push_back(types.outputs(id));
    }
    std::vector<AtenCall> calls;
    std::string name;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const graph::Node& node = graph.node(nodes[i]);
      calls.push_back({.args = {in[i], node.attrs, *ops.find(node.op)},
                       .out = out[i],
                       .id = nodes[i],
                       .lane_attrs = section.lane_attrs_});
      name += (i > 0 ? "+" : "") + node.op;
      section.samples_masks_ |= node.op == "dropout_train";
    }
    Call call{.op = name, .run = {}, .inputs = graph.node(at).inputs, .outputs = {}, .dead_values = {}, .line = {}};
    if (found != fused.end()) {
      call.run = found->second.fusion->prepare(calls);
      call.inputs = found->second.inputs;
      call.outputs = found->second.outputs;
    } else {
      call.run = table.find(name)->second(calls[0]);
      call.narrow = calls[0].narrow;
      for (std::uint32_t slot = 0; slot < out[0].size(); ++slot) call.outputs.push_back({at, slot});
    }
    call.line = line_of(section_name, graph.node(at), calls.back());
    call.line.kernel = name;
    section.calls_.push_back(std::move(call));
  }
  section.delay_fused_updates(updatable_parameters);
  std::map<graph::Port, std::size_t> last;
  for (std::size_t at = 0; at < section.calls_.size(); ++at) {
    for (const graph::Port port : section.calls_[at].inputs) last[port] = at;
    for (const graph::Port port : section.calls_[at].outputs) last[port] = at;
    section.plan_.push_back(std::move(section.calls_[at].line));
  }
  for (const auto& [port, at] : last) {
    if (!keep.contains(port)) section.calls_[at].dead_values.push_back(port);
  }
  return section;
}

void AtenSection::delay_fused_updates(const std::map<graph::Port, graph::Port>& updatable_parameters) {
  const auto reads = [](const Call& call, graph::Port port) {
    return std::ranges::find(call.inputs, port) != call.inputs.end();
  };
  for (const auto& [gradient, changed] : updatable_parameters) {
    const auto makes = [gradient](const Call& call) {
      return std::ranges::find(call.outputs, gradient) != call.outputs.end();
    };
    const auto maker = std::ranges::find_if(calls_, makes);
    if (maker == calls_.end() || reads(*maker, changed)) continue;
    const bool is_read = std::ranges::any_of(maker->outputs, [&](graph::Port port) {
      return std::ranges::any_of(calls_, [&](const Call& call) { return reads(call, port); });
    });
    if (is_read) continue;
    const auto last_reader =
        std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& call) { return reads(call, changed); }).base();
    maker->line.kernel += "+update";
    if (maker < last_reader) std::rotate(maker, maker + 1, last_reader);
    fused_gradients_.insert(gradient);
  }
}

void AtenSection::run(const Frame& frame, Values& values, const std::function<void()>& done) const {
  for (const Call& call : calls_) {
    Tensors in;
    for (const graph::Port port : call.inputs) in.push_back(values.at(port));
    Tensors out;
    try {
      const auto scope = frame.products ? frame.products(call.narrow) : nullptr;
      out = call.run(frame, in);
    } catch (const c10::Error& error) {  // its text includes the stack trace
      const std::string whole = error.what_without_backtrace();
      const std::string text = "device: operator '" + call.op + "': " + whole.substr(0, whole.find('\n'));
      if (is_out_of_memory(error)) throw DeviceOutOfMemory(text);
      throw std::runtime_error(text);
    }
    for (std::size_t i = 0; i < out.size(); ++i) values[call.outputs[i]] = std::move(out[i]);
    for (const graph::Port port : call.dead_values) values.erase(port);
    if (done) done();
  }
}

}  // namespace lanista::device
