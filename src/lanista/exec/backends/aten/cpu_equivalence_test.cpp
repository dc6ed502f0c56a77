// Equivalence tests: the same trials with CPU kernels and on a device, twenty steps each. By default each model runs
// with one recipe in one precision.
// LANISTA_FULL_EQUIVALENCE=1 runs every model with every recipe on more lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "lanista/base/rng.h"
#include "support/exec/backends/aten/random_row_models.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

constexpr std::int64_t kSteps = 20;

struct EquivalenceCase {
  TestModel model;
  Recipe recipe;
  Precision precision = Precision::kFloat64;
  std::int64_t lanes = 1;
  bool one_rate = false;     ///< one learning rate for all parameters of every lane
  double disturbance = 0;    ///< relative change of every initial parameter
  std::uint64_t sample = 0;  ///< seed of the disturbances
};

void disturb(program::Program& program, std::int64_t lane, double size, std::uint64_t sample) {
  std::vector<Tensor> state = program.extract(lane);
  Rng rng(99 + sample);
  for (Tensor& tensor : state) {
    const auto each = [&](auto values) {
      for (auto& value : values)
        value *= static_cast<std::decay_t<decltype(value)>>(1 + size * (2 * rng.uniform() - 1));
    };
    if (tensor.type == ElementType::kF64) each(elements_of<double>(tensor));
    if (tensor.type == ElementType::kF32) each(elements_of<float>(tensor));
  }
  LANISTA_CHECK(program.insert(lane, state).ok(), "the state of the same program");
}

// Every fifth batch is short. In every fourth step, each lane reads its own batch, and sizes and weights differ.
std::vector<OwnedBatch> batches_of(const Derived& derived, std::int64_t step, std::int64_t lanes) {
  const bool apart = step % 4 == 3 && lanes > 1;
  std::vector<OwnedBatch> owned;
  for (std::int64_t i = 0; i < (apart ? lanes : 1); ++i) {
    const std::int64_t size = step % 5 == 4 ? 3 : apart && i % 2 == 1 ? 5 : kBatch;
    owned.push_back(random_batch(derived, size, static_cast<std::uint64_t>(7000 + step * 20 + i)));
    for (std::int64_t n = 0; step % 6 == 3 && i < 2 && n < size; ++n) {
      owned.back().weights.push_back(0.5F * static_cast<float>(n % 4));
    }
  }
  return owned;
}

TrainingRun train(const EquivalenceCase& s, const program::Backend& backend) {
  const Derived derived = derive(s.model, s.recipe.optimizer);
  TrainingRun trained{
      compile(derived, {.lanes = s.lanes, .max_batch = kBatch, .precision = s.precision, .backend = &backend}), {}};
  program::Program& program = trained.program;
  for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
    program.initialise(lane, 7 + static_cast<std::uint64_t>(lane));
    if (s.disturbance > 0) disturb(program, lane, s.disturbance, s.sample);
  }
  std::vector<std::vector<double>> numbers(static_cast<std::size_t>(s.lanes));
  for (std::size_t lane = 1; lane < numbers.size(); ++lane) {
    for (const program::LaneAttr& each : program.lane_attrs()) numbers[lane].push_back(each.value * 0.7);
  }
  // The first lane trains at one rate; the others have factors for arbitrary ranges.
  std::vector<std::vector<program::LrRange>> lr_ranges(numbers.size());
  for (std::size_t lane = 1; lane < lr_ranges.size() && !s.one_rate; ++lane) {
    const std::int64_t third = std::max<std::int64_t>(1, program.state_format().layout().parameters / 3),
                       own = static_cast<std::int64_t>(lane);
    lr_ranges[lane] = {{own % third, third, 0.25}, {2 * third, third - own % third, 1.5}};
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::vector<OwnedBatch> owned = batches_of(derived, step, s.lanes);
    std::vector<program::Batch> batches;
    for (const OwnedBatch& each : owned) batches.push_back(each.view());
    std::vector<program::LaneHyper> hyper;
    for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
      hyper.push_back(s.recipe.at(lane, step));
      hyper.back().lane_attrs = numbers[static_cast<std::size_t>(lane)];
      hyper.back().lr_ranges = lr_ranges[static_cast<std::size_t>(lane)];
    }
    const std::vector<std::uint8_t> active(static_cast<std::size_t>(s.lanes), 1);
    std::vector<double> loss(static_cast<std::size_t>(s.lanes));
    program.train_step(batches, hyper, active, loss);
    trained.losses.push_back(loss);
  }
  return trained;
}

// Allowed error. Where rounding alone causes more, the bound is the change after a disturbance of the start by one
// rounding, as in `model_oracle`. The usual reason is a bias with a gradient that is zero in exact arithmetic.
struct ErrorBound {
  double usual, rounding, times;
};

ErrorBound bound_of(Precision precision) {
  return precision == Precision::kFloat64 ? ErrorBound{1e-10, 1e-15, 100} : ErrorBound{1e-5, 1e-6, 10};
}

struct ErrorTally {
  int cases = 0, ill_conditioned = 0;
  double worst = 0;  ///< largest error of the other cases
};

void compare(const EquivalenceCase& s, const program::Backend& backend, ErrorTally& tally) {
  const TrainingRun own = train(s, program::cpu_backend());
  std::string where;
  const double far = train(s, backend).distance(own, &where);
  const ErrorBound bound = bound_of(s.precision);
  ++tally.cases;
  if (far <= bound.usual) {
    tally.worst = std::max(tally.worst, far);
    return;
  }
  ++tally.ill_conditioned;
  EquivalenceCase away = s;
  away.disturbance = bound.rounding;
  // Samples fall on different sides of a kink, so one sample may not be enough.
  double rounding = 0;
  for (constexpr std::uint64_t kSamples = 16; away.sample < kSamples && far > bound.times * rounding; ++away.sample) {
    rounding = std::max(rounding, train(away, program::cpu_backend()).distance(own));
  }
  EXPECT_LE(far, bound.times * rounding) << s.model.name << " " << s.recipe.name << " at " << where
                                         << ", with a rounding error of " << rounding;
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

void compare_all(Precision precision, const program::Backend& backend) {
  const std::vector<TestModel> models = operator_models();
  const std::vector<Recipe> all = recipes();
  const std::vector<std::int64_t> lanes =
      runs_all_cases() ? std::vector<std::int64_t>{1, 3, 16} : std::vector<std::int64_t>{2};
  ErrorTally tally;
  const std::size_t turn = precision == Precision::kFloat64 ? 0 : 1;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!runs_all_cases() && (i % 2 != turn || r != i / 2 % all.size())) continue;
      for (const std::int64_t count : lanes) compare({models[i], all[r], precision, count, i % 4 >= 2}, backend, tally);
    }
  }
  ::testing::Test::RecordProperty("cases", tally.cases);
  ::testing::Test::RecordProperty("ill_conditioned", tally.ill_conditioned);
  ::testing::Test::RecordProperty("worst", text_of(tally.worst));
  EXPECT_LT(tally.ill_conditioned, tally.cases / 4);
}

class CpuEquivalence : public DeviceTest {};

TEST_P(CpuEquivalence, AgreesInFloat64OverTwentySteps) { compare_all(Precision::kFloat64, backend()); }
TEST_P(CpuEquivalence, AgreesInFloat32OverTwentySteps) { compare_all(Precision::kFloat32, backend()); }

TEST_P(CpuEquivalence, AgreesForEveryRecipe) {
  ErrorTally tally;
  for (const Recipe& recipe : recipes()) {
    for (const bool one_rate : {false, true}) {
      compare({small_cnn(), recipe, Precision::kFloat64, 3, one_rate}, backend(), tally);
    }
  }
  EXPECT_EQ(tally.ill_conditioned, 0);
}

// Two convolutions with random attributes and a pool between them. Some sizes are multiples of the kernels' vector
// width, and some are not.
TestModel random_convolutions(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[rng.below(all.size())]);
  };
  const auto number = [&](std::int64_t low, std::int64_t high) { return std::to_string(rng.between(low, high)); };
  const auto convolution = [&](const char* from, std::int64_t channels, std::int64_t reach) {
    const std::int64_t groups = channels % 4 == 0 && rng.bernoulli(0.3) ? (rng.bernoulli(0.5) ? channels : 4) : 1;
    const std::string out = groups == channels ? std::to_string(channels)
                            : groups > 1       ? one_of({"8", "16"})
                                               : one_of({"3", "8", "16", "20", "24"});
    return "conv2d(" + std::string(from) + ", out=" + out + ", kernel=[" + number(1, 3) + "," + number(1, 3) +
           "], stride=[" + number(1, 2) + "," + number(1, 2) + "], padding=[" + number(0, 2) + "," + number(0, 2) +
           "," + number(0, 2) + "," + number(0, 2) + "], dilation=[" + number(1, reach) + "," + number(1, reach) +
           "], groups=" + std::to_string(groups) + ", bias=" + one_of({"true", "false"}) + ")";
  };
  const std::int64_t channels = rng.between(1, 9), side = rng.between(18, 22);
  std::vector<std::string> lines{convolution("%0", channels, 2)};
  const std::int64_t between = std::stoll(lines[0].substr(lines[0].find("out=") + 4));
  lines.push_back(one_of({"relu(%1)", "silu(%1)", "hard_swish(%1)", "batch_norm(%1)"}));
  lines.push_back(one_of({"max_pool2d(%2, kernel=[2])", "avg_pool2d(%2, kernel=[3], stride=[1], padding=[1])",
                          "max_pool2d(%2, kernel=[3], stride=[1], padding=[1])"}));
  lines.push_back(convolution("%3", between, 1));
  lines.push_back(one_of({"gelu(%4)", "relu(%4)", "clip(%4, min=0, max=6)"}));
  lines.insert(lines.end(), {"flatten(%5)", "linear(%6, out=10)"});
  lines.push_back("output(%7)");
  const std::string size = std::to_string(side);
  std::string text = "%0 = input(shape=[" + std::to_string(channels) + "," + size + "," + size + "], dtype=\"real\")\n";
  for (std::size_t i = 0; i < lines.size(); ++i) text += "%" + std::to_string(i + 1) + " = " + lines[i] + "\n";
  return {.name = "random_" + std::to_string(seed), .text = text};
}

TEST_P(CpuEquivalence, AgreesForRandomConvolutions) {
  ErrorTally tally;
  const std::uint64_t count = runs_all_cases() ? 300 : 12;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Precision precision = seed % 2 == 0 ? Precision::kFloat64 : Precision::kFloat32;
    compare({random_convolutions(seed), recipes()[seed % recipes().size()], precision,
             1 + static_cast<std::int64_t>(seed / 2 % 2), seed % 3 == 0},
            backend(), tally);
  }
  EXPECT_LT(tally.ill_conditioned, tally.cases / 3);
}

// An image of one or four pixels with a large stride: some outputs see only padding, and no output reads some pixels.
TestModel random_small_convolution(std::uint64_t seed) {
  Rng rng(seed);
  const auto number = [&](std::int64_t low, std::int64_t high) { return std::to_string(rng.between(low, high)); };
  const std::string sizes = "[4," + number(1, 2) + "," + number(1, 2) + "]";
  const std::string groups = rng.bernoulli(0.5) ? "4" : "1";
  return {.name = "random_small_" + std::to_string(seed),
          .text = "%0 = input(shape=[4,6])\n%1 = linear(%0, out=6)\n%2 = flatten(%1)\n%3 = linear(%2, out=" +
                  std::to_string(4 * (sizes[3] - '0') * (sizes[5] - '0')) + ")\n%4 = reshape(%3, shape=" + sizes +
                  ")\n%5 = conv2d(%4, out=8, kernel=[1,1], stride=[" + number(1, 6) + "," + number(1, 6) +
                  "], padding=[" + number(0, 4) + "," + number(0, 1) + "," + number(0, 4) + "," + number(0, 1) +
                  "], groups=" + groups + ")\n%6 = flatten(%5)\n%7 = linear(%6, out=10)\n%8 = output(%7)\n"};
}

TEST_P(CpuEquivalence, AgreesForConvolutionsLargerThanTheImage) {
  ErrorTally tally;
  const std::uint64_t count = runs_all_cases() ? 300 : 20;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    compare({random_small_convolution(seed), recipes()[0], Precision::kFloat64, 2, false}, backend(), tally);
  }
  EXPECT_EQ(tally.ill_conditioned, 0);
}

// Plain gradient descent, because the key bias of attention has no gradient except rounding, which other optimisers
// amplify.
TEST_P(CpuEquivalence, AgreesForRandomRowModels) {
  ErrorTally tally;
  const std::uint64_t count = runs_all_cases() ? 300 : 24;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    compare({random_row_model(seed), recipes()[seed % 3], Precision::kFloat64,
             1 + static_cast<std::int64_t>(seed / 3 % 3), seed % 3 == 0},
            backend(), tally);
  }
  EXPECT_LT(tally.ill_conditioned, tally.cases / 10);
}

// Ensures that the tests above cover fusions.
TEST_P(CpuEquivalence, FusesWhereAllowed) {
  if (GetParam() == std::string("cpu")) GTEST_SKIP() << "torch:cpu has no lane kernels";
  const TestModel rows{.name = "rows",
                       .text =
                           "%0 = input(shape=[5,8])\n%1 = attention(%0, heads=2)\n%2 = linear(%1, out=16)\n"
                           "%3 = gelu(%2)\n%4 = linear(%3, out=8)\n%5 = add(%1, %4)\n%6 = flatten(%5)\n"
                           "%7 = linear(%6, out=10)\n%8 = output(%7)\n"};
  const TestModel image{.name = "image",
                        .text =
                            "%0 = input(shape=[3,6,6])\n%1 = conv2d(%0, out=8)\n%2 = batch_norm(%1)\n"
                            "%3 = relu(%2)\n%4 = flatten(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n"};
  const auto plan_of = [&](const TestModel& model) {
    return compile(derive(model, "sgd"), {.lanes = 2, .max_batch = kBatch, .backend = &backend()}).describe();
  };
  const TestModel tokens{
      .name = "tokens",
      .text =
          "%0 = input(shape=[5], dtype=\"index\")\n%1 = embedding(%0, vocab=11, dim=8)\n"
          "%2 = positional_embedding(%1)\n%3 = layer_norm(%2)\n%4 = linear(%3, out=8)\n%5 = add(%4, %2)\n"
          "%6 = layer_norm(%5)\n%7 = mean(%6, axes=[1])\n%8 = linear(%7, out=10)\n%9 = output(%8)\n"};
  const std::string of_rows = plan_of(rows), of_image = plan_of(image), of_tokens = plan_of(tokens);
  for (const char* join :
       {"linear+gelu", "linear+add", "linear_grad_x+gelu_grad", "linear_grad_w+channel_sum", "matmul+scale_by",
        "linear_grad_w+channel_sum+update", "softmax_grad+scale_by", "matmul+transpose",
        "cross_entropy+cross_entropy_grad", "matmul+slice_grad+matmul+slice_grad+matmul+slice_grad+add+transpose"}) {
    EXPECT_NE(of_rows.find(join), std::string::npos) << join << "\n" << of_rows;
  }
  EXPECT_NE(of_image.find("batch_norm_train+relu"), std::string::npos) << of_image;
  for (const char* join : {"embedding+positional_embedding", "linear+add", "layer_norm_grad+add",
                           "layer_norm_train+mean", "linear_grad_x+mean_grad"}) {
    EXPECT_NE(of_tokens.find(join), std::string::npos) << join << "\n" << of_tokens;
  }
}

// One of two lanes, over several steps, so that the moments of the optimiser matter.
TEST_P(CpuEquivalence, ReportsEqualGradientNorms) {
  for (const char* optimizer : {"sgd", "adam", "rmsprop"}) {
    const Derived derived = derive(operator_models().front(), optimizer);
    const auto squares = [&](const program::Backend& on) {
      program::Program program =
          compile(derived, {.lanes = 2, .max_batch = kBatch, .precision = Precision::kFloat64, .backend = &on});
      for (std::int64_t lane = 0; lane < 2; ++lane) program.initialise(lane, 7 + static_cast<std::uint64_t>(lane));
      const std::vector<program::LaneHyper> hyper(2, program::LaneHyper{.lr = 1e-3, .eps = 1e-3});
      const std::vector<std::uint8_t> active{1, 1}, needs_gradient_norm{0, 1};
      program::LaneGradients gradients = *program.make_gradients();
      std::vector<double> out;
      for (std::int64_t step = 0; step < 8; ++step) {
        const OwnedBatch batch = random_batch(derived, kBatch, static_cast<std::uint64_t>(step));
        const program::Batch view = batch.view();
        program.gradients(1, view, view.size, hyper[1], gradients);
        const double alone = program.squared_gradient_norm(1, gradients, hyper[1]);
        std::vector<program::LaneResult> ends(2);
        program.run({.steps = 1,
                     .active = active,
                     .step_input =
                         [&](std::int64_t) {
                           return program::StepInput{{&view, 1}, hyper};
                         },
                     .needs_gradient_norm = needs_gradient_norm},
                    ends);
        EXPECT_NEAR(ends[1].squared_gradient_norm, alone, 1e-12 * alone);
        out.push_back(ends[1].squared_gradient_norm);
      }
      return out;
    };
    const auto own = squares(program::cpu_backend()), device = squares(backend());
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(device[i], own[i], 1e-8 * own[i]) << optimizer << " " << i;
  }
}

// Fused updates are allowed only if no caller reads the gradient norm. The bits are the same in both cases.
TEST_P(CpuEquivalence, GivesEqualBitsWithAndWithoutFusedUpdates) {
  for (std::uint64_t seed = 0; seed < (runs_all_cases() ? 200 : 30); ++seed) {
    const std::vector<const char*> optimizers{"sgd", "adam", "adamw", "lion", "rmsprop"};
    const Derived derived = derive(random_row_model(seed), optimizers[seed % 5]);
    constexpr std::size_t kLanes = 3;
    const auto trained = [&](bool looks) {
      program::Program program = compile(derived, {.lanes = kLanes, .max_batch = kBatch, .backend = &backend()});
      const auto lanes = static_cast<std::size_t>(program.lanes());
      const program::LaneHyper hyper{.lr = 0.01, .momentum = seed % 2 == 0 ? 0.9 : 0.0, .weight_decay = 0.01};
      const std::vector<program::LaneHyper> all(lanes, hyper);
      std::vector<std::uint8_t> active(lanes), needs_gradient_norm(lanes);
      active[0] = active[2] = 1;
      needs_gradient_norm[2] = looks ? 1 : 0;
      OwnedBatch owned;
      program::Batch batch;
      std::vector<program::LaneResult> ends(lanes);
      program.run({.steps = 4,
                   .active = active,
                   .step_input =
                       [&](std::int64_t step) {
                         owned = random_batch(derived, kBatch, seed + static_cast<std::uint64_t>(step));
                         batch = owned.view();
                         return program::StepInput{{&batch, 1}, all};
                       },
                   .needs_gradient_norm = needs_gradient_norm},
                  ends);
      std::vector<std::vector<Tensor>> out;
      for (std::int64_t lane = 0; lane < static_cast<std::int64_t>(kLanes); ++lane)
        out.push_back(program.extract(lane));
      return out;
    };
    EXPECT_EQ(trained(false), trained(true)) << seed;
  }
}

TEST_P(CpuEquivalence, PredictsAndMeasuresAlike) {
  for (const char* name : {"mlp", "dropout", "batch_norm_image", "positions", "mse_image", "bce"}) {
    const Derived derived = derive(model_named(name));
    const OwnedBatch batch = random_batch(derived, 6, 3);
    const program::Batch view = batch.view();
    std::vector<std::vector<double>> answers;
    for (const program::Backend* on : {&program::cpu_backend(), &backend()}) {
      program::Program program =
          compile(derived, {.lanes = 3, .max_batch = 8, .precision = Precision::kFloat64, .backend = on});
      program.initialise(1, 5);
      std::vector<double> all(static_cast<std::size_t>(6 * program.prediction_size()));
      program.predict(1, view, std::span(all));
      std::vector<double> losses(6);
      program.losses(1, view, 0.1, losses);
      all.insert(all.end(), losses.begin(), losses.end());
      const program::Metrics requested{.loss = derived.train.options.loss};
      std::vector<program::LaneMetrics> lanes{{.lane = 0, .requested = &requested},
                                              {.lane = 2, .requested = &requested}};
      bool is_done = false;
      program.evaluate([&]() -> const program::Batch* { return std::exchange(is_done, true) ? nullptr : &view; },
                       lanes);
      for (const program::LaneMetrics& each : lanes) all.push_back(each.sums.loss);
      answers.push_back(std::move(all));
    }
    for (std::size_t i = 0; i < answers[0].size(); ++i) {
      EXPECT_NEAR(answers[0][i], answers[1][i], 1e-12 * std::max(1.0, std::fabs(answers[0][i]))) << name << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, CpuEquivalence, kDevices, device_name);

}  // namespace
}  // namespace lanista::device
