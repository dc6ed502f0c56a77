// Defines a metric: the distance between the digit that is written and the digit that is read.
//
// A metric has a name, the targets that it suits, a direction, and a function of the scores of one part of the data. A
// trainer gets it from TrainerInput::own_metrics. A study gets it from engine::resolve_from_data, so that goals and
// constraints may name it, and from runtime::WorkerOptions::own_metrics.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/metric.h"

namespace {

using namespace lanista;

double mean_cost(const study::Scored& scored) {
  const auto width = static_cast<std::size_t>(scored.width);
  std::int64_t cost = 0;
  for (std::size_t row = 0; row < scored.labels.size(); ++row) {
    const auto logits = scored.scores.subspan(row * width, width);
    const std::int64_t read = std::max_element(logits.begin(), logits.end()) - logits.begin();
    cost += std::abs(read - scored.labels[row]);
  }
  return static_cast<double>(cost) / static_cast<double>(scored.labels.size());
}

constexpr const char* kModel = R"(%0 = input(shape=[1,8,8])
%1 = flatten(%0)
%2 = linear(%1, out=32)
%3 = relu(%2)
%4 = linear(%3, out=10)
%5 = output(%4)
)";

Result<double> train_a_model() {
  const std::vector<study::Metric> own_metrics{{.name = "mean_cost",
                                                .targets = study::MetricTargets::kClasses,
                                                .maximize = false,
                                                .help = "mean distance of the digit read from the digit written",
                                                .compute = mean_cost}};
  const graph::OpTable step_ops = autodiff::training_ops(graph::builtin_ops());

  study::StudyConfig config;
  config.train.length.epochs = 5;
  LANISTA_ASSIGN(const data::Dataset data, data::open(config.data, "", real_file_system()));
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(kModel));
  LANISTA_ASSIGN(const study::Recipe recipe, study::make_recipe(config, "cross_entropy", {}));
  LANISTA_ASSIGN(auto trainer, train::Trainer::create({.trial = TrialId{1},
                                                       .model = model,
                                                       .recipe = recipe,
                                                       .metrics = {"accuracy", "f1_macro", "mean_cost"},
                                                       .trial_seed = 1,
                                                       .data_seed = 1,
                                                       .data = &data,
                                                       .step_ops = &step_ops,
                                                       .own_metrics = &own_metrics}));
  while (trainer.epochs_done() < recipe.epochs) {
    if (!trainer.step()) continue;
    const auto& metrics = trainer.measurements().back().metrics;
    std::printf("epoch %d   val_accuracy %.3f   val_f1_macro %.3f   val_mean_cost %.3f\n",
                static_cast<int>(trainer.epochs_done()), metrics.at("val_accuracy"), metrics.at("val_f1_macro"),
                metrics.at("val_mean_cost"));
  }
  return trainer.measurements().back().metrics.at("val_mean_cost");
}

}  // namespace

int main() {
  const auto cost = train_a_model();
  if (!cost) {
    std::cerr << cost.error().text() << "\n";
    return 1;
  }
  return *cost < 0.5 ? 0 : 1;
}
