// Twenty training steps against a loop with LibTorch's autograd.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/torch_oracle.h"

namespace lanista::program {
namespace {

using namespace testing;

struct Recipe {
  std::string name;
  std::string optimizer;
  LaneHyper hyper;
};

std::vector<Recipe> recipes() {
  return {
      {"sgd", "sgd", {.lr = 0.1}},
      {"momentum", "sgd", {.lr = 0.05, .momentum = 0.9}},
      {"nesterov", "sgd", {.lr = 0.05, .momentum = 0.8, .nesterov = true}},
      {"weight_decay", "sgd", {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01}},
      {"clipping", "sgd", {.lr = 0.2, .momentum = 0.5, .clip_norm = 0.3}},
      {"smoothing", "sgd", {.lr = 0.1, .label_smoothing = 0.2}},
      {"adam", "adam", {.lr = 0.01}},
      {"adam_decay", "adam", {.lr = 0.01, .weight_decay = 0.02, .beta1 = 0.8, .beta2 = 0.98, .eps = 1e-6}},
      {"adam_w", "adamw", {.lr = 0.01, .weight_decay = 0.1}},
      {"rmsprop", "rmsprop", {.lr = 0.003, .beta2 = 0.99}},
      {"rmsprop_decay", "rmsprop", {.lr = 0.003, .momentum = 0.8, .weight_decay = 0.02, .beta2 = 0.9, .eps = 1e-6}},
      {"adam_w_clipped", "adamw", {.lr = 0.01, .weight_decay = 0.1, .clip_norm = 0.5, .label_smoothing = 0.1}},
  };
}

std::vector<Recipe> recipes_by_sign() {
  return {{"lion", "lion", {.lr = 0.003, .beta2 = 0.99}},
          {"lion_decay", "lion", {.lr = 0.003, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .clip_norm = 0.5}}};
}

// The operator models, without parameters that have gradient zero in exact arithmetic: a bias before batch
// normalisation, and the bias of attention's keys. There the gradient is rounding noise, and Adam makes full steps from
// noise. So two correct programs differ. (The other file compares their gradients.)
std::vector<TestModel> models() {
  const auto without_bias = [](TestModel model, const std::string& layer) {
    const std::size_t at = model.text.find(")", model.text.find(layer));
    model.text.insert(at, ", bias=false");
    return model;
  };
  return {small_mlp(),
          small_cnn(),
          without_bias(model_named("batch_norm_image"), "%1 = "),
          without_bias(model_named("attention"), "%2 = "),
          model_named("mse_image"),
          model_named("dropout")};
}

/// Distances to LibTorch's loop in float64: the largest distance of a loss, and of a value of the state after twenty
/// steps.
struct ErrorBounds {
  double ours = 0, theirs = 0;  ///< theirs: LibTorch's own loop in our precision
};

double distance_of(double loss, double exact) { return std::fabs(loss - exact) / std::max(1.0, exact); }

ErrorBounds train(const TestModel& model, const Recipe& recipe, Precision precision, std::uint64_t seed) {
  const Derived derived = derive(model, recipe.optimizer);
  Program program = compile(derived, {.max_batch = 32, .precision = precision});
  program.initialise(0, seed);
  const std::vector<Tensor> start = program.extract(0);
  TorchModel exact(derived, start, at::kDouble);
  TorchModel theirs(derived, start, precision == Precision::kFloat64 ? at::kDouble : at::kFloat);

  ErrorBounds far;
  for (std::uint64_t i = 0; i < 20; ++i) {
    // The last batch of an epoch is a short one.
    const OwnedBatch batch = random_batch(derived, i % 5 == 4 ? 9 : 32, 100 * seed + i);
    const double wanted = exact.step(batch, recipe.hyper);
    far.ours = std::max(far.ours, distance_of(step_once(program, batch, recipe.hyper), wanted));
    far.theirs = std::max(far.theirs, distance_of(theirs.step(batch, recipe.hyper), wanted));
  }
  const std::vector<Tensor> state = program.extract(0);
  const auto their_state = theirs.state();
  for (const auto& [name, value] : exact.state()) {
    far.ours = std::max(far.ours, scaled_error(to_torch(tensor_named(state, name)), value));
    far.theirs = std::max(far.theirs, scaled_error(their_state.at(name), value));
  }
  return far;
}

TEST(Training, CoversEveryOptimiser) {
  std::vector<Recipe> all = recipes();
  for (const Recipe& each : recipes_by_sign()) all.push_back(each);
  for (const std::string& name : autodiff::optimizer_names()) {
    EXPECT_TRUE(std::ranges::any_of(all, [&](const Recipe& each) { return each.optimizer == name; }))
        << "no recipe trains with " << name;
  }
}

TEST(Training, FollowsTheReferenceLoopInFloat64) {
  for (const TestModel& model : models()) {
    const auto far = [&](const Recipe& recipe) { return train(model, recipe, Precision::kFloat64, 3).ours; };
    for (const Recipe& recipe : recipes()) EXPECT_LE(far(recipe), 1e-10) << model.name << " " << recipe.name;
    // Not in float32: if rounding changes a sign, the step has full length in the other direction.
    for (const Recipe& recipe : recipes_by_sign()) EXPECT_LE(far(recipe), 1e-10) << model.name << " " << recipe.name;
  }
}

// The effect of rounding varies: Adam and RMSprop divide small gradients by small numbers, and the same recipe may
// differ by 1e-6 or 1e-3. So the product's loop and LibTorch's float32 loop are measured over several starts, by
// geometric means. Three times LibTorch's distance is a failure, unless both are a few roundings.
TEST(Training, IsAsAccurateAsTheReferenceLoopInFloat32) {
  constexpr int kStarts = 5;
  constexpr double kTimes = 3, kSomeRoundings = 2e-6;
  for (const TestModel& model : models()) {
    for (const Recipe& recipe : recipes()) {
      double ours = 0, theirs = 0;
      for (std::uint64_t seed = 3; seed < 3 + kStarts; ++seed) {
        const ErrorBounds far = train(model, recipe, Precision::kFloat32, seed);
        ours += std::log(far.ours) / kStarts;
        theirs += std::log(far.theirs) / kStarts;
      }
      EXPECT_LE(std::exp(ours), std::max(kSomeRoundings, kTimes * std::exp(theirs)))
          << model.name << " " << recipe.name;
    }
  }
}

}  // namespace
}  // namespace lanista::program
