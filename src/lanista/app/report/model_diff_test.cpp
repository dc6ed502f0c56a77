#include "lanista/app/report/model_diff.h"

#include <gtest/gtest.h>

#include "lanista/model/graph/text.h"

namespace lanista::report {
namespace {

using Kind = NodeChange::Kind;

graph::Graph model(std::string_view text) {
  auto parsed = graph::parse(text);
  EXPECT_TRUE(parsed.ok()) << (parsed ? "" : parsed.error().text());
  return *std::move(parsed);
}

std::string summary(const std::vector<NodeChange>& changes) {
  std::string out;
  for (const NodeChange& change : changes) {
    if (change.kind == Kind::kSame) continue;
    const char* sign = change.kind == Kind::kAdded ? "+" : change.kind == Kind::kRemoved ? "-" : "~";
    out += sign + std::to_string(change.node.value) + (change.note.empty() ? "" : " " + change.note) + "\n";
  }
  return out;
}

const std::string_view kParent =
    "%0 = input(shape=[64])\n"
    "%1 = linear(%0, out=64)\n"
    "%2 = relu(%1)\n"
    "%3 = linear(%2, out=10)\n"
    "%4 = output(%3)\n";

TEST(ModelDiff, OfEqualModelsIsUnchanged) {
  const auto changes = model_diff(model(kParent), model(kParent));

  EXPECT_EQ(changes.size(), 5U);
  EXPECT_EQ(summary(changes), "");
}

TEST(ModelDiff, ListsChangedAttributesOperatorsAndInputs) {
  const auto changes = model_diff(model(kParent), model("%0 = input(shape=[64])\n"
                                                        "%1 = linear(%0, out=128)\n"
                                                        "%2 = gelu(%1)\n"
                                                        "%5 = relu(%2)\n"
                                                        "%3 = linear(%5, bias=false, out=10)\n"
                                                        "%4 = output(%3)\n"));

  EXPECT_EQ(summary(changes),
            "~1 out 64 -> 128\n"
            "~2 relu -> gelu\n"
            "~3 bias default -> false, input 0 %2 -> %5\n"
            "+5\n");
}

TEST(ModelDiff, ListsRemovedNodes) {
  const auto changes = model_diff(model(kParent), model("%0 = input(shape=[64])\n"
                                                        "%1 = linear(%0, out=64)\n"
                                                        "%3 = linear(%1, out=10)\n"
                                                        "%4 = output(%3)\n"));

  EXPECT_EQ(summary(changes),
            "-2 %2 = relu(%1)\n"
            "~3 input 0 %2 -> %1\n");
}

TEST(ModelDiff, ListsAddedInputsAndIgnoresLabels) {
  const auto changes = model_diff(model("%0 = input(shape=[8])\n%1 = add(%0)\n%2 = output(%1)\n"),
                                  model("%0 = input(shape=[8])\n%1 = add(%0, %0) \"skip\"\n%2 = output(%1)\n"));

  EXPECT_EQ(summary(changes), "~1 input 1 none -> %0\n");
}

}  // namespace
}  // namespace lanista::report
