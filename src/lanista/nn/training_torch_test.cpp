// Twenty steps of training against a loop written by hand with LibTorch's autograd.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/nn/torch_oracle.h"
#include "lanista/step/optimizer.h"

namespace lanista::nn {
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

// Like the operator models, but without parameters whose gradient is zero in exact arithmetic: a bias before batch
// normalisation, and the bias of attention's keys. There a gradient is rounding noise, and Adam makes steps of full
// length out of noise, so two correct programs agree on nothing. (Their gradients are compared in the other file.)
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

// How far from the float64 loop a program may be after twenty steps. Adam divides small gradients by small numbers, so
// float32 rounding alone leaves 1e-5 in two known cases; LibTorch's own float32 loop is 1.6e-5 and 9.3e-6 off there.
double allowed(const TestModel& model, const Recipe& recipe, Precision precision) {
  if (precision == Precision::kFloat64) return 1e-10;
  const bool rounds_badly = (model.name == "small_mlp" && recipe.name == "adam_decay") ||
                            (model.name == "small_cnn" && recipe.name == "adam_w_clipped");
  return rounds_badly ? 2e-5 : 1e-5;
}

void compare(const TestModel& model, const Recipe& recipe, Precision precision) {
  const double tolerance = allowed(model, recipe, precision);
  const Derived derived = derive(model, recipe.optimizer);
  Program program = compile(derived, {.max_batch = 32, .precision = precision});
  program.initialise(0, 3);
  TorchModel oracle(derived, program.extract(0), at::kDouble);

  for (std::uint64_t i = 0; i < 20; ++i) {
    // The last batch of an epoch is a short one.
    const OwnedBatch batch = random_batch(derived, i % 5 == 4 ? 9 : 32, 100 + i);
    const double loss = step_once(program, batch, recipe.hyper);
    const double wanted = oracle.step(batch, recipe.hyper);
    ASSERT_NEAR(loss, wanted, tolerance * std::max(1.0, wanted)) << model.name << " " << recipe.name << " " << i;
  }

  const std::vector<Tensor> state = program.extract(0);
  for (const auto& [name, value] : oracle.state()) {
    EXPECT_LE(scaled_error(to_torch(tensor_named(state, name)), value), tolerance)
        << model.name << " " << recipe.name << " " << name;
  }
}

TEST(Training, TriesEveryOptimiser) {
  std::vector<Recipe> all = recipes();
  for (const Recipe& each : recipes_by_sign()) all.push_back(each);
  for (const std::string& name : step::optimizer_names()) {
    EXPECT_TRUE(std::ranges::any_of(all, [&](const Recipe& each) { return each.optimizer == name; }))
        << "no recipe trains with " << name;
  }
}

TEST(Training, FollowsTheReferenceLoopInFloat64) {
  for (const TestModel& model : models()) {
    for (const Recipe& recipe : recipes()) compare(model, recipe, Precision::kFloat64);
    // Not in float32: a sign that rounding turns is a step of full length the other way.
    for (const Recipe& recipe : recipes_by_sign()) compare(model, recipe, Precision::kFloat64);
  }
}

TEST(Training, FollowsTheReferenceLoopInFloat32) {
  for (const TestModel& model : models()) {
    for (const Recipe& recipe : recipes()) compare(model, recipe, Precision::kFloat32);
  }
}

}  // namespace
}  // namespace lanista::nn
