#include "lanista/model/autodiff/memory_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lanista::autodiff {
namespace {

constexpr std::int64_t kAlignment = 64;

// Values that share one offset one after the other, with the first and last position in `order` at which it is used,
// both included.
struct LiveInterval {
  std::vector<graph::Port> ports;
  std::int64_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t offset = 0;

  bool overlaps(const LiveInterval& other) const { return first <= other.last && other.first <= last; }
};

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The intervals of values. At first each value has its own.
class LiveIntervals {
 public:
  LiveIntervals(const graph::Graph& graph, const std::vector<graph::NodeId>& order) : graph_(graph), order_(order) {}

  void collect(const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
               const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs) {
    for (std::size_t position = 0; position < order_.size(); ++position) {
      for (const graph::Port& port : graph_.node(order_[position]).inputs) {
        if (LiveInterval* value = find(port)) value->last = position;
      }
      for (const graph::Port& port : outputs(order_[position])) {
        const std::int64_t bytes = size(port);
        if (bytes <= 0) continue;
        place_.emplace(port, all_.size());
        all_.push_back({.ports = {port}, .bytes = rounded_up(bytes), .first = position, .last = position, .offset = 0});
      }
    }
    for (const graph::Port& port : keep) {
      if (LiveInterval* value = find(port)) value->last = order_.size();
    }
  }

  // Lets output 0 share the memory of an input that ends there, if the node allows it.
  void share(const InPlace& in_place) {
    for (std::size_t position = 0; position < order_.size(); ++position) {
      const graph::Node& node = graph_.node(order_[position]);
      LiveInterval* output = find({node.id, 0});
      if (output == nullptr) continue;
      const std::vector<std::size_t> slots = in_place(node.id);
      for (const std::size_t slot : slots) {
        LiveInterval* input = slot < node.inputs.size() ? find(node.inputs[slot]) : nullptr;
        if (input == nullptr || input->last != position || input->bytes != output->bytes) continue;
        if (!read_only_at(node, *input, slots)) continue;
        input->last = output->last;
        input->ports.push_back({node.id, 0});
        place_[{node.id, 0}] = static_cast<std::size_t>(input - all_.data());
        output->ports.clear();
        break;
      }
    }
    std::erase_if(all_, [](const LiveInterval& value) { return value.ports.empty(); });
  }

  std::vector<LiveInterval> take() && { return std::move(all_); }

 private:
  LiveInterval* find(graph::Port port) {
    const auto found = place_.find(port);
    return found == place_.end() ? nullptr : &all_[found->second];
  }

  // Several inputs may read one value; all of them must allow that the output overwrites it.
  bool read_only_at(const graph::Node& node, const LiveInterval& value, const std::vector<std::size_t>& slots) {
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (find(node.inputs[slot]) == &value && std::ranges::find(slots, slot) == slots.end()) return false;
    }
    return true;
  }

  const graph::Graph& graph_;
  const std::vector<graph::NodeId>& order_;
  std::vector<LiveInterval> all_;
  std::map<graph::Port, std::size_t> place_;
};

// Returns the offset of the smallest gap that fits between values of the same time, or the end of them all.
std::int64_t best_gap(const LiveInterval& value, const std::vector<LiveInterval>& placed_by_offset) {
  std::int64_t best = -1;
  std::int64_t best_size = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const LiveInterval& other : placed_by_offset) {
    if (!other.overlaps(value)) continue;
    const std::int64_t size = other.offset - end;
    if (size >= value.bytes && size < best_size) {
      best = end;
      best_size = size;
    }
    end = std::max(end, other.offset + other.bytes);
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan plan_memory(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                       const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
                       const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs, const InPlace& in_place) {
  LiveIntervals lives(graph, order);
  lives.collect(keep, size, outputs);
  if (in_place) lives.share(in_place);
  std::vector<LiveInterval> values = std::move(lives).take();
  std::stable_sort(values.begin(), values.end(),
                   [](const LiveInterval& a, const LiveInterval& b) { return a.bytes > b.bytes; });

  MemoryPlan plan;
  std::vector<LiveInterval> placed;
  for (LiveInterval& value : values) {
    value.offset = best_gap(value, placed);
    for (const graph::Port& port : value.ports) plan.offset.emplace(port, value.offset);
    plan.bytes = std::max(plan.bytes, value.offset + value.bytes);
    plan.unshared_bytes += value.bytes * static_cast<std::int64_t>(value.ports.size());
    const auto position =
        std::upper_bound(placed.begin(), placed.end(), value,
                         [](const LiveInterval& a, const LiveInterval& b) { return a.offset < b.offset; });
    placed.insert(position, value);
  }
  return plan;
}

}  // namespace lanista::autodiff
