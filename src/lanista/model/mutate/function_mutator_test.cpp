#include "lanista/model/mutate/function_mutator.h"

#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::mutated;
using testing::residual_model;

const char* const kTied =
    "%0 = input(shape=[4])\n"
    "%1 = linear(%0, out=4) \"a\"\n"
    "%2 = relu(%1)\n"
    "%3 = linear(%2, out=4) \"a\"\n"
    "%4 = add(%2, %3, %1)\n"
    "%5 = output(%4)\n";

/// The text of the tied model after `edit`, or the error message.
template <class Edit>
std::string after(Edit edit) {
  const auto mutator =
      make_function_mutator("mine", [&](const ModelView& view, graph::Editor& editor, space::Chooser&) -> Result<void> {
        return edit(view, editor);
      });
  return mutated(*mutator, testing::model(kTied), {});
}

TEST(FunctionMutator, EditsEachPlaceOrOne) {
  const auto kernels =
      mutator("kernel")
          .match(op("conv2d") && attr("kernel") > 1 && label("stage*"))
          .each([](const ModelView&, const Match& m, graph::Editor& e, space::Chooser& pick) -> Result<void> {
            const std::int64_t k = pick.one_of("k", std::vector<std::int64_t>{3, 5, 7});
            e.set(m.nodes.front(), "kernel", std::vector{k});
            e.set(m.nodes.front(), "padding", std::vector{k / 2});
            return {};
          });
  const std::string both = mutated(*kernels, base_model("small-cnn"), {1, 2});
  EXPECT_NE(both.find("%1 = conv2d(%0, kernel=[5], out=16, padding=[2])"), std::string::npos) << both;
  EXPECT_NE(both.find("%4 = conv2d(%3, kernel=[7], out=32, padding=[3])"), std::string::npos) << both;

  const auto deeper = mutator("deeper")
                          .match(op("conv2d") >> op("relu"))
                          .any([](const ModelView&, const Match& m, graph::Editor& e, space::Chooser&) -> Result<void> {
                            duplicate(e, m.nodes);
                            return {};
                          });
  const std::string one = mutated(*deeper, base_model("small-cnn"), {1});
  EXPECT_NE(one.find("%10 = conv2d(%5, out=32, padding=[1]) \"stage2\"\n%11 = relu(%10)\n"), std::string::npos) << one;
}

TEST(FunctionMutator, NamesMutatorInError) {
  const auto deeper =
      mutator("deeper")
          .match(op("attention"))
          .any([](const ModelView&, const Match&, graph::Editor&, space::Chooser&) -> Result<void> { return {}; });

  EXPECT_EQ(mutated(*deeper, testing::model(kTied), {}),
            "not_applicable: deeper: the model has no nodes that match the pattern");
  EXPECT_EQ(after([](const ModelView&, graph::Editor&) -> Result<void> { return {}; }),
            "not_applicable: mine: nothing would change");
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              e.set(graph::NodeId{4}, "axis", std::int64_t{1});
              return {};
            }).find("invalid_argument: mine: %4 add: unknown attribute axis"),
            0u);
}

TEST(Edits, InsertOnOneEdgeOnly) {
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              insert_on_edge(e, {graph::NodeId{4}, 2}, {"gelu", {}});
              return {};
            }),
            "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"a\"\n%2 = relu(%1)\n%3 = linear(%2, out=4) \"a\"\n"
            "%6 = gelu(%1)\n%4 = add(%2, %3, %6)\n%5 = output(%4)\n");
}

TEST(Edits, RewireDropsWhatFeedsNothing) {
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              rewire(e, {graph::NodeId{4}, 1}, {graph::NodeId{1}, 0});
              return {};
            }),
            "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"a\"\n%2 = relu(%1)\n"
            "%4 = add(%2, %1, %1)\n%5 = output(%4)\n");
}

TEST(Edits, RemoveCascadesDownToJoins) {
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              return remove_cascade(e, graph::NodeId{3}, graph::builtin_ops());
            }),
            "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"a\"\n%2 = relu(%1)\n"
            "%4 = add(%2, %1)\n%5 = output(%4)\n");
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              return remove_cascade(e, graph::NodeId{2}, graph::builtin_ops());
            }),
            "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"a\"\n%5 = output(%1)\n");
  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              return remove_cascade(e, graph::NodeId{1}, graph::builtin_ops());
            }),
            "not_applicable: mine: %5 output would go with it");
}

TEST(Edits, SpecialiseGivesOneNodeItsOwnLabel) {
  const std::string text = after([](const ModelView&, graph::Editor& e) -> Result<void> {
    specialise(e, graph::NodeId{3});
    return {};
  });
  EXPECT_NE(text.find("%3 = linear(%2, out=4) \"a/1\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%1 = linear(%0, out=4) \"a\"\n"), std::string::npos) << text;

  EXPECT_EQ(after([](const ModelView&, graph::Editor& e) -> Result<void> {
              specialise(e, graph::NodeId{2});
              return {};
            }),
            "not_applicable: mine: nothing would change")
      << "no other node has its label";
}

}  // namespace
}  // namespace lanista::mutate
