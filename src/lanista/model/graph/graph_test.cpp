#include "lanista/model/graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using testing::random_model;
using testing::small_model;

std::vector<NodeId> ids_of(std::initializer_list<std::uint32_t> values) {
  std::vector<NodeId> out;
  for (const auto v : values) out.push_back(NodeId{v});
  return out;
}

TEST(Graph, ListsNodesInOrderOfId) {
  GraphBuilder builder;
  for (const std::uint32_t id : {7u, 2u, 5u}) builder.put(Node{NodeId{id}, "relu", {}, {}, {}});

  EXPECT_EQ(builder.peek().ids(), ids_of({2, 5, 7}));
  EXPECT_EQ(builder.peek().next_id(), NodeId{8});
  EXPECT_TRUE(builder.peek().contains(NodeId{5}));
  EXPECT_FALSE(builder.peek().contains(NodeId{6}));
  EXPECT_THROW(builder.peek().node(NodeId{6}), InternalError);
}

TEST(Graph, NeverReusesAnId) {
  GraphBuilder builder(small_model());
  const NodeId added = builder.add("relu", {{NodeId{0}}});
  builder.remove(added);

  EXPECT_EQ(builder.add("relu", {{NodeId{0}}}), NodeId{added.value + 1});
  EXPECT_THROW(builder.remove(added), InternalError);
}

TEST(Graph, OrdersByDependencyThenById) {
  GraphBuilder builder;
  builder.put(Node{NodeId{9}, "input", {}, {}, {}});
  builder.put(Node{NodeId{4}, "relu", {}, {{NodeId{9}}}, {}});
  builder.put(Node{NodeId{1}, "add", {}, {{NodeId{4}}, {NodeId{6}}}, {}});
  builder.put(Node{NodeId{6}, "gelu", {}, {{NodeId{9}}}, {}});

  EXPECT_EQ(builder.peek().topo(), ids_of({9, 4, 6, 1}));
}

TEST(Graph, LeavesCyclesOutOfTheOrder) {
  GraphBuilder builder;
  builder.put(Node{NodeId{0}, "input", {}, {}, {}});
  builder.put(Node{NodeId{1}, "add", {}, {{NodeId{0}}, {NodeId{2}}}, {}});
  builder.put(Node{NodeId{2}, "relu", {}, {{NodeId{1}}}, {}});
  builder.put(Node{NodeId{3}, "relu", {}, {{NodeId{2}}}, {}});

  EXPECT_EQ(builder.peek().topo(), ids_of({0}));
}

TEST(Graph, ListsUsesByNodeAndSlot) {
  GraphBuilder builder(small_model());
  builder.add("add", {{NodeId{1}}, {NodeId{2}}, {NodeId{1}}});

  const std::vector<Use> expected{{NodeId{2}, 0}, {NodeId{5}, 0}, {NodeId{5}, 2}};
  EXPECT_EQ(builder.peek().consumers(NodeId{1}), expected);
  EXPECT_EQ(builder.peek().nodes_of("linear"), ids_of({1, 3}));
}

TEST(Graph, EqualsByContentAndNextId) {
  const Graph base = small_model();
  GraphBuilder same(base);
  same.put(base.node(NodeId{2}));
  EXPECT_EQ(same.peek(), base);

  same.reserve_ids(NodeId{99});
  EXPECT_FALSE(same.peek() == base);

  GraphBuilder other(base);
  other.put(Node{NodeId{2}, "gelu", {}, {{NodeId{1}}}, {}});
  EXPECT_FALSE(other.peek() == base);
  EXPECT_EQ(base, small_model());
}

TEST(Graph, OrderHasEveryNodeAfterItsInputs) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const Graph graph = random_model(rng);
    const auto order = graph.topo();

    ASSERT_EQ(order.size(), graph.size());
    std::vector<NodeId> done;
    for (const NodeId id : order) {
      for (const Port& port : graph.node(id).inputs) {
        ASSERT_NE(std::find(done.begin(), done.end(), port.node), done.end());
      }
      done.push_back(id);
    }
  }
}

TEST(Graph, FindsNodesAmongIdsThatAreGone) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    GraphBuilder builder;
    for (std::uint32_t id = 0; id < 40; ++id) {
      if (rng.bernoulli(0.05 * static_cast<double>(round % 20))) {
        builder.put(Node{NodeId{id + 1000 * static_cast<std::uint32_t>(rng.below(2))}, "relu", {}, {}, ""});
      }
    }
    const Graph& graph = builder.peek();
    for (std::uint32_t id = 0; id < 1050; ++id) {
      const auto nodes = graph.nodes();
      const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n->id == NodeId{id}; });
      ASSERT_EQ(graph.index_of(NodeId{id}), static_cast<std::size_t>(at - nodes.begin())) << id;
      ASSERT_EQ(graph.contains(NodeId{id}), at != nodes.end());
    }
  }
}

}  // namespace
}  // namespace lanista::graph
