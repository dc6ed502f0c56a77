#include "lanista/exec/train/unit_scores.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lanista/exec/train/batch_buffers.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/transfer/importance.h"
#include "lanista/search/study/state_names.h"

namespace lanista::train {

Result<std::map<graph::NodeId, std::vector<double>>> score_units(const TrainerInput& input,
                                                                 std::span<const Tensor> weights) {
  LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(
                                       input.model, {input.recipe.loss, input.recipe.optimizer}, *input.step_ops));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(input.model, *input.step_ops));
  LANISTA_ASSIGN(auto program, program::Program::compile(train, infer, program_options_of(input)));
  LANISTA_TRY(check_predictions(program, input.data->spec()));
  LANISTA_TRY(program.begin(0, input.trial_seed));
  std::vector<Tensor> state = program.extract(0);
  for (Tensor& own : state) {
    if (!study::is_weight(own)) continue;
    const auto given = std::ranges::find(weights, own.name, &Tensor::name);
    if (given == weights.end()) return Error{Code::kDataLoss, "the weights lack '" + own.name + "'", ""};
    own = *given;
  }
  if (auto inserted = program.insert(0, state); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  LANISTA_ASSIGN(program::LaneGradients gradients, program.make_gradients());

  const auto order = data::epoch_order(input.data->rows(data::Part::kTrain), input.data_seed, 0);
  const auto size = std::min(static_cast<std::size_t>(input.recipe.batch), order.size());
  const std::size_t batches = std::min(static_cast<std::size_t>(kScoreBatches), order.size() / size);
  BatchBuffers buffers(input.recipe.batch, input.data->spec());
  program::LaneHyper still;  // without updates
  still.label_smoothing = input.recipe.label_smoothing;
  std::map<graph::NodeId, std::vector<double>> out;
  for (std::size_t i = 0; i < batches; ++i) {
    const program::Batch batch = buffers.fill(*input.data, std::span(order).subspan(i * size, size));
    program.gradients(0, batch, batch.size, still, gradients);
    LANISTA_ASSIGN(const auto each, zoo::unit_importance(input.model, *input.step_ops, state, gradients.extract()));
    for (const auto& [node, scores] : each) {
      std::vector<double>& sum = out[node];
      sum.resize(scores.size());
      for (std::size_t u = 0; u < scores.size(); ++u) sum[u] += std::abs(scores[u]) / static_cast<double>(batches);
    }
  }
  return out;
}

}  // namespace lanista::train
