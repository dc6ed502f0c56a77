#include "lanista/nn/lower.h"

#include <algorithm>
#include <optional>

#include "lanista/base/check.h"
#include "lanista/nn/layout.h"

namespace lanista::nn {
namespace {

using graph::Port;

bool same_bytes(const Call& call) {
  if (call.inputs.size() != 1) return false;
  const graph::Shape& from = call.in_types[0].shape;
  const graph::Shape& to = call.out_types[0].shape;
  return from == to ||
         (Reorder::out_of(from, value_layout(from)).trivial() && Reorder::into(to, value_layout(to)).trivial());
}

/// Where a value is read.
struct Reader {
  std::size_t call;
  std::size_t slot;
};

class Peephole {
 public:
  Peephole(Lowered& lowered, const std::set<Port>& keep) : lowered_(lowered), gone_(lowered.calls.size(), false) {
    for (const Port port : keep) kept_.insert(lowered_.source(port));
    index();
  }

  void run() {
    for (std::size_t i = 0; i < lowered_.calls.size(); ++i) fuse_into_pool(i);
    for (std::size_t i = 0; i < lowered_.calls.size(); ++i) fuse_into_producer(i);
    std::vector<Call> left;
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
      const Call& call = lowered_.calls[i];
      producer_[call.id] = i;
      for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) readers_[call.inputs[slot]].push_back({i, slot});
    }
  }

  Call* producer(Port port) {
    const auto found = producer_.find(port.node);
    if (found == producer_.end() || gone_[found->second]) return nullptr;
    return &lowered_.calls[found->second];
  }

  bool read_once(Port port) { return !kept_.contains(port) && readers_[port].size() == 1; }

  // relu, then max pooling: the pool reads relu's input.
  void fuse_into_pool(std::size_t i) {
    Call& relu = lowered_.calls[i];
    if (gone_[i] || relu.kernel != "relu") return;
    const Port y{relu.id, 0};
    if (kept_.contains(y)) return;

    std::optional<std::size_t> pool;
    std::optional<std::size_t> grad;
    for (const Reader& reader : readers_[y]) {
      const std::string& kernel = lowered_.calls[reader.call].kernel;
      if ((kernel == "max_pool2d" || kernel == "max_pool2d_train") && !pool) {
        pool = reader.call;
      } else if (kernel == "relu_grad" && reader.slot == 0 && !grad) {
        grad = reader.call;
      } else {
        return;
      }
    }
    if (!pool) return;
    if (grad) {
      const Port dy = lowered_.calls[*grad].inputs[1];
      const Call* pool_grad = producer(dy);
      const Port index{lowered_.calls[*pool].id, 1};
      if (pool_grad == nullptr || pool_grad->kernel != "max_pool2d_grad" || pool_grad->inputs[0] != index) return;
      if (!read_once(dy)) return;
      const Port dx{lowered_.calls[*grad].id, 0};
      lowered_.aliases[dx] = dy;
      if (kept_.erase(dx) > 0) kept_.insert(dy);
      readers_[dy] = readers_[dx];
      gone_[*grad] = true;
    }
    lowered_.calls[*pool].kernel.insert(0, "relu_");
    lowered_.calls[*pool].inputs[0] = relu.inputs[0];
    for (Reader& reader : readers_[relu.inputs[0]]) {
      if (reader.call == i) reader.call = *pool;
    }
    gone_[i] = true;
  }

  // linear or conv2d, then relu: the call takes relu's place and name.
  void fuse_into_producer(std::size_t i) {
    Call& relu = lowered_.calls[i];
    if (gone_[i] || relu.kernel != "relu" || !read_once(relu.inputs[0])) return;
    Call* before = producer(relu.inputs[0]);
    if (before == nullptr || (before->kernel != "linear" && before->kernel != "conv2d")) return;
    // Behind an alias (flatten of [C, 1, 1]) relu has another shape, from which the kernel could not tell its sizes.
    if (before->out_types != relu.out_types) return;
    gone_[static_cast<std::size_t>(before - lowered_.calls.data())] = true;
    relu.kernel = before->kernel + "_relu";
    relu.op = before->op;
    relu.attrs = before->attrs;
    relu.inputs = before->inputs;
    relu.in_types = before->in_types;
  }

  Lowered& lowered_;
  std::vector<bool> gone_;
  std::set<Port> kept_;
  std::map<graph::NodeId, std::size_t> producer_;
  std::map<Port, std::vector<Reader>> readers_;
};

template <std::size_t n>
bool one_of(std::string_view op, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

}  // namespace

Port Lowered::source(Port port) const {
  for (auto found = aliases.find(port); found != aliases.end(); found = aliases.find(port)) port = found->second;
  return port;
}

bool is_source(std::string_view op) { return one_of(op, {"input", "parameter", "buffer", "target", "slot"}); }

bool is_commit(std::string_view op) { return one_of(op, {"sgd_update", "adam_update", "buffer_update"}); }

bool is_alias(std::string_view op) {
  return one_of(op, {"identity", "dropout", "output", "flatten", "reshape", "add"});
}

Lowered lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
              const std::set<Port>& keep) {
  Lowered lowered;
  for (const graph::NodeId id : order) {
    const graph::Node& node = graph.node(id);
    if (is_source(node.op)) continue;
    Call call{.id = id,
              .kernel = node.op,
              .op = node.op,
              .attrs = node.attrs,
              .inputs = node.inputs,
              .in_types = types.inputs(node),
              .out_types = types.outputs(id)};
    for (Port& port : call.inputs) port = lowered.source(port);
    if (is_alias(node.op) && same_bytes(call)) {
      lowered.aliases[{id, 0}] = call.inputs[0];
    } else {
      lowered.calls.push_back(std::move(call));
    }
  }
  Peephole(lowered, keep).run();
  return lowered;
}

}  // namespace lanista::nn
