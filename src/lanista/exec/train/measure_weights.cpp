#include "lanista/exec/train/measure_weights.h"

#include <algorithm>

#include "lanista/exec/train/batch_buffers.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/search/study/state_names.h"

namespace lanista::train {

namespace {

/// Returns a program that predicts, with the weights in its lane.
Result<program::Program> program_with_weights(const TrainerInput& input, std::span<const Tensor> tensors) {
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(input.model, *input.step_ops));
  LANISTA_ASSIGN(auto program, program::Program::compile(infer, program_options_of(input)));
  LANISTA_TRY(check_predictions(program, input.data->spec()));
  LANISTA_TRY(program.begin(0, 0));
  std::vector<Tensor> state = program.extract(0);
  for (Tensor& own : state) {
    const auto given = std::ranges::find(tensors, own.name, &Tensor::name);
    if (given != tensors.end()) {
      own = *given;
    } else if (study::is_weight(own)) {
      return Error{Code::kDataLoss, "the weights lack '" + own.name + "'", ""};
    }
  }
  if (auto inserted = program.insert(0, state); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  return program;
}

}  // namespace

Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix) {
  LANISTA_TRY(check_metrics(input));
  LANISTA_ASSIGN(auto program, program_with_weights(input, tensors));
  BatchBuffers buffers(input.recipe.batch, input.data->spec());
  const Evaluation evaluation = evaluation_of(input);
  program::LaneMetrics lane{.lane = 0, .requested = &evaluation.requested()};
  program.evaluate(buffers.evaluation_batches(*input.data, input.data->rows(part)), {&lane, 1});
  return evaluation.values(lane.sums, prefix);
}

Result<std::vector<double>> predict_part(const TrainerInput& input, std::span<const Tensor> tensors, data::Part part) {
  LANISTA_ASSIGN(auto program, program_with_weights(input, tensors));
  BatchBuffers buffers(input.recipe.batch, input.data->spec());
  const auto& rows = input.data->rows(part);
  const auto width = static_cast<std::size_t>(program.prediction_size());
  std::vector<double> out(rows.size() * width);
  const program::BatchSource batches = buffers.evaluation_batches(*input.data, rows);
  std::size_t at = 0;
  while (const program::Batch* batch = batches()) {
    const std::size_t count = static_cast<std::size_t>(batch->size) * width;
    program.predict(0, *batch, std::span(out).subspan(at, count));
    at += count;
  }
  target_scaling_of(input.data->spec()).to_original(out);
  return out;
}

Result<std::map<std::string, double>> measure_predictions(const TrainerInput& input,
                                                          std::span<const double> predictions, data::Part part,
                                                          const std::string& prefix) {
  LANISTA_TRY(check_metrics(input));
  const data::DataSpec& spec = input.data->spec();
  const auto& rows = input.data->rows(part);
  if (predictions.size() != rows.size() * static_cast<std::size_t>(spec.outputs())) {
    return Error{Code::kInvalidArgument, "the number of predictions is not the number of rows", ""};
  }
  const Evaluation evaluation = evaluation_of(input);
  program::HostMetrics metrics(evaluation.requested(), spec.width(), kernels::best_isa());
  program::MetricSums sums;
  BatchBuffers buffers(input.recipe.batch, spec);
  const program::BatchSource batches = buffers.evaluation_batches(*input.data, rows);
  std::size_t at = 0;
  while (const program::Batch* batch = batches()) {
    const std::size_t count = static_cast<std::size_t>(batch->size * spec.outputs());
    metrics.add(predictions.subspan(at, count), batch->labels, batch->targets, sums);
    at += count;
  }
  return evaluation.values(sums, prefix);
}

}  // namespace lanista::train
