#include "lanista/train/measure_weights.h"

#include <algorithm>

#include "lanista/step/training_step.h"
#include "lanista/train/batch_buffers.h"
#include "lanista/train/evaluation.h"
#include "lanista/train/start.h"

namespace lanista::train {

Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix) {
  LANISTA_TRY(check_measures(input));
  LANISTA_ASSIGN(const auto infer, step::derive_inference_step(input.model, *input.step_ops));
  LANISTA_ASSIGN(auto program, nn::Program::compile(infer, program_options_of(input)));
  LANISTA_TRY(check_predictions(program, input.data->spec()));
  LANISTA_TRY(program.begin(0, 0));
  std::vector<Tensor> state = program.extract(0);
  for (Tensor& own : state) {
    const auto given = std::ranges::find(tensors, own.name, &Tensor::name);
    if (given != tensors.end()) {
      own = *given;
    } else if (is_weight(own)) {
      return Error{Code::kDataLoss, "the weights lack '" + own.name + "'", ""};
    }
  }
  if (auto inserted = program.insert(0, state); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }

  BatchBuffers buffers(input.recipe.batch, input.data->spec());
  const Evaluation evaluation = evaluation_of(input, program.prediction_size());
  nn::LaneMetrics lane{.lane = 0, .asked = &evaluation.asked()};
  program.evaluate(buffers.each(*input.data, input.data->rows(part)), {&lane, 1});
  return evaluation.values(lane.sums, prefix);
}

}  // namespace lanista::train
