#include "lanista/step/liveness.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lanista::step {
namespace {

constexpr std::int64_t kAlignment = 64;

// A value and the positions in `order` between which it must keep its bytes, both ends included.
struct Interval {
  graph::Port port;
  std::int64_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t offset = 0;

  bool meets(const Interval& other) const { return first <= other.last && other.first <= last; }
};

std::int64_t rounded_up(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<Interval> intervals(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                                const std::vector<graph::Port>& keep,
                                const std::function<std::int64_t(graph::Port)>& size,
                                const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs) {
  std::vector<Interval> all;
  std::map<graph::Port, std::size_t> index;
  for (std::size_t position = 0; position < order.size(); ++position) {
    for (const graph::Port& port : graph.node(order[position]).inputs) {
      if (const auto found = index.find(port); found != index.end()) all[found->second].last = position;
    }
    for (const graph::Port& port : outputs(order[position])) {
      const std::int64_t bytes = size(port);
      if (bytes <= 0) continue;
      index.emplace(port, all.size());
      all.push_back({.port = port, .bytes = rounded_up(bytes), .first = position, .last = position, .offset = 0});
    }
  }
  for (const graph::Port& port : keep) {
    if (const auto found = index.find(port); found != index.end()) all[found->second].last = order.size();
  }
  return all;
}

// The smallest gap between placed neighbours in time that takes the value; behind them all if none does.
std::int64_t best_gap(const Interval& value, const std::vector<Interval>& placed_by_offset) {
  std::int64_t best = -1;
  std::int64_t best_room = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const Interval& other : placed_by_offset) {
    if (!other.meets(value)) continue;
    const std::int64_t room = other.offset - end;
    if (room >= value.bytes && room < best_room) {
      best = end;
      best_room = room;
    }
    end = std::max(end, other.offset + other.bytes);
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan plan_memory(const graph::Graph& graph, const std::vector<graph::NodeId>& order,
                       const std::vector<graph::Port>& keep, const std::function<std::int64_t(graph::Port)>& size,
                       const std::function<std::vector<graph::Port>(graph::NodeId)>& outputs) {
  std::vector<Interval> values = intervals(graph, order, keep, size, outputs);
  std::stable_sort(values.begin(), values.end(),
                   [](const Interval& a, const Interval& b) { return a.bytes > b.bytes; });

  MemoryPlan plan;
  std::vector<Interval> placed;
  for (Interval& value : values) {
    value.offset = best_gap(value, placed);
    plan.offset.emplace(value.port, value.offset);
    plan.bytes = std::max(plan.bytes, value.offset + value.bytes);
    plan.unshared_bytes += value.bytes;
    const auto position = std::upper_bound(placed.begin(), placed.end(), value,
                                           [](const Interval& a, const Interval& b) { return a.offset < b.offset; });
    placed.insert(position, value);
  }
  return plan;
}

}  // namespace lanista::step
