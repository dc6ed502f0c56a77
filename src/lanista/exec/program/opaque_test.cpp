// Operators of a caller: x times the logistic function of beta x, with a trained beta a channel.
#include "lanista/exec/program/opaque.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

graph::OpDef swish_beta() {
  graph::OpDef def;
  def.name = "swish_beta";
  def.help = "x times the logistic function of beta x.";
  def.attrs = {graph::ops::optional_real("gain", 1, graph::AttrRole::kStatic, "factor")};
  def.infer = graph::ops::infer_same;
  def.params = [](const graph::OpArgs& args) -> std::vector<graph::ParamSpec> {
    const graph::Shape& shape = graph::ops::shape_of(args);
    return {{"beta", graph::ops::unbatched({shape.dims[graph::ops::channel_dim(shape)]}), true, graph::Init::kOnes, 0}};
  };
  return def;
}

struct SwishBeta {
  template <class T>
  struct Element {
    T x, logistic, beta;
  };
  template <class T, class F>
  static void each(const OpaqueCall<T>& call, F f) {
    const graph::Shape& shape = call.args.inputs[0].shape;
    const auto channels = static_cast<std::size_t>(shape.dims[graph::ops::channel_dim(shape)]);
    const std::size_t run = shape.rank() == 4 ? static_cast<std::size_t>(shape.dims[2] * shape.dims[3]) : 1;
    for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
      const std::size_t channel = i / run % channels;
      const T beta = call.params[0][channel], x = call.inputs[0][i];
      f(i, channel, Element<T>{x, 1 / (1 + std::exp(-beta * x)), beta});
    }
  }
  template <class T>
  void forward(const OpaqueCall<T>& call) const {
    const T gain = static_cast<T>(call.args.real("gain"));
    each(call, [&](std::size_t i, std::size_t, const Element<T>& e) { call.results[0][i] = gain * e.x * e.logistic; });
  }
  template <class T>
  void backward(const OpaqueCall<T>& call) const {
    const T gain = static_cast<T>(call.args.real("gain"));
    each(call, [&](std::size_t i, std::size_t channel, const Element<T>& e) {
      const T slope = e.logistic * (1 - e.logistic);
      call.results[0][i] = gain * call.dy[i] * (e.logistic + e.x * e.beta * slope);
      call.results[1][channel] += gain * call.dy[i] * e.x * e.x * slope;
    });
  }
};

Operators with_swish_beta() {
  Operators operators;
  const auto added = operators.add(swish_beta(), SwishBeta{});
  EXPECT_TRUE(added.ok()) << added.error().text();
  return operators;
}

Derived derived_with(const Operators& operators, const std::string& text) {
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  const auto model = graph::parse(text);
  const auto train = autodiff::derive_training_step(*model, {}, ops);
  EXPECT_TRUE(train.ok()) << train.error().text();
  const auto infer = autodiff::derive_inference_step(*model, ops);
  EXPECT_TRUE(infer.ok()) << infer.error().text();
  return {*model, *train, *infer};
}

constexpr const char* kDense =
    "%0 = input(shape=[5])\n%1 = linear(%0, out=4)\n%2 = swish_beta(%1, gain=0.5)\n%3 = linear(%2, out=3)\n"
    "%4 = output(%3)\n";
constexpr const char* kImage =
    "%0 = input(shape=[2,4,3])\n%1 = conv2d(%0, out=3, kernel=[1])\n%2 = swish_beta(%1)\n%3 = flatten(%2)\n"
    "%4 = linear(%3, out=3)\n%5 = output(%4)\n";

TEST(OpaqueOperator, HasTheGradientOfItsKernel) {
  constexpr double kStep = 1e-6;
  const Operators operators = with_swish_beta();
  for (const char* text : {kDense, kImage}) {
    const Derived derived = derived_with(operators, text);
    Program program = compile(derived, {.max_batch = 4, .precision = Precision::kFloat64, .operators = &operators});
    program.initialise(0, 8);
    const OwnedBatch batch = random_batch(derived, 4, 21);
    std::vector<Tensor> state = program.extract(0);
    const std::vector<Tensor> before = state;
    step_once(program, batch, {.lr = 1});
    const std::vector<Tensor> after = program.extract(0);

    for (Tensor& tensor : state) {
      if (tensor.name.find('/') != std::string::npos || tensor.type != ElementType::kF64) continue;
      const auto loss_at = [&](std::size_t e, double value) {
        const double old = elements_of<double>(tensor)[e];
        elements_of<double>(tensor)[e] = value;
        EXPECT_TRUE(program.insert(0, state));
        const double loss = step_once(program, batch, {.lr = 0});
        elements_of<double>(tensor)[e] = old;
        return loss;
      };
      const auto old = elements_of<double>(tensor_named(before, tensor.name));
      const auto moved = elements_of<double>(tensor_named(after, tensor.name));
      for (std::size_t e = 0; e < old.size(); ++e) {
        const double slope = (loss_at(e, old[e] + kStep) - loss_at(e, old[e] - kStep)) / (2 * kStep);
        EXPECT_NEAR(old[e] - moved[e], slope, 1e-7) << tensor.name << " element " << e;
      }
    }
  }
}

TEST(OpaqueOperator, EqualsItsComposition) {
  const Operators operators = with_swish_beta();
  const std::string text(kImage);
  std::string shipped = text;
  shipped.replace(shipped.find("swish_beta"), 10, "silu");
  const Derived own = derived_with(operators, text), parts = derived_with(operators, shipped);
  Program a = compile(own, {.lanes = 2, .max_batch = 5, .operators = &operators});
  Program b = compile(parts, {.max_batch = 5});
  a.initialise(0, 1);
  a.initialise(1, 3);
  b.initialise(0, 3);
  const OwnedBatch batch = random_batch(own, 3, 4);

  std::vector<float> seen(9), want(9);
  a.predict(1, batch.view(), seen);
  b.predict(0, batch.view(), want);

  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], want[i], 1e-5F) << i;
}

// Waits in a call until another thread is in one too, or until a time limit, then computes.
struct ConcurrencyCheckingSwish : SwishBeta {
  std::shared_ptr<std::atomic<int>> arrived = std::make_shared<std::atomic<int>>(0);
  void meet() const {
    const int mine = ++*arrived;
    for (int i = 0; i < 2000 && arrived->load() < mine + mine % 2; ++i) std::this_thread::yield();
  }
  template <class T>
  void forward(const OpaqueCall<T>& call) const {
    meet();
    SwishBeta::forward(call);
  }
  template <class T>
  void backward(const OpaqueCall<T>& call) const {
    meet();
    SwishBeta::backward(call);
  }
};

TEST(OpaqueOperator, GivesEachLaneItsOwnResultOnAnyThreadCount) {
  constexpr std::int64_t kLanes = 6;
  Operators operators;
  ASSERT_TRUE(operators.add(swish_beta(), ConcurrencyCheckingSwish{}).ok());
  for (const char* text : {kDense, kImage}) {
    const Derived derived = derived_with(operators, text);
    const OwnedBatch batch = random_batch(derived, 4, 6);
    const Batch view = batch.view();
    const std::vector<LaneHyper> hyper(kLanes, {.lr = 0.1});
    const std::vector<std::uint8_t> active(kLanes, 1);
    std::vector<std::vector<double>> losses;
    for (const int threads : {1, 2, 4}) {
      Program program =
          compile(derived, {.lanes = kLanes, .max_batch = 4, .threads = threads, .operators = &operators});
      for (std::int64_t lane = 0; lane < kLanes; ++lane) program.initialise(lane, static_cast<std::uint64_t>(lane));
      auto& all = losses.emplace_back();
      for (int step = 0; step < 20; ++step) {
        std::vector<double> loss(kLanes);
        program.train_step({&view, 1}, hyper, active, loss);
        all.insert(all.end(), loss.begin(), loss.end());
      }
    }
    EXPECT_EQ(losses[1], losses[0]);
    EXPECT_EQ(losses[2], losses[0]);
  }
}

TEST(OpaqueOperator, NeedsItsKernel) {
  const Operators operators = with_swish_beta();
  const Derived derived = derived_with(operators, kDense);

  const auto program = Program::compile(derived.train, derived.infer, {});

  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, Code::kUnimplemented);
  EXPECT_EQ(program.error().message, "operator 'swish_beta' (node %7) has no kernel on the CPU");
}

TEST(OpaqueOperator, IsRejectedWhereNoKernelCanRunIt) {
  const auto message = [](const std::function<void(graph::OpDef&)>& change) {
    Operators operators;
    graph::OpDef def = swish_beta();
    change(def);
    const auto added = operators.add(std::move(def), SwishBeta{});
    return added ? std::string("taken") : added.error().message;
  };
  EXPECT_EQ(message([](auto&) {}), "taken");
  EXPECT_EQ(message([](auto& def) { def.name = "relu"; }), "operator relu is already in the table");
  EXPECT_EQ(message([](auto& def) { def.infer = {}; }), "operator \"swish_beta\": there is no inference rule");
  EXPECT_EQ(message([](auto& def) { def.max_inputs = -1; }),
            "operator \"swish_beta\": an opaque operator has a fixed number of inputs, at least one");
  EXPECT_EQ(
      message([](auto& def) { def.train_form = "swish_beta_train"; }),
      "operator \"swish_beta\": an opaque operator has a kernel in place of a gradient rule, parts, train form or "
      "buffer updates");
}

TEST(OpaqueOperator, RejectsNonRealValues) {
  Operators operators;
  graph::OpDef def = swish_beta();
  def.infer = [](const graph::OpArgs& args) {
    return Result<std::vector<graph::ValueType>>({args.inputs[0], args.inputs[0]});
  };
  ASSERT_TRUE(operators.add(std::move(def), SwishBeta{}).ok());

  const auto verdict = graph::verify(*graph::parse(kDense), operators.table());

  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("gives one value of real numbers"), std::string::npos)
      << verdict.error().message;
}

}  // namespace
}  // namespace lanista::program
