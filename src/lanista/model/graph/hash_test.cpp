#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using testing::random_model;
using testing::renamed;
using testing::small_ops;

Digest hash_of(const std::string& text) {
  const auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return canonical_hash(*graph, small_ops());
}

/// Six equal layers on one input, summed in pairs, all pairs summed: `pairs` lists which layers are summed.
std::string paired(const std::vector<std::pair<int, int>>& pairs) {
  std::string text = "%0 = input(shape=[4])\n";
  for (int i = 1; i <= 6; ++i) text += "%" + std::to_string(i) + " = linear(%0, out=4)\n";
  std::string last;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string id = "%" + std::to_string(10 + i);
    text += id + " = add(%" + std::to_string(pairs[i].first) + ", %" + std::to_string(pairs[i].second) + ")\n";
    last += (i == 0 ? "" : ", ") + id;
  }
  return text + "%90 = add(" + last + ")\n%91 = output(%90)\n";
}

TEST(CanonicalHash, IgnoresIdsLabelsAndCommutativeOrder) {
  const OpTable ops = small_ops();
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const Graph graph = random_model(rng);
    const Graph other = renamed(graph, ops, rng);
    ASSERT_EQ(canonical_hash(graph, ops), canonical_hash(other, ops)) << to_text(graph) << "\n" << to_text(other);
  }
}

TEST(CanonicalHash, DependsOnOperatorsAndAttributes) {
  const OpTable ops = small_ops();
  Rng rng(4);
  int changed = 0;
  for (int round = 0; round < 300; ++round) {
    const Graph graph = random_model(rng);
    const Digest before = canonical_hash(graph, ops);
    for (const auto& node : graph.nodes()) {
      Node other = *node;
      if (node->op == "relu") other.op = "gelu";
      if (node->op == "add") continue;
      if (node->op == "scale") other.attrs.set("by", std::get<double>(*node->attrs.find("by")) + 1);
      if (node->op == "linear") other.attrs.set("bias", node->attrs.find("bias") != nullptr);
      if (node->op == "input") other.attrs.set("shape", std::vector<std::int64_t>{5});
      if (other == *node) continue;
      GraphBuilder builder(graph);
      builder.put(other);
      ASSERT_NE(canonical_hash(builder.peek(), ops), before) << node_text(other) << "\n" << to_text(graph);
      ++changed;
    }
  }
  EXPECT_GT(changed, 1000);
}

TEST(CanonicalHash, IgnoresExplicitDefaults) {
  const std::string head = "%0 = input(shape=[4])\n";
  const Digest plain = hash_of(head + "%1 = scale(%0)\n%2 = output(%1)\n");
  EXPECT_EQ(hash_of(head + "%1 = scale(%0, by=1.0, mode=\"up\")\n%2 = output(%1)\n"), plain);
  EXPECT_EQ(hash_of(head + "%1 = scale(%0, by=1)\n%2 = output(%1)\n"), plain);
  EXPECT_NE(hash_of(head + "%1 = scale(%0, by=2)\n%2 = output(%1)\n"), plain);
  EXPECT_EQ(hash_of(head + "%1 = scale(%0, by=2)\n%2 = output(%1)\n"),
            hash_of(head + "%1 = scale(%0, by=2.0)\n%2 = output(%1)\n"));
}

TEST(CanonicalHash, DependsOnInputOrder) {
  const std::string head = "%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = gelu(%0)\n";
  EXPECT_NE(hash_of(head + "%3 = join(%1, %2)\n%4 = output(%3)\n"),
            hash_of(head + "%3 = join(%2, %1)\n%4 = output(%3)\n"));
  EXPECT_EQ(hash_of(head + "%3 = mul(%1, %2)\n%4 = output(%3)\n"),
            hash_of(head + "%3 = mul(%2, %1)\n%4 = output(%3)\n"));
}

TEST(CanonicalHash, DependsOnReadOutputs) {
  const std::string head = "%0 = input(shape=[4])\n%1 = split(%0)\n";
  EXPECT_NE(hash_of(head + "%2 = output(%1)\n"), hash_of(head + "%2 = output(%1.1)\n"));

  const std::string two = "%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = relu(%1)\n";
  EXPECT_NE(hash_of(two + "%3 = output(%1)\n"), hash_of(two + "%3 = output(%2)\n"));
}

TEST(CanonicalHash, DistinguishesSharedFromEqualLayers) {
  const std::string head = "%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n";
  EXPECT_NE(hash_of(head + "%3 = add(%1, %1)\n%4 = output(%3)\n"),
            hash_of(head + "%2 = linear(%0, out=4)\n%3 = add(%1, %2)\n%4 = output(%3)\n"));

  // The same nodes and the same counts of them; only the sharing differs.
  const std::string two = head + "%2 = linear(%0, out=4)\n";
  EXPECT_NE(hash_of(two + "%3 = add(%1, %1)\n%4 = add(%2, %2)\n%5 = join(%3, %4)\n%6 = output(%5)\n"),
            hash_of(two + "%3 = add(%1, %2)\n%4 = add(%1, %2)\n%5 = join(%3, %4)\n%6 = output(%5)\n"));
}

TEST(CanonicalHash, DistinguishesTangledBranches) {
  const OpTable ops = small_ops();
  const auto ring = parse(paired({{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 1}}));
  const auto triangles = parse(paired({{1, 2}, {2, 3}, {3, 1}, {4, 5}, {5, 6}, {6, 4}}));
  ASSERT_TRUE(ring.ok());
  ASSERT_TRUE(triangles.ok());
  ASSERT_NE(canonical_hash(*ring, ops), canonical_hash(*triangles, ops));

  Rng rng(5);
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(canonical_hash(renamed(*ring, ops, rng), ops), canonical_hash(*ring, ops));
    ASSERT_EQ(canonical_hash(renamed(*triangles, ops, rng), ops), canonical_hash(*triangles, ops));
  }
}

TEST(CanonicalHash, TerminatesOnThousandsOfEqualNodes) {
  GraphBuilder builder;
  const NodeId input = builder.add("input", {}, {{"shape", std::vector<std::int64_t>{4}}});
  std::vector<Port> ends;
  for (int i = 0; i < 3000; ++i) ends.push_back({builder.add("relu", {{input}})});
  builder.add("output", {{builder.add("add", ends)}});
  const Digest all = canonical_hash(builder.peek(), small_ops());

  ends.pop_back();
  builder.put(Node{NodeId{3001}, "add", {}, ends, {}});
  EXPECT_NE(canonical_hash(builder.peek(), small_ops()), all);
}

TEST(CanonicalHash, RefusesCycles) {
  const auto graph = parse("%0 = input(shape=[4])\n%1 = add(%0, %1)\n");
  ASSERT_TRUE(graph.ok());
  EXPECT_THROW(canonical_hash(*graph, small_ops()), InternalError);
}

// Logs store these hashes. After a change, stored studies would not recognise their own models.
TEST(CanonicalHash, MatchesGoldenHashes) {
  EXPECT_EQ(canonical_hash(testing::small_model(), small_ops()).hex(), "5de4a0b14495da5482768b46c5f4204e");
  EXPECT_EQ(hash_of(paired({{1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 1}})).hex(),
            "6bd074494eabc81294181febe2023b9e");
}

}  // namespace
}  // namespace lanista::graph
