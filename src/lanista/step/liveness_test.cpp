#include "lanista/step/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"

namespace lanista::step {
namespace {

using graph::NodeId;
using graph::Port;

struct Case {
  graph::Graph graph;
  std::vector<NodeId> order;
  std::vector<Port> keep;
  std::map<Port, std::int64_t> size;

  std::vector<Port> outputs(NodeId id) const {
    std::vector<Port> ports;
    for (const auto& [port, bytes] : size) {
      if (port.node == id) ports.push_back(port);
    }
    return ports;
  }
  MemoryPlan plan() const {
    return plan_memory(
        graph, order, keep, [&](Port port) { return size.at(port); }, [&](NodeId id) { return outputs(id); });
  }
};

// Nodes with one to three outputs that read random earlier values; some values are not planned, some are kept.
Case random_case(Rng& rng) {
  Case c;
  graph::GraphBuilder builder;
  std::vector<Port> values;
  const auto num_nodes = rng.between(1, 40);
  for (std::int64_t i = 0; i < num_nodes; ++i) {
    std::vector<Port> inputs;
    for (std::uint64_t k = values.empty() ? 0 : rng.below(4); k > 0; --k)
      inputs.push_back(values[rng.below(values.size())]);
    const NodeId id = builder.add("any", std::move(inputs));
    const auto num_outputs = static_cast<std::uint32_t>(rng.between(1, 3));
    for (std::uint32_t slot = 0; slot < num_outputs; ++slot) {
      values.push_back({id, slot});
      c.size[{id, slot}] = rng.bernoulli(0.1) ? 0 : rng.between(1, 5000);
      if (rng.bernoulli(0.1)) c.keep.push_back({id, slot});
    }
  }
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();
  return c;
}

// Straight from the definition: from its producer to its last use, or to the end.
bool alive_at(const Case& c, Port port, std::size_t position) {
  const auto at = [&](NodeId id) {
    return static_cast<std::size_t>(std::find(c.order.begin(), c.order.end(), id) - c.order.begin());
  };
  if (position < at(port.node)) return false;
  if (position == at(port.node)) return true;
  if (std::find(c.keep.begin(), c.keep.end(), port) != c.keep.end()) return true;
  for (const graph::Use& use : c.graph.consumers(port.node)) {
    if (c.graph.node(use.node).inputs[use.slot] == port && at(use.node) >= position) return true;
  }
  return false;
}

TEST(MemoryPlan, KeepsValuesThatLiveTogetherApart) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    const Case c = random_case(rng);

    const MemoryPlan plan = c.plan();

    for (const auto& [port, bytes] : c.size) EXPECT_EQ(plan.offset.contains(port), bytes > 0);
    for (std::size_t position = 0; position <= c.order.size(); ++position) {
      std::vector<std::pair<std::int64_t, std::int64_t>> spans;
      for (const auto& [port, offset] : plan.offset) {
        ASSERT_EQ(offset % 64, 0);
        ASSERT_LE(offset + c.size.at(port), plan.bytes);
        if (alive_at(c, port, position)) spans.emplace_back(offset, offset + c.size.at(port));
      }
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i) ASSERT_LE(spans[i - 1].second, spans[i].first);
    }
  }
}

TEST(MemoryPlan, TakesAtMostWhatPrivateMemoryWouldTake) {
  Rng rng(12);
  for (int round = 0; round < 200; ++round) {
    const MemoryPlan plan = random_case(rng).plan();

    EXPECT_LE(plan.bytes, plan.unshared_bytes);
    EXPECT_GE(plan.bytes, 0);
  }
}

TEST(MemoryPlan, ReusesTheMemoryOfAChain) {
  Case c;
  graph::GraphBuilder builder;
  std::vector<Port> last;
  for (int i = 0; i < 10; ++i) {
    const NodeId id = builder.add("any", last);
    last = {{id, 0}};
    c.size[{id, 0}] = 1000;
  }
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();

  const MemoryPlan plan = c.plan();

  EXPECT_EQ(plan.bytes, 2 * 1024);  // a node and its input, rounded up to 64
  EXPECT_EQ(plan.unshared_bytes, 10 * 1024);
}

TEST(MemoryPlan, PutsAnOutputWhereAnInputEnds) {
  Case c;
  graph::GraphBuilder builder;
  const auto node = [&](std::vector<NodeId> inputs, std::int64_t bytes) {
    std::vector<Port> ports;
    for (const NodeId id : inputs) ports.push_back({id, 0});
    const NodeId id = builder.add("any", std::move(ports));
    c.size[{id, 0}] = bytes;
    return id;
  };
  const NodeId a = node({}, 1000);
  const NodeId b = node({a}, 1000);     // a is read again
  const NodeId d = node({a, b}, 1000);  // both end here; b is the second choice
  const NodeId e = node({d}, 500);      // of another size
  const NodeId f = node({e}, 500);
  const NodeId g = node({f}, 500);
  c.keep = {{f, 0}};  // must stay
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();
  const auto plan = plan_memory(
      c.graph, c.order, c.keep, [&](Port port) { return c.size.at(port); }, [&](NodeId id) { return c.outputs(id); },
      [](NodeId) {
        return std::vector<std::size_t>{0, 1};
      });

  const auto at = [&](NodeId id) { return plan.offset.at({id, 0}); };
  EXPECT_NE(at(b), at(a));
  EXPECT_EQ(at(d), at(a));
  EXPECT_NE(at(e), at(d));
  EXPECT_EQ(at(f), at(e));
  EXPECT_NE(at(g), at(f));
  EXPECT_EQ(plan.bytes, 2048);
  EXPECT_EQ(plan.unshared_bytes, 3 * 1024 + 3 * 512);
}

// Whatever may be overwritten: a value that is still to be read is not.
TEST(MemoryPlan, OverwritesOnlyWhatNobodyReadsLater) {
  Rng rng(9);
  for (int i = 0; i < 200; ++i) {
    const Case c = random_case(rng);
    const auto plan = plan_memory(
        c.graph, c.order, c.keep, [&](Port port) { return c.size.at(port); }, [&](NodeId id) { return c.outputs(id); },
        [](NodeId) {
          return std::vector<std::size_t>{0, 1, 2};
        });
    for (const auto& [port, offset] : plan.offset) {
      for (const auto& [other, other_offset] : plan.offset) {
        if (port == other || offset >= other_offset + c.size.at(other) || other_offset >= offset + c.size.at(port)) {
          continue;
        }
        // They share bytes: then one is gone, or ends as an input where the other begins.
        for (std::size_t position = 0; position <= c.order.size(); ++position) {
          if (!alive_at(c, port, position) || !alive_at(c, other, position)) continue;
          ASSERT_LT(position, c.order.size());
          const NodeId id = c.order[position];
          EXPECT_TRUE(id == port.node || id == other.node);
          EXPECT_EQ(offset, other_offset);
        }
      }
    }
  }
}

TEST(MemoryPlan, LetsKeptValuesLiveToTheEnd) {
  Case c;
  graph::GraphBuilder builder;
  std::vector<Port> last;
  for (int i = 0; i < 10; ++i) {
    const NodeId id = builder.add("any", last);
    last = {{id, 0}};
    c.size[{id, 0}] = 64;
    c.keep.push_back({id, 0});
  }
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();

  EXPECT_EQ(c.plan().bytes, 640);
}

}  // namespace
}  // namespace lanista::step
