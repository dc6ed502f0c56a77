#include "lanista/exec/program/program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

TEST(Program, OverfitsOneBatch) {
  const Derived derived = derive(small_mlp());
  Program program = compile(derived, {});
  program.initialise(0, 1);
  const OwnedBatch batch = random_batch(derived, 32, 2);

  const double first = step_once(program, batch, {.lr = 0.1});
  for (int i = 0; i < 200; ++i) step_once(program, batch, {.lr = 0.1});
  const double last = step_once(program, batch, {.lr = 0.1});

  EXPECT_NEAR(first, std::log(10.0), 0.5);
  EXPECT_LT(last, 0.05);
  EXPECT_EQ(program.step_count(0), 202);
}

TEST(Program, PredictsTheSameInBothElementTypes) {
  const Derived derived = derive(small_cnn());
  Program program = compile(derived, {.max_batch = 4});
  program.initialise(0, 1);
  const OwnedBatch batch = random_batch(derived, 3, 2);
  std::vector<float> narrow(30);
  std::vector<double> wide(30);

  program.predict(0, batch.view(), narrow);
  program.predict(0, batch.view(), wide);

  EXPECT_EQ(program.prediction_size(), 10);
  EXPECT_EQ(std::vector<double>(narrow.begin(), narrow.end()), wide);
}

TEST(Program, GivesASampleTheSamePredictionInAnyBatch) {
  const Derived derived = derive(small_cnn());
  Program program = compile(derived, {.max_batch = 7});
  program.initialise(0, 1);
  const OwnedBatch batch = random_batch(derived, 7, 2);
  std::vector<float> together(70);
  program.predict(0, batch.view(), together);

  for (std::size_t s = 0; s < 7; ++s) {
    std::vector<float> own(10);
    Batch single = batch.view();
    single.size = 1;
    single.features = single.features.subspan(s * 64, 64);
    program.predict(0, single, own);
    EXPECT_TRUE(std::equal(own.begin(), own.end(), together.begin() + static_cast<std::ptrdiff_t>(10 * s)));
  }
}

TEST(Program, InitialisesFromSeedNameAndElementOnly) {
  const Derived derived = derive(small_cnn());
  Program program = compile(derived, {.lanes = 2, .precision = Precision::kFloat64});
  program.initialise(0, 42);
  program.initialise(1, 43);

  const auto state = program.extract(0);
  const Tensor& weight = tensor_named(state, "n4.weight");
  ASSERT_EQ(weight.shape, (std::vector<std::int64_t>{32, 16, 3, 3}));
  const std::uint64_t key = Rng(42).split("n4.weight").key();
  double largest = 0;
  for (std::int64_t e = 0; e < weight.elements(); ++e) {
    const auto words = philox(key, 0, static_cast<std::uint64_t>(e));
    const double unit = static_cast<double>((std::uint64_t{words[1]} << 32 | words[0]) >> 11) / 9007199254740992.0;
    const double value = elements_of<double>(weight)[static_cast<std::size_t>(e)];
    ASSERT_NEAR(value, (2 * unit - 1) / 12, 1e-16) << e;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_GT(largest, 0.9 / 12);
  EXPECT_EQ(elements_of<std::int64_t>(tensor_named(state, "seed"))[0], 42);
  EXPECT_EQ(elements_of<std::int64_t>(tensor_named(state, "step"))[0], 0);
  EXPECT_NE(tensor_named(program.extract(1), "n4.weight").bytes, weight.bytes);
}

TEST(Program, StartsNormsAtOneAndZero) {
  const Derived derived = derive(model_named("batch_norm"));
  Program program = compile(derived, {});
  program.initialise(0, 42);
  step_once(program, random_batch(derived, 8, 1), {});
  program.initialise(0, 42);

  const auto state = program.extract(0);
  for (const auto& [name, value] :
       {std::pair("n2.weight", 1.0F), std::pair("n2.bias", 0.0F), std::pair("n2.running_mean", 0.0F),
        std::pair("n2.running_var", 1.0F), std::pair("n2.weight/momentum", 0.0F)}) {
    for (const float element : elements_of<float>(tensor_named(state, name))) EXPECT_EQ(element, value) << name;
  }
}

TEST(Program, HoldsTheSlotsOfItsOptimiser) {
  const auto names = [](const std::string& optimizer) {
    std::string all;
    for (const Tensor& tensor : compile(derive(model_named("batch_norm_plain"), optimizer), {}).extract(0)) {
      all += tensor.name + " ";
    }
    return all;
  };

  EXPECT_EQ(names("sgd"),
            "n1.weight n1.bias n4.weight n4.bias n2.running_mean n2.running_var n1.weight/momentum n1.bias/momentum "
            "n4.weight/momentum n4.bias/momentum step seed ");
  EXPECT_EQ(names("adamw"), names("adam"));
  EXPECT_NE(names("adam").find("n4.bias/m n4.bias/v step seed"), std::string::npos);
}

TEST(Program, RejectsStatesThatDoNotFitAndStaysUnchanged) {
  Program program = compile(derive(model_named("mlp")), {.lanes = 2});
  program.initialise(0, 1);
  program.initialise(1, 2);
  const std::vector<Tensor> before = program.extract(0);
  const std::vector<Tensor> other = program.extract(1);
  const auto refusal = [&](const std::function<void(std::vector<Tensor>&)>& spoil) {
    std::vector<Tensor> state = other;
    spoil(state);
    const auto inserted = program.insert(0, state);
    EXPECT_FALSE(inserted);
    EXPECT_EQ(program.extract(0), before);
    if (inserted) return std::string();
    EXPECT_EQ(inserted.error().code, Code::kInvalidArgument);
    return inserted.error().message;
  };

  EXPECT_EQ(refusal([](auto& state) { state.erase(state.begin()); }), "state of a lane: tensor 'n1.weight' is missing");
  EXPECT_EQ(refusal([](auto& state) { state[0].name = "n9.weight"; }),
            "state of a lane: tensor 'n1.weight' is missing");
  EXPECT_EQ(refusal([](auto& state) { state.emplace_back().name = "extra"; }),
            "state of a lane: tensor 'extra' is unknown to this program");
  EXPECT_EQ(refusal([](auto& state) { state.push_back(state[0]); }),
            "state of a lane: tensor 'n1.weight' stands twice");
  EXPECT_EQ(refusal([](auto& state) {
              state[0].shape = {6, 8};
            }),
            "state of a lane: tensor 'n1.weight' has shape [6, 8], but [8, 6] is wanted");
  EXPECT_EQ(refusal([](auto& state) { state[0].type = ElementType::kF64; }),
            "state of a lane: tensor 'n1.weight' has another element type than the program");
  EXPECT_EQ(refusal([](auto& state) { state[0].bytes.pop_back(); }),
            "state of a lane: tensor 'n1.weight' has 191 bytes for 48 elements");
}

TEST(Program, ReservesBudgetBeforeAllocating) {
  const Derived derived = derive(small_cnn());
  MemoryBudget budget(1 << 26);
  std::int64_t bytes = 0;
  {
    const Program program = compile(derived, {.lanes = 4, .budget = &budget});
    bytes = program.bytes();
    EXPECT_EQ(budget.used(), bytes);
  }
  EXPECT_EQ(budget.used(), 0);

  const std::int64_t without = compile_empty(derived, {.lanes = 4}).bytes();
  MemoryBudget none(without - 1);
  const auto refused = Program::compile(derived.train, derived.infer, {.lanes = 4, .budget = &none});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);

  MemoryBudget tight(bytes - 1);  // for all states but the last
  Program program = compile_empty(derived, {.lanes = 4, .budget = &tight});
  for (std::int64_t lane = 0; lane < 3; ++lane) EXPECT_TRUE(program.begin(lane, 0));
  const auto last = program.begin(3, 0);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Code::kResourceExhausted);
}

TEST(Program, GrowsByOneStatePerLane) {
  const Derived derived = derive(small_cnn());
  const auto bytes = [&](std::int64_t lanes) { return compile(derived, {.lanes = lanes}).bytes(); };

  const std::int64_t lane = bytes(2) - bytes(1);
  std::int64_t parameters = 0;
  for (const auto& tensor : derived.train.state) parameters += tensor.shape.elements_per_sample();

  EXPECT_EQ(bytes(9) - bytes(1), 8 * lane);
  EXPECT_GE(lane, 2 * 4 * parameters);  // parameters, momenta; gradients are a thread's
  EXPECT_LE(lane, 2 * 4 * parameters + 4 * 64);
}

TEST(Program, RejectsInvalidOptions) {
  const Derived derived = derive(small_mlp());
  for (const ProgramOptions& options : {ProgramOptions{.lanes = 0}, ProgramOptions{.max_batch = 0}}) {
    const auto refused = Program::compile(derived.train, derived.infer, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

TEST(Program, NamesTheOperatorThatHasNoKernel) {
  Derived derived = derive(small_mlp());
  graph::GraphBuilder builder(derived.train.graph);
  graph::Node node = derived.train.graph.node(derived.train.graph.nodes_of("linear")[0]);
  node.op = "warp";
  builder.put(node);
  derived.train.graph = std::move(builder).take();

  const auto refused = Program::compile(derived.train, derived.infer, {});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_NE(refused.error().message.find("'warp'"), std::string::npos);
}

TEST(Program, ChecksItsBatches) {
  const Derived derived = derive(small_mlp());
  Program program = compile(derived, {.max_batch = 4});
  program.initialise(0, 1);

  EXPECT_THROW(step_once(program, random_batch(derived, 5, 1), {}), InternalError);
  OwnedBatch batch = random_batch(derived, 4, 1);
  batch.labels[2] = 10;
  EXPECT_THROW(step_once(program, batch, {}), InternalError);
  batch.labels[2] = -1;
  EXPECT_THROW(step_once(program, batch, {}), InternalError);
  batch.labels.pop_back();
  EXPECT_THROW(step_once(program, batch, {}), InternalError);
  batch.features.pop_back();
  EXPECT_THROW(step_once(program, batch, {}), InternalError);
  EXPECT_EQ(program.step_count(0), 0);
}

TEST(Program, DescribesItself) {
  const std::string text = compile(derive(small_cnn()), {.lanes = 2}).describe();

  EXPECT_NE(text.find("float32"), std::string::npos);
  EXPECT_NE(text.find("2 lanes"), std::string::npos);
  EXPECT_NE(text.find("state n4.weight [32, 16, 3, 3] khwio parameter+"), std::string::npos);
  EXPECT_NE(text.find("relu_max_pool2d_train"), std::string::npos);
  EXPECT_EQ(text.find(" relu("), std::string::npos);
}

TEST(CausalMask, HidesLaterPositionsIncludingNan) {
  const Derived derived = derive({"masked",
                                  "%0 = input(shape=[4,4])\n%1 = causal_mask(%0)\n%2 = softmax(%1)\n"
                                  "%3 = flatten(%2)\n%4 = linear(%3, out=5)\n%5 = output(%4)\n",
                                  "mse"});
  Program program = compile(derived, {.max_batch = 2});
  program.initialise(0, 1);
  const auto predicted = [&](float later) {
    OwnedBatch batch = random_batch(derived, 2, 3);
    for (std::size_t i = 0; i < batch.features.size(); ++i) {
      if (i % 4 > i / 4 % 4) batch.features[i] = later;
    }
    std::vector<double> y(10);
    program.predict(0, batch.view(), y);
    return y;
  };

  const auto wanted = predicted(0);

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float later : {3e38F, -3e38F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(predicted(later), wanted) << later;
  }
}

}  // namespace
}  // namespace lanista::program
