// Defines an operator: swish with a trained beta, x * logistic(beta * x), in a small model on the embedded digits.
//
// An operator has a definition (name, attributes, shapes, parameters) and a kernel with a forward and a backward part.
// Models contain it like any other operator, training steps are derived through it, and trials train it.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "lanista/base/portable_math.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"

namespace {

using namespace lanista;

graph::OpDef swish_beta_definition() {
  graph::OpDef def;
  def.name = "swish_beta";
  def.help = "x times the logistic function of beta x, with a trained beta for each feature.";
  def.infer = graph::ops::infer_same;
  def.params = [](const graph::OpArgs& args) -> std::vector<graph::ParamSpec> {
    const std::int64_t features = args.inputs[0].shape.dims.back();
    return {{.name = "beta", .shape = {{features}}, .init = graph::Init::kOnes}};
  };
  return def;
}

struct SwishBeta {
  template <class T>
  static T logistic(T x) {
    return static_cast<T>(1 / (1 + portable_exp(-static_cast<double>(x))));
  }

  template <class T>
  void forward(const program::OpaqueCall<T>& call) const {
    const auto x = call.inputs[0], beta = call.params[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      call.results[0][i] = x[i] * logistic(beta[i % beta.size()] * x[i]);
    }
  }

  // With s = logistic(beta x): dx = dy (s + beta x s (1 - s)), and beta gets the sum of dy x^2 s (1 - s).
  template <class T>
  void backward(const program::OpaqueCall<T>& call) const {
    const auto x = call.inputs[0], beta = call.params[0];
    const auto dx = call.results[0], dbeta = call.results[1];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t feature = i % beta.size();
      const T s = logistic(beta[feature] * x[i]), slope = x[i] * s * (1 - s);
      dx[i] = call.dy[i] * (s + beta[feature] * slope);
      dbeta[feature] += call.dy[i] * x[i] * slope;
    }
  }
};

constexpr const char* kModel = R"(%0 = input(shape=[1,8,8])
%1 = flatten(%0)
%2 = linear(%1, out=32)
%3 = swish_beta(%2)
%4 = linear(%3, out=10)
%5 = output(%4)
)";

Result<double> train_a_model() {
  program::Operators operators;
  LANISTA_TRY(operators.add(swish_beta_definition(), SwishBeta{}));
  const graph::OpTable step_ops = autodiff::training_ops(operators.table());

  study::StudyConfig config;
  config.train.length.epochs = 5;
  LANISTA_ASSIGN(const data::Dataset data, data::open(config.data, "", real_file_system()));
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(kModel));
  LANISTA_ASSIGN(const study::Recipe recipe, study::make_recipe(config, "cross_entropy", {}));
  LANISTA_ASSIGN(auto trainer, train::Trainer::create({.trial = TrialId{1},
                                                       .model = model,
                                                       .recipe = recipe,
                                                       .metrics = {},
                                                       .trial_seed = 1,
                                                       .data_seed = 1,
                                                       .data = &data,
                                                       .step_ops = &step_ops,
                                                       .operators = &operators}));
  while (trainer.epochs_done() < recipe.epochs) {
    if (!trainer.step()) continue;
    const auto& metrics = trainer.measurements().back().metrics;
    std::printf("epoch %d   train_loss %.3f   val_accuracy %.3f\n", static_cast<int>(trainer.epochs_done()),
                metrics.at("train_loss"), metrics.at("val_accuracy"));
  }
  const train::TrainerState state = trainer.save();
  for (const Tensor& tensor : state.tensors) {
    if (tensor.name != "n3.beta") continue;
    const auto beta = elements_of<float>(tensor);
    const auto [least, most] = std::minmax_element(beta.begin(), beta.end());
    std::printf("beta began at 1 and is now %.2f to %.2f\n", static_cast<double>(*least), static_cast<double>(*most));
  }
  return trainer.measurements().back().metrics.at("val_accuracy");
}

}  // namespace

int main() {
  const auto accuracy = train_a_model();
  if (!accuracy) {
    std::cerr << accuracy.error().text() << "\n";
    return 1;
  }
  return *accuracy > 0.9 ? 0 : 1;
}
