#include "lanista/device/aten_section.h"

#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/device/aten_memory.h"

namespace lanista::device {
namespace {

nn::PlanLine line_of(const std::string& section, const graph::Node& node, const AtenCall& call) {
  const auto value = [](const graph::ValueType& type) {
    return nn::PlanValue{.shape = type.shape, .layout = "strided", .place = "device"};
  };
  nn::PlanLine line{.section = section,
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

Result<AtenSection> AtenSection::make(const std::string& name, const graph::Graph& graph, const graph::Types& types,
                                      const std::vector<graph::NodeId>& order, const std::set<graph::Port>& keep,
                                      const graph::OpTable& ops, const AtenTable& table) {
  AtenSection section;
  std::map<graph::Port, std::size_t> last;
  for (const graph::NodeId id : order) {
    const graph::Node& node = graph.node(id);
    const graph::OpDef* def = ops.find(node.op);
    if (def != nullptr && def->role == graph::OpRole::kSource) continue;
    const auto entry = table.find(node.op);
    if (def == nullptr || entry == table.end()) {
      return Error{
          .code = Code::kUnimplemented,
          .message = "operator '" + node.op + "' has no form on this device; run on the CPU (run.devices: [cpu])",
          .where = {}};
    }
    const std::vector<graph::ValueType> in = types.inputs(node), out = types.outputs(id);
    const AtenCall call{.args = {in, node.attrs, *def}, .out = out, .id = id, .numbers = section.numbers_};
    section.plan_.push_back(line_of(name, node, call));
    section.draws_masks_ |= node.op == "dropout_train";
    for (const graph::Port port : node.inputs) last[port] = section.calls_.size();
    for (std::uint32_t slot = 0; slot < out.size(); ++slot) last[{id, slot}] = section.calls_.size();
    AtenRun run = entry->second(call);
    section.calls_.push_back({id, node.op, std::move(run), node.inputs, {}, call.narrow});
  }
  for (const auto& [port, at] : last) {
    if (!keep.contains(port)) section.calls_[at].dead.push_back(port);
  }
  return section;
}

void AtenSection::run(const Frame& frame, Values& values, const std::function<void()>& done) const {
  for (const Call& call : calls_) {
    Tensors in;
    for (const graph::Port port : call.inputs) in.push_back(values.at(port));
    Tensors out;
    try {
      const auto scope = frame.products ? frame.products(call.narrow) : nullptr;
      out = call.run(frame, in);
    } catch (const c10::Error& error) {  // whose text has its stack in it
      const std::string whole = error.what_without_backtrace();
      const std::string text = "device: operator '" + call.op + "': " + whole.substr(0, whole.find('\n'));
      if (is_of_memory(error)) throw NoMemory(text);
      throw std::runtime_error(text);
    }
    for (std::uint32_t slot = 0; slot < out.size(); ++slot) values[{call.id, slot}] = std::move(out[slot]);
    for (const graph::Port port : call.dead) values.erase(port);
    if (done) done();
  }
}

}  // namespace lanista::device
