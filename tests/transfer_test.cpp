// Transfers of weights, checked by running parent and child in double precision, without use of the transfer plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/transfer/transfer.h"
#include "mutation_spaces.h"
#include "support/io/formats/foreign_networks.h"
#include "support/model/transfer/test_layers.h"

namespace lanista {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kWords = 8;

struct Evaluated {
  std::vector<Tensor> weights;
  std::vector<double> y;
};

bool is_parameter(const Tensor& tensor) { return tensor.name != "step" && tensor.name != "seed"; }

/// Returns predictions of a model for rows that depend on the input's shape only. Weights and buffers are random,
/// except those in `given`.
Evaluated evaluated(const graph::Graph& model, const std::vector<Tensor>& given, std::uint64_t seed,
                    Precision precision = Precision::kFloat64) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto infer = autodiff::derive_inference_step(model, ops);
  EXPECT_TRUE(infer.ok()) << infer.error().text();
  auto program = program::Program::compile(*infer, {.max_batch = kRows, .precision = precision});
  EXPECT_TRUE(program.ok()) << program.error().text();
  EXPECT_TRUE(program->begin(0, seed).ok());
  std::vector<Tensor> state = program->extract(0);
  const Rng rng = Rng(seed).split("weights");
  for (Tensor& tensor : state) {
    if (!is_parameter(tensor)) continue;
    Rng choices = rng.split(tensor.name);
    const bool variance = tensor.name.ends_with("running_var");
    const auto fill = [&](auto values) {
      using Value = typename decltype(values)::value_type;
      for (Value& value : values) {
        value = static_cast<Value>(variance ? choices.uniform(0.5, 2.0)
                                            : static_cast<double>(value) + 0.3 * choices.normal());
      }
    };
    precision == Precision::kFloat64 ? fill(elements_of<double>(tensor)) : fill(elements_of<float>(tensor));
    const auto found = std::ranges::find(given, tensor.name, &Tensor::name);
    if (found != given.end()) tensor = *found;
  }
  EXPECT_TRUE(program->insert(0, state).ok());
  const auto types = graph::infer_shapes(model, ops);
  const graph::ValueType& input = types->outputs(model.nodes_of("input").front()).front();
  std::vector<float> x(static_cast<std::size_t>(input.shape.elements(kRows)));
  Rng choices = Rng(77).split("x");
  for (float& value : x) {
    value = input.dtype == graph::DType::kIndex ? static_cast<float>(choices.below(kWords))
                                                : static_cast<float>(choices.normal());
  }
  static constexpr std::array<std::int64_t, kRows> kNumbers{0, 1, 2, 3};
  Evaluated out{{}, std::vector<double>(static_cast<std::size_t>(kRows * program->prediction_size()))};
  program->predict(0, {.size = kRows, .features = x, .labels = {}, .targets = {}, .sample_index = kNumbers},
                   std::span(out.y));
  std::erase_if(state, [](const Tensor& tensor) { return !is_parameter(tensor); });
  out.weights = std::move(state);
  return out;
}

/// Returns max |child - parent| / max |parent|; infinity for outputs of another size, NaN or infinity.
double distance(const Evaluated& parent, const graph::Graph& child, const zoo::TransferPlan& plan,
                Precision precision = Precision::kFloat64) {
  const auto tensors = zoo::apply(plan, parent.weights, child, graph::builtin_ops(), 5);
  EXPECT_TRUE(tensors.ok()) << tensors.error().text();
  const Evaluated after = evaluated(child, *tensors, 6, precision);
  if (after.y.size() != parent.y.size()) return INFINITY;
  double most = 0, size = 1e-300;
  for (std::size_t i = 0; i < after.y.size(); ++i) {
    const double one = std::abs(after.y[i] - parent.y[i]);
    if (!(one <= 1e300)) return INFINITY;
    most = std::max(most, one);
    size = std::max(size, std::abs(parent.y[i]));
  }
  return most / size;
}

graph::Graph parsed(const std::string& text) {
  auto graph = graph::parse(text);
  EXPECT_TRUE(graph.ok()) << graph.error().text() << "\n" << text;
  return *std::move(graph);
}

zoo::TransferPlan planned(const graph::Graph& parent, const graph::Graph& child, std::uint64_t seed = 1) {
  const auto mapping = zoo::lineage_mapping(parent, child);
  auto plan = zoo::plan_transfer(parent, child, mapping, graph::builtin_ops(), {.seed = seed});
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return *std::move(plan);
}

/// A model in which "$1", "$2", ... are replaced by numbers of parent and child. Nodes with equal ids correspond.
struct Row {
  std::string name;
  std::string model;
  std::vector<std::string> before, after;
  bool exact = true;
  double max_error = 0;  ///< of an inexact transfer: least change of the function
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

std::string filled(std::string text, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string mark = "$" + std::to_string(i + 1);
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), words[i]);
    }
  }
  return text;
}

const std::string kImage = "%0 = input(shape=[3,6,6])\n";
const std::string kHead = "%90 = global_avg_pool($)\n%91 = linear(%90, out=5)\n%92 = output(%91)\n";

std::string with_head(std::string body, const std::string& last) {
  std::string head = kHead;
  return kImage + std::move(body) + head.replace(head.find('$'), 1, last);
}

std::vector<Row> rows() {
  const std::string block =
      "%0 = input(shape=[6], dtype=\"index\")\n%1 = embedding(%0, vocab=8, dim=$1)\n%2 = positional_embedding(%1)\n"
      "%3 = layer_norm(%2, eps=$2)\n%4 = attention(%3, heads=$3)\n%5 = add(%2, %4)\n%6 = layer_norm(%5, eps=$2)\n"
      "%7 = linear(%6, out=$4)\n%8 = gelu(%7)\n%9 = linear(%8, out=$1)\n%10 = add(%5, %9)\n%11 = mean(%10, axes=[1])\n"
      "%12 = linear(%11, out=5)\n%13 = output(%12)\n";
  const std::string norm = with_head(
      "%1 = conv2d(%0, out=$1, padding=[1])\n%2 = group_norm(%1, groups=$2)\n"
      "%3 = silu(%2)\n%4 = conv2d(%3, out=4)\n",
      "%4");
  const std::string residual = with_head(
      "%1 = conv2d(%0, out=$1, padding=[1])\n%2 = batch_norm(%1)\n%3 = relu(%2)\n"
      "%4 = conv2d(%3, out=$1, padding=[1])\n%5 = batch_norm(%4)\n%6 = add(%5, %3)\n%7 = relu(%6)\n"
      "%8 = max_pool2d(%7)\n",
      "%8");
  const std::string deep =
      with_head("%1 = conv2d(%0, out=4, padding=[1])\n%2 = $1(%1)\n$2%5 = conv2d($3, out=4)\n", "%5");
  const std::string layer = "%20 = conv2d(%2, out=4, padding=[1])\n%21 = $(%20)\n";
  const auto new_layer = [&](const std::string& op) { return std::string(layer).replace(layer.find('$'), 1, op); };
  return {
      {"linear widened",
       "%0 = input(shape=[7])\n%1 = linear(%0, out=$1)\n%2 = tanh(%1)\n%3 = linear(%2, out=$2)\n"
       "%4 = sigmoid(%3)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n",
       {"5", "4"},
       {"13", "9"}},
      {"linear narrowed",
       "%0 = input(shape=[7])\n%1 = linear(%0, out=$1)\n%2 = tanh(%1)\n%3 = linear(%2, out=3)\n"
       "%4 = output(%3)\n",
       {"5"},
       {"4"},
       false,
       1e-3},
      {"residual with norms", residual, {"4"}, {"7"}},
      {"flatten between",
       kImage + "%1 = conv2d(%0, out=$1)\n%2 = relu(%1)\n%3 = flatten(%2)\n%4 = linear(%3, out=3)\n"
                "%5 = output(%4)\n",
       {"4"},
       {"7"}},
      {"concat",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = conv2d(%0, out=$2)\n%3 = concat(%1, %2)\n%4 = batch_norm(%3)\n"
                 "%5 = relu(%4)\n%6 = conv2d(%5, out=6)\n",
                 "%6"),
       {"3", "4"},
       {"5", "7"}},
      {"depthwise",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = depthwise_conv2d(%1, padding=[1], multiplier=2)\n"
                 "%3 = relu(%2)\n%4 = conv2d(%3, out=5, kernel=[1])\n",
                 "%4"),
       {"4"},
       {"6"}},
      {"separable",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = separable_conv2d(%1, out=$2, padding=[1])\n%3 = relu(%2)\n", "%3"),
       {"4", "3"},
       {"6", "8"}},
      {"groups, whole ones added",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = conv2d(%1, out=$1, groups=$2)\n", "%2"),
       {"4", "2"},
       {"8", "4"}},
      {"groups that grow",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = conv2d(%1, out=$1, groups=$2)\n", "%2"),
       {"4", "2"},
       {"8", "2"}},
      {"groups written out",
       with_head("%1 = conv2d(%0, out=4)\n%2 = conv2d(%1, out=6, groups=$1)\n", "%2"),
       {"2"},
       {"1"}},
      {"group norm, whole groups", norm, {"4", "2"}, {"8", "4"}},
      {"group norm, every channel as often", norm, {"4", "2"}, {"8", "2"}},
      {"group norm, uneven", norm, {"4", "2"}, {"6", "2"}, false, 1e-3},
      {"channel shuffle",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = channel_shuffle(%1, groups=2)\n%3 = conv2d(%2, out=4)\n", "%3"),
       {"4"},
       {"6"}},
      {"gates",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = global_avg_pool(%1)\n%3 = linear(%2, out=$1)\n%4 = sigmoid(%3)\n"
                 "%5 = scale(%1, %4)\n",
                 "%5"),
       {"4"},
       {"6"}},
      {"transposed convolution",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = conv_transpose2d(%1, out=$2)\n%3 = relu(%2)\n", "%3"),
       {"4", "3"},
       {"6", "5"}},
      {"layer norm, twice as wide", block, {"8", "0.00001", "2", "12"}, {"16", "0.00001", "4", "18"}},
      {"layer norm, padded with means",
       block,
       {"8", "0.00001", "2", "12"},
       {"12", graph::attr_text(0.00001 * (8.0 / 12.0)), "3", "12"}},
      {"larger heads", block, {"8", "0.00001", "2", "12"}, {"12", graph::attr_text(0.00001 * (8.0 / 12.0)), "2", "14"}},
      {"layer norm with its old eps", block, {"8", "0.01", "2", "12"}, {"12", "0.01", "3", "12"}, false, 1e-6},
      {"kernel",
       with_head("%1 = conv2d(%0, out=4, kernel=[$1], padding=[$2], dilation=[$3])\n", "%1"),
       {"1", "0", "1"},
       {"3", "2", "2"}},
      {"kernel with a stride",
       with_head("%1 = conv2d(%0, out=4, kernel=[$1], padding=[$2], stride=[2])\n", "%1"),
       {"3", "1"},
       {"5", "2"}},
      {"kernel to one side",
       with_head("%1 = conv2d(%0, out=4, kernel=[$1], padding=$2)\n", "%1"),
       {"2", "[0,0,0,0]"},
       {"3", "[1,0,0,1]"}},
      {"stride",
       with_head("%1 = conv2d(%0, out=4, kernel=[3], padding=[1], stride=[$1])\n", "%1"),
       {"1"},
       {"2"},
       false,
       1e-3},
      {"depth behind relu", deep, {"relu", "", "%2"}, {"relu", new_layer("relu"), "%21"}},
      {"depth behind tanh", deep, {"tanh", "", "%2"}, {"tanh", new_layer("tanh"), "%21"}, false, 1e-3},
      {"relu behind what may be negative", deep, {"tanh", "", "%2"}, {"tanh", new_layer("relu"), "%21"}, false, 1e-3},
      {"units that meet in other places",
       with_head("%1 = conv2d(%0, out=$1)\n%2 = conv2d(%0, out=$2)\n"
                 "%3 = conv2d(%0, out=$3)\n%4 = concat(%2, %3)\n%5 = add(%1, %4)\n",
                 "%5"),
       {"7", "4", "3"},
       {"10", "6", "4"},
       false,
       1e-3},
      {"depth with a norm",
       deep,
       {"relu", "", "%2"},
       {"relu", "%20 = conv2d(%2, out=4, padding=[1])\n%21 = batch_norm(%20)\n%22 = relu(%21)\n", "%22"}},
      {"new residual block",
       deep,
       {"gelu", "", "%2"},
       {"gelu",
        "%20 = conv2d(%2, out=4, padding=[1])\n%21 = batch_norm(%20)\n%22 = gelu(%21)\n"
        "%23 = conv2d(%22, out=4, padding=[1])\n%24 = add(%2, %23)\n",
        "%24"}},
      {"new branch into a concat",
       deep,
       {"gelu", "", "%2"},
       {"gelu", "%20 = conv2d(%0, out=3, padding=[1])\n%21 = concat(%20, %2)\n", "%21"}},
      {"activation swapped", deep, {"relu", "", "%2"}, {"silu", "", "%2"}, false, 1e-3},
  };
}

class ExactnessTable : public ::testing::TestWithParam<Row> {};

TEST_P(ExactnessTable, HoldsInDoublePrecision) {
  const Row& row = GetParam();
  const graph::Graph parent = parsed(filled(row.model, row.before)), child = parsed(filled(row.model, row.after));

  const zoo::TransferPlan plan = planned(parent, child);
  const double max_error = distance(evaluated(parent, {}, 3), child, plan);

  EXPECT_EQ(plan.exact, row.exact) << plan.inexact_reason;
  if (row.exact) {
    EXPECT_LE(max_error, 1e-13);
  } else {
    EXPECT_FALSE(plan.inexact_reason.empty());
    EXPECT_GE(max_error, row.max_error);
  }
}
TEST_P(ExactnessTable, HoldsInSinglePrecision) {
  const Row& row = GetParam();
  const graph::Graph parent = parsed(filled(row.model, row.before)), child = parsed(filled(row.model, row.after));

  const double max_error =
      distance(evaluated(parent, {}, 3, Precision::kFloat32), child, planned(parent, child), Precision::kFloat32);

  if (row.exact) {
    EXPECT_LE(max_error, 1e-5);
  }
  if (!row.exact && row.max_error > 1e-4) {
    EXPECT_GE(max_error, row.max_error);
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, ExactnessTable, ::testing::ValuesIn(rows()));

/// Returns a model with residual blocks of two layers; the first layer of a block has `inner` units.
graph::Graph deep_model(int blocks, int width, int inner) {
  const auto number = [](int value) { return std::to_string(value); };
  std::string text = "%0 = input(shape=[6])\n%1 = linear(%0, out=" + number(width) + ")\n";
  int last = 1;
  for (int block = 0; block < blocks; ++block) {
    const int id = 10 + 10 * block;
    text += "%" + number(id) + " = layer_norm(%" + number(last) + ")\n%" + number(id + 1) + " = linear(%" + number(id) +
            ", out=" + number(inner) + ")\n%" + number(id + 2) + " = gelu(%" + number(id + 1) + ")\n%" +
            number(id + 3) + " = linear(%" + number(id + 2) + ", out=" + number(width) + ")\n%" + number(id + 4) +
            " = add(%" + number(last) + ", %" + number(id + 3) + ")\n";
    last = id + 4;
  }
  return parsed(text + "%5 = linear(%" + number(last) + ", out=3)\n%6 = output(%5)\n");
}

// The child has 62 layers with weights, of which all except the last are wider, and five new blocks.
TEST(TransferPlan, IsExactBeyondFiftyLayers) {
  const graph::Graph parent = deep_model(30, 6, 5), child = deep_model(35, 12, 11);

  const zoo::TransferPlan plan = planned(parent, child);

  EXPECT_TRUE(plan.exact) << plan.inexact_reason;
  EXPECT_LE(distance(evaluated(parent, {}, 3), child, plan), 1e-10);
  EXPECT_LE(distance(evaluated(parent, {}, 3, Precision::kFloat32), child, plan, Precision::kFloat32), 1e-4);
}

TEST(TransferPlan, GivesCopiesUnequalShares) {
  const Row row = rows().front();
  const graph::Graph parent = parsed(filled(row.model, row.before)), child = parsed(filled(row.model, row.after));

  const zoo::TransferPlan one = planned(parent, child, 1), other = planned(parent, child, 2);

  const auto second = std::ranges::find(one.tensors, "n3.weight", &zoo::TensorPlan::name);
  ASSERT_NE(second, one.tensors.end());
  const zoo::AxisMap& columns = second->axes[1];
  ASSERT_EQ(columns.times.size(), 13U);
  EXPECT_NE(columns.times[0], columns.times[5]);  // both are copies of unit 0
  EXPECT_NEAR(columns.times[0] + columns.times[5] + columns.times[10], 1.0, 1e-15);
  EXPECT_FALSE(one == other);
}

TEST(TransferPlan, KeepsTheUnitsOfTheLargestScores) {
  const Row row = rows()[1];
  const graph::Graph parent = parsed(filled(row.model, row.before)), child = parsed(filled(row.model, row.after));

  const auto plan = zoo::plan_transfer(parent, child, zoo::lineage_mapping(parent, child), graph::builtin_ops(),
                                       {.scores = {{graph::NodeId{1}, {3, 1, 4, 1.5, 9}}}});

  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const auto first = std::ranges::find(plan->tensors, "n1.weight", &zoo::TensorPlan::name);
  EXPECT_EQ(first->axes[0].from, (std::vector<std::int64_t>{0, 2, 3, 4}));
}

TEST(TransferPlan, RefusesTensorsOfOtherModel) {
  const Row row = rows().front();
  const graph::Graph parent = parsed(filled(row.model, row.before)), child = parsed(filled(row.model, row.after));
  const zoo::TransferPlan plan = planned(parent, child);
  std::vector<Tensor> weights = evaluated(parent, {}, 3).weights;

  weights[0].shape = {1, weights[0].elements()};
  const auto other_shape = zoo::apply(plan, weights, child, graph::builtin_ops(), 1);
  weights.clear();
  const auto missing = zoo::apply(plan, weights, child, graph::builtin_ops(), 1);

  ASSERT_FALSE(other_shape.ok());
  EXPECT_EQ(other_shape.error().code, Code::kInvalidArgument);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "the parent has no tensor n1.weight");
}

std::vector<mutate::BaseModel> all_bases() {
  auto bases = testing::shipped_bases(kWords);
  EXPECT_TRUE(bases.ok());
  for (mutate::BaseModel& network : testing::small_networks()) bases->push_back(std::move(network));
  for (auto& foreign : formats::testing::foreign_networks()) {
    bases->push_back({"imported " + foreign.name, std::move(foreign.model.graph)});
  }
  return *std::move(bases);
}

/// Adds two rows and columns to the kernel of a convolution, and padding that keeps its result.
void grow_kernel(mutate::Candidate& model, const graph::OpTable& ops, Rng rng) {
  const auto convolutions = model.graph.nodes_of("conv2d");
  if (convolutions.empty()) return;
  const graph::NodeId id = convolutions[rng.below(convolutions.size())];
  const graph::Node& node = model.graph.node(id);
  const auto types = graph::infer_shapes(model.graph, ops)->inputs(node);
  const graph::OpArgs args{types, node.attrs, *ops.find("conv2d")};
  const auto [rows, columns] = args.pair("kernel");
  const auto [down, right] = args.pair("dilation");
  std::vector<std::int64_t> pads = args.list("padding");
  if (pads.size() == 1) pads = {pads[0], pads[0], pads[0], pads[0]};
  if (pads.size() == 2) pads = {pads[0], pads[0], pads[1], pads[1]};
  graph::Editor edit(model.graph, ops);
  edit.set(id, "kernel", std::vector<std::int64_t>{rows + 2, columns + 2});
  edit.set(id, "padding", std::vector<std::int64_t>{pads[0] + down, pads[1] + down, pads[2] + right, pads[3] + right});
  auto edited = std::move(edit).commit();
  if (edited) model.graph = std::move(edited->graph);
}

struct Chains {
  std::int64_t made = 0, exact = 0;
  double worst = 0;
};

/// Runs chains of mutations. A plan that is marked exact must be exact, and its JSON form must give an equal plan.
Chains run_chains(const std::vector<mutate::ModelSpace>& spaces, std::uint64_t count, std::uint64_t most,
                  bool kernels) {
  Chains tally;
  for (std::uint64_t chain = 0; chain < count; ++chain) {
    const Rng rng = Rng(93).split(chain);
    const mutate::ModelSpace& space = spaces[chain % spaces.size()];
    mutate::Candidate now = space.base(static_cast<std::int64_t>(chain / spaces.size() % space.bases().size()));
    const graph::Graph parent = now.graph;
    const std::uint64_t expected = 1 + rng.split("length").key() % most;
    for (std::uint64_t attempt = 0, made = 0; made < expected && attempt < 4 * expected; ++attempt) {
      if (kernels && rng.split("kernel").split(attempt).key() % 4 == 0) {
        grow_kernel(now, space.ops(), rng.split("which").split(attempt));
        ++made;
        continue;
      }
      space::RandomChooser choose(rng.split(attempt));
      auto next = space.mutate(now, choose);
      if (!next) continue;
      now = *std::move(next);
      ++made;
    }
    const zoo::TransferPlan plan = planned(parent, now.graph, chain);
    const auto read = zoo::transfer_from_json(nlohmann::json::parse(zoo::transfer_json(plan).dump()));
    EXPECT_TRUE(read.ok() && *read == plan);
    ++tally.made;
    const double max_error = distance(evaluated(parent, {}, chain), now.graph, plan);
    if (!plan.exact) continue;
    ++tally.exact;
    tally.worst = std::max(tally.worst, max_error);
    EXPECT_LE(max_error, now.graph.size() > 50 ? 1e-10 : 1e-12) << "chain " << chain << "\n"
                                                                << graph::to_text(parent) << "\n"
                                                                << graph::to_text(now.graph);
  }
  std::printf("%ld of %ld plans are exact, the worst by %.1e\n", static_cast<long>(tally.exact),
              static_cast<long>(tally.made), tally.worst);
  return tally;
}

// A test that marked no plan as exact would pass, so 45 % of the plans must be exact. Over half are with builtin bases.
// Imported networks have fewer, because their normalisations and activations often allow no identity.
TEST(TransferPlan, IsExactForGrowthAndNeverFalselyExact) {
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const auto& plugin : mutate::builtin_mutators()) {
    if (plugin.name != "widen" && plugin.name != "deepen" && plugin.name != "add_skip") continue;
    Options given = plugin.name == "widen" ? Options{{"by", {1.5, 2.0}}} : Options::object();
    const auto options = resolve_options(given, plugin.options);
    ASSERT_TRUE(options.ok()) << options.error().text();
    mutators.push_back(*plugin.make(*options));
  }
  auto space = mutate::ModelSpace::make(graph::builtin_ops(), all_bases(), mutators, mutate::RepairPolicy{},
                                        {.params = 3e5, .flops = 2e7});
  ASSERT_TRUE(space.ok()) << space.error().text();
  std::vector<mutate::ModelSpace> spaces;
  spaces.push_back(*std::move(space));

  const Chains tally = run_chains(spaces, zoo::testing::cases(1000), 4, true);

  EXPECT_GE(tally.exact * 20, tally.made * 9);
}

TEST(TransferPlan, IsNeverFalselyExactOverMutationChains) {
  const auto spaces = testing::mutation_spaces(all_bases(), {.params = 1e5, .flops = 1e7});
  ASSERT_TRUE(spaces.ok()) << spaces.error().text();

  const Chains tally = run_chains(*spaces, 300, 4, false);

  EXPECT_GT(tally.exact * 20, tally.made);
}

}  // namespace
}  // namespace lanista
