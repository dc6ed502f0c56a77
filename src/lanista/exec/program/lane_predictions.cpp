// The forward pass in inference form and its metrics. Predictions are in host memory here.
#include <algorithm>
#include <numeric>
#include <variant>

#include "lanista/base/check.h"
#include "lanista/exec/program/lane_program.h"
#include "lanista/model/autodiff/loss.h"

namespace lanista::program {

template <class T>
void LaneProgram<T>::predict(std::int64_t lane, const Batch& batch, PredictionBuffer out) {
  const LaneHyper hyper;
  RunContext<T> run = context(lane, 0);
  run.hyper = &hyper;
  load_features(run, workspace(0), batch);
  const auto capacity = static_cast<std::int64_t>(std::visit([](auto span) { return span.size(); }, out));
  LANISTA_CHECK(capacity == prediction_count_.at(batch.size), "an output of " + std::to_string(capacity) +
                                                                  " predictions; it must have " +
                                                                  std::to_string(prediction_count_.at(batch.size)));
  // A prediction does not depend on other samples, so the arena of a part serves for any batch.
  const std::int64_t most = batch_split_.largest_part(options_.max_batch);
  for (std::int64_t begin = 0; begin < batch.size; begin += most) {
    const RunContext<T> part = part_context(run, {.begin = begin, .size = std::min(most, batch.size - begin)}, 0);
    for (const Run<T>& call : infer_.calls) call(part);
    std::visit(
        [&](auto span) {
          prediction_out_.convert(part.batch, static_cast<const T*>(part.at(prediction_)),
                                  span.data() + prediction_count_.at(begin));
        },
        out);
  }
}

template <class T>
void LaneProgram<T>::evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) {
  const std::int64_t width = properties().prediction_size;
  std::vector<double> buffer(static_cast<std::size_t>(options_.max_batch * width));
  std::vector<HostMetrics> metrics;
  for (const LaneMetrics& each : lanes) metrics.emplace_back(*each.requested, values_per_target(*each.requested), isa_);
  while (const Batch* batch = batches()) {
    const auto used = std::span(buffer).first(static_cast<std::size_t>(batch->size * width));
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      predict(lanes[i].lane, *batch, used);
      lanes[i].requested->unit.to_original(used);
      metrics[i].add(used, batch->labels, batch->targets, lanes[i].sums);
    }
  }
}

template <class T>
void LaneProgram<T>::losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) {
  const std::int64_t width = properties().prediction_size;
  std::vector<double> predictions(static_cast<std::size_t>(batch.size * width));
  if (classes_ > 0) {
    check_labels(batch);
  } else {
    LANISTA_CHECK(batch.targets.size() == predictions.size(), std::to_string(batch.targets.size()) + " targets for " +
                                                                  std::to_string(predictions.size()) + " predictions");
  }
  predict(lane, batch, predictions);
  HostMetrics metrics(loss_only_, values_per_target(loss_only_), isa_);
  const auto of_answers = metrics.losses(predictions, batch.labels, batch.targets, label_smoothing);
  const auto each = static_cast<std::size_t>(positions_);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto own = of_answers.subspan(i * each, each);
    out[i] = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(each);
  }
}

template <class T>
std::int64_t LaneProgram<T>::values_per_target(const Metrics& requested) const {
  return autodiff::find_loss(requested.loss)->of_classes() ? row_size_ : properties().prediction_size;
}

#define LANISTA_PREDICTIONS(T)                                                                 \
  template void LaneProgram<T>::predict(std::int64_t, const Batch&, PredictionBuffer);         \
  template void LaneProgram<T>::evaluate(const BatchSource&, std::span<LaneMetrics>);          \
  template void LaneProgram<T>::losses(std::int64_t, const Batch&, double, std::span<double>); \
  template std::int64_t LaneProgram<T>::values_per_target(const Metrics&) const;
LANISTA_PREDICTIONS(float)
LANISTA_PREDICTIONS(double)
#undef LANISTA_PREDICTIONS

}  // namespace lanista::program
