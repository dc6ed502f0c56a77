#include "lanista/exec/program/lower.h"

#include <string_view>

#include "lanista/exec/program/layout.h"

namespace lanista::program {
namespace {

using graph::Port;

bool same_bytes(const KernelCall& call) {
  if (call.inputs.size() != 1) return false;
  const graph::Shape& from = call.in_types[0].shape;
  const graph::Shape& to = call.out_types[0].shape;
  return from == to || (Reorder::from_layout(from, value_layout(from)).is_identity() &&
                        Reorder::to_layout(to, value_layout(to)).is_identity());
}

/// A call and an input at which a value is read.
struct ValueReader {
  std::size_t call;
  std::size_t slot;
};

class PeepholeFuser {
 public:
  PeepholeFuser(LoweredGraph& lowered, const std::set<Port>& keep, const std::vector<Fusion>& fusions)
      : lowered_(lowered), fusions_(fusions), gone_(lowered.calls.size(), false) {
    for (const Port port : keep) kept_.insert(lowered_.source(port));
    index();
  }

  void run() {
    for (std::size_t i = 0; i < lowered_.calls.size(); ++i) fuse_into_reader(i);
    for (std::size_t i = 0; i < lowered_.calls.size(); ++i) fuse_into_producer(i);
    std::vector<KernelCall> left;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      if (gone_[i]) continue;
      for (Port& port : lowered_.calls[i].inputs) port = lowered_.source(port);
      left.push_back(std::move(lowered_.calls[i]));
    }
    lowered_.calls = std::move(left);
  }

 private:
  void index() {
    for (std::size_t i = 0; i < lowered_.calls.size(); ++i) {
      const KernelCall& call = lowered_.calls[i];
      producer_[call.id] = i;
      for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) readers_[call.inputs[slot]].push_back({i, slot});
    }
  }

  KernelCall* producer(Port port) {
    const auto found = producer_.find(port.node);
    if (found == producer_.end() || gone_[found->second]) return nullptr;
    return &lowered_.calls[found->second];
  }

  bool read_once(Port port) { return !kept_.contains(port) && readers_[port].size() == 1; }

  const Fusion* fusion(std::string_view first, std::string_view second, bool takes_attrs_of_second) const {
    for (const Fusion& each : fusions_) {
      if (each.first == first && each.second == second && each.takes_attrs_of_second == takes_attrs_of_second)
        return &each;
    }
    return nullptr;
  }

  // For example relu, then max pooling: the pool reads the input of relu, and includes its gradient.
  void fuse_into_reader(std::size_t i) {
    KernelCall& first = lowered_.calls[i];
    if (gone_[i]) return;
    const Port y{first.id, 0};
    if (kept_.contains(y)) return;

    const Fusion* with = nullptr;
    std::size_t second = 0;
    std::vector<ValueReader> others;
    for (const ValueReader& reader : readers_[y]) {
      const Fusion* found = reader.slot == 0 ? fusion(first.kernel, lowered_.calls[reader.call].kernel, true) : nullptr;
      if (found != nullptr && with == nullptr) {
        with = found;
        second = reader.call;
      } else {
        others.push_back(reader);
      }
    }
    if (with == nullptr || others.size() > 1) return;
    if (!others.empty() && !remove_fused_gradient(*with, lowered_.calls[second], others.front())) return;
    KernelCall& to_layout = lowered_.calls[second];
    to_layout.kernel = with->kernel;
    to_layout.inputs[0] = first.inputs[0];
    for (ValueReader& reader : readers_[first.inputs[0]]) {
      if (reader.call == i) reader.call = second;
    }
    gone_[i] = true;
  }

  // Whether the other reader is the gradient of `first` and only passes on the gradient of `second`; then removes it.
  bool remove_fused_gradient(const Fusion& with, const KernelCall& second, const ValueReader& other) {
    const KernelCall& grad = lowered_.calls[other.call];
    if (with.first_grad.empty() || grad.kernel != with.first_grad || other.slot != 0) return false;
    const Port dy = grad.inputs[1];
    const KernelCall* before = producer(dy);
    if (before == nullptr || before->kernel != with.second_grad || before->inputs[0] != Port{second.id, 1})
      return false;
    if (!read_once(dy)) return false;
    const Port dx{grad.id, 0};
    lowered_.aliases[dx] = dy;
    if (kept_.erase(dx) > 0) kept_.insert(dy);
    readers_[dy] = readers_[dx];
    gone_[other.call] = true;
    return true;
  }

  // For example linear, then relu: the fused call replaces relu.
  void fuse_into_producer(std::size_t i) {
    KernelCall& second = lowered_.calls[i];
    if (gone_[i] || second.inputs.empty() || !read_once(second.inputs[0])) return;
    const KernelCall* before = producer(second.inputs[0]);
    const Fusion* with = before == nullptr ? nullptr : fusion(before->kernel, second.kernel, false);
    if (with == nullptr) return;
    // After an alias (flatten of [C, 1, 1]) relu has another shape, from which the kernel cannot derive its sizes.
    if (before->out_types != second.out_types) return;
    gone_[static_cast<std::size_t>(before - lowered_.calls.data())] = true;
    second.kernel = with->kernel;
    second.op = before->op;
    second.attrs = before->attrs;
    second.inputs = before->inputs;
    second.in_types = before->in_types;
  }

  LoweredGraph& lowered_;
  const std::vector<Fusion>& fusions_;
  std::vector<bool> gone_;
  std::set<Port> kept_;
  std::map<graph::NodeId, std::size_t> producer_;
  std::map<Port, std::vector<ValueReader>> readers_;
};

}  // namespace

Port LoweredGraph::source(Port port) const {
  for (auto found = aliases.find(port); found != aliases.end(); found = aliases.find(port)) port = found->second;
  return port;
}

LoweredGraph lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
                   const std::set<Port>& keep, const LoweringRules& rules) {
  LoweredGraph lowered;
  for (const graph::NodeId id : order) {
    const graph::Node& node = graph.node(id);
    const graph::OpDef* def = rules.ops.find(node.op);
    if (def != nullptr && def->role == graph::OpRole::kSource) continue;
    KernelCall call{.id = id,
                    .kernel = node.op,
                    .op = node.op,
                    .attrs = node.attrs,
                    .inputs = node.inputs,
                    .in_types = types.inputs(node),
                    .out_types = types.outputs(id)};
    for (Port& port : call.inputs) port = lowered.source(port);
    if (def != nullptr && def->is_view && same_bytes(call)) {
      lowered.aliases[{id, 0}] = call.inputs[0];
    } else {
      lowered.calls.push_back(std::move(call));
    }
  }
  PeepholeFuser(lowered, keep, rules.fusions).run();
  return lowered;
}

}  // namespace lanista::program
