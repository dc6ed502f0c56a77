#include "lanista/model/autodiff/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"

namespace lanista::autodiff {
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

// By definition: from its producer to its last use, or to the end.
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

TEST(MemoryPlan, NeverExceedsUnsharedMemory) {
  Rng rng(12);
  for (int round = 0; round < 200; ++round) {
    const MemoryPlan plan = random_case(rng).plan();

    EXPECT_LE(plan.bytes, plan.unshared_bytes);
    EXPECT_GE(plan.bytes, 0);
  }
}

// Ten nodes in a row.
Case chain_case(std::int64_t size) {
  Case c;
  graph::GraphBuilder builder;
  std::vector<Port> last;
  for (int i = 0; i < 10; ++i) {
    const NodeId id = builder.add("any", last);
    last = {{id, 0}};
    c.size[{id, 0}] = size;
  }
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();
  return c;
}

TEST(MemoryPlan, ReusesTheMemoryOfAChain) {
  const Case c = chain_case(1000);

  const MemoryPlan plan = c.plan();

  EXPECT_EQ(plan.bytes, 2 * 1024);  // a node and its input, rounded up to 64
  EXPECT_EQ(plan.unshared_bytes, 10 * 1024);
}

TEST(MemoryPlan, ReusesMemoryOfDeadInput) {
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
  const NodeId b = node({a}, 1000);     // a has a later use
  const NodeId d = node({a, b}, 1000);  // both have their last use here; b is the second choice
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

// Like random_case, but with three sizes, so that memory is often shared, with values that one node reads several times
// and random inputs that a node reads before it writes.
struct InPlaceCase : Case {
  std::map<NodeId, std::vector<std::size_t>> in_place;

  MemoryPlan plan() const {
    return plan_memory(
        graph, order, keep, [&](Port port) { return size.at(port); }, [&](NodeId id) { return outputs(id); },
        [&](NodeId id) { return in_place.at(id); });
  }
};

InPlaceCase random_in_place_case(Rng& rng) {
  InPlaceCase c;
  graph::GraphBuilder builder;
  std::vector<Port> values;
  const auto num_nodes = rng.between(2, 25);
  for (std::int64_t i = 0; i < num_nodes; ++i) {
    std::vector<Port> inputs;
    for (std::uint64_t k = values.empty() ? 0 : rng.below(5); k > 0; --k) {
      const std::size_t recent = std::min<std::size_t>(values.size(), 4);
      const bool again = !inputs.empty() && rng.bernoulli(0.3);
      inputs.push_back(again ? inputs[rng.below(inputs.size())] : values[values.size() - 1 - rng.below(recent)]);
    }
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < inputs.size() + 1; ++slot) {
      if (rng.bernoulli(0.5))
        slots.insert(slots.begin() + static_cast<std::ptrdiff_t>(rng.below(slots.size() + 1)), slot);
    }
    const NodeId id = builder.add("any", std::move(inputs));
    c.in_place[id] = std::move(slots);
    for (std::uint32_t slot = 0; slot < (rng.bernoulli(0.2) ? 2 : 1); ++slot) {
      values.push_back({id, slot});
      c.size[{id, slot}] = 64 * static_cast<std::int64_t>(rng.below(10) == 0 ? 0 : rng.between(1, 2));
      if (rng.bernoulli(0.1)) c.keep.push_back({id, slot});
    }
  }
  c.graph = std::move(builder).take();
  c.order = c.graph.topo();
  return c;
}

// Runs nodes over memory in which each cell stores its last value, in the worst order that each node allows.
class SimulatedMemory {
 public:
  SimulatedMemory(const InPlaceCase& c, const MemoryPlan& plan) : case_(c), plan_(plan) {}

  void run() {
    for (const NodeId id : case_.order) {
      const auto outputs = case_.outputs(id);
      const auto& inputs = case_.graph.node(id).inputs;
      const auto& slots = case_.in_place.at(id);
      const auto early = [&](std::size_t slot) { return std::ranges::find(slots, slot) != slots.end(); };
      for (const Port port : outputs) {
        if (port.slot > 0) write(port);
      }
      for (std::int64_t cell = 0; cell < 2; ++cell) {
        for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
          if (early(slot)) read(inputs[slot], cell);
        }
        write({id, 0}, cell);
      }
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        for (std::int64_t cell = 0; cell < 2 && !early(slot); ++cell) read(inputs[slot], cell);
      }
      for (const Port port : outputs) check(port);
    }
    for (const Port port : case_.keep) check(port);
  }

 private:
  bool has_expected_value(Port port, std::int64_t cell) const { return 64 * cell < case_.size.at(port); }
  std::int64_t at(Port port, std::int64_t cell) const { return plan_.offset.at(port) + 64 * cell; }
  void write(Port port, std::int64_t cell) {
    if (has_expected_value(port, cell)) memory_[at(port, cell)] = port;
  }
  void write(Port port) {
    for (std::int64_t cell = 0; cell < 2; ++cell) write(port, cell);
  }
  void read(Port port, std::int64_t cell) const {
    if (!has_expected_value(port, cell)) return;
    ASSERT_EQ(memory_.at(at(port, cell)), port) << "%" << port.node.value << "." << port.slot << " is overwritten";
  }
  void check(Port port) const {
    for (std::int64_t cell = 0; cell < 2; ++cell) read(port, cell);
  }

  const InPlaceCase& case_;
  const MemoryPlan& plan_;
  std::map<std::int64_t, Port> memory_;
};

TEST(MemoryPlan, NeverOverwritesAValueThatIsStillRead) {
  Rng rng(9);
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    const InPlaceCase c = random_in_place_case(rng);

    const MemoryPlan plan = c.plan();

    SimulatedMemory(c, plan).run();
    if (HasFatalFailure()) FAIL() << "round " << round << ":\n" << graph::to_text(c.graph);
    for (const NodeId id : c.order) {
      for (const Port port : c.graph.node(id).inputs) {
        shared += plan.offset.contains(port) && plan.offset.contains({id, 0}) &&
                  plan.offset.at(port) == plan.offset.at({id, 0});
      }
    }
  }
  EXPECT_GT(shared, 3000);  // the cases do share places
}

TEST(MemoryPlan, ReusesMemoryOnlyAfterLastRead) {
  const auto reuses_memory = [](const std::vector<std::size_t>& read_at, std::vector<std::size_t> in_place) {
    Case c;
    graph::GraphBuilder builder;
    const NodeId a = builder.add("any", {});
    const NodeId b = builder.add("any", {});
    std::vector<Port> inputs(4, {b, 0});
    for (const std::size_t slot : read_at) inputs[slot] = {a, 0};
    const NodeId y = builder.add("any", std::move(inputs));
    c.graph = std::move(builder).take();
    c.order = c.graph.topo();
    c.size = {{{a, 0}, 64}, {{b, 0}, 64}, {{y, 0}, 64}};
    const auto plan = plan_memory(
        c.graph, c.order, {{b, 0}}, [&](Port port) { return c.size.at(port); },
        [&](NodeId id) { return c.outputs(id); },
        [&](NodeId id) { return id == y ? in_place : std::vector<std::size_t>{}; });
    return plan.offset.at({y, 0}) == plan.offset.at({a, 0});
  };

  EXPECT_TRUE(reuses_memory({0}, {0, 1}));
  EXPECT_TRUE(reuses_memory({1}, {0, 1}));
  EXPECT_TRUE(reuses_memory({0, 1}, {0, 1}));
  EXPECT_FALSE(reuses_memory({0, 2}, {0, 1}));
  EXPECT_FALSE(reuses_memory({1, 3}, {0, 1}));
  EXPECT_FALSE(reuses_memory({2}, {0, 1}));
  EXPECT_FALSE(reuses_memory({0, 1}, {1}));
  EXPECT_FALSE(reuses_memory({0}, {}));
}

TEST(MemoryPlan, LetsKeptValuesLiveToTheEnd) {
  Case c = chain_case(64);
  for (const auto& [value, size] : c.size) c.keep.push_back(value);

  EXPECT_EQ(c.plan().bytes, 640);
}

}  // namespace
}  // namespace lanista::autodiff
