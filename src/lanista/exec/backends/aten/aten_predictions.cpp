// Forward pass in inference form for all requested lanes. Metrics are computed on the host, in sample order.
#include <algorithm>
#include <numeric>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"
#include "lanista/model/autodiff/loss.h"

namespace lanista::device {

// [lanes, elements], in host memory.
Tensor AtenExecutable::predictions(const LaneBatches& fed) const {
  const Frame frame{
      .lanes = fed.lanes.count, .batch = fed.size, .total = fed.size, .real = real_, .products = device_.products()};
  const StepShape shape{.begin = fed.lanes.begin,
                        .lanes = fed.lanes.count,
                        .size = fed.size,
                        .shared = fed.shared,
                        .table = dataset_of(fed)};
  StepInputBuffer inputs(layouts_of(shape), device_.device());
  inputs.prepare();
  fill_batches(inputs, 0, fed, shape.table);
  inputs.send();
  Values values;
  bind_state(fed.lanes, infer_.state, values);
  values[infer_.input] = read(inputs, shape, StepInputBuffer::kFeatures);
  predict_.run(frame, values);
  // A prediction may alias an input, and `inputs` is freed on return. So the result is a copy.
  return values.at(infer_.prediction).reshape({fed.lanes.count, -1}).cpu().clone(at::MemoryFormat::Contiguous);
}

// Predictions of several lanes for one batch, in launches of as many lanes as memory allows.
Tensor AtenExecutable::predictions_of(const Lanes& lanes, const program::Batch& batch) {
  std::vector<Tensor> parts;
  for (std::int64_t begin = lanes.begin; begin < lanes.begin + lanes.count;) {
    const std::int64_t count = std::min(lanes_per_launch_, lanes.begin + lanes.count - begin);
    try {
      parts.push_back(predictions({.lanes = {begin, count}, .size = batch.size, .of = {&batch}, .shared = true}));
      begin += count;
    } catch (const std::exception& error) {
      if (count == 1 || !is_out_of_memory(error)) throw;
      halve_lanes_per_launch(count);
    }
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

void AtenExecutable::predict(std::int64_t lane, const program::Batch& batch, program::PredictionBuffer out) {
  const AtenScope scope(*queue_);
  check_batch(batch, false);
  const Tensor all = predictions({.lanes = {lane, 1}, .size = batch.size, .of = {&batch}, .shared = true});
  std::visit(
      [&](auto span) {
        LANISTA_CHECK(
            static_cast<std::int64_t>(span.size()) == all.numel(),
            "space for " + std::to_string(span.size()) + " predictions instead of " + std::to_string(all.numel()));
        const auto copy = [&](const auto* from) {
          std::transform(from, from + all.numel(), span.begin(),
                         [](auto value) { return static_cast<typename decltype(span)::value_type>(value); });
        };
        state_format_->is_double() ? copy(all.data_ptr<double>()) : copy(all.data_ptr<float>());
      },
      out);
}

void AtenExecutable::evaluate(const program::BatchSource& batches, std::span<program::LaneMetrics> lanes) {
  const AtenScope scope(*queue_);
  if (lanes.empty()) return;
  const auto [first, last] = std::ranges::minmax(lanes, {}, &program::LaneMetrics::lane);
  const Lanes all{first.lane, last.lane - first.lane + 1};
  std::vector<program::HostMetrics> metrics;
  for (const program::LaneMetrics& each : lanes) {
    metrics.emplace_back(*each.requested, values_per_target(*each.requested), kernels::best_isa());
  }
  std::vector<double> values;
  while (const program::Batch* batch = batches()) {
    check_batch(*batch, false);
    const Tensor predicted = predictions_of(all, *batch).to(at::kDouble);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const double* from = predicted.data_ptr<double>() + (lanes[i].lane - all.begin) * predicted.size(1);
      values.assign(from, from + predicted.size(1));
      lanes[i].requested->unit.to_original(values);
      metrics[i].add(values, batch->labels, batch->targets, lanes[i].sums);
    }
  }
}

void AtenExecutable::losses(std::int64_t lane, const program::Batch& batch, double label_smoothing,
                            std::span<double> out) {
  const AtenScope scope(*queue_);
  check_batch(batch, true);
  std::vector<double> predicted(static_cast<std::size_t>(batch.size * properties().prediction_size));
  predict(lane, batch, std::span(predicted));
  const program::Metrics requested{.loss = train_->options.loss};
  program::HostMetrics metrics(requested, values_per_target(requested), kernels::best_isa());
  const auto of_answers = metrics.losses(predicted, batch.labels, batch.targets, label_smoothing);
  const auto each = static_cast<std::size_t>(positions_);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto own = of_answers.subspan(i * each, each);
    out[i] = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(each);
  }
}

// Number of values of one answer: the classes of one position, or the whole prediction.
std::int64_t AtenExecutable::values_per_target(const program::Metrics& requested) const {
  return autodiff::find_loss(requested.loss)->of_classes() ? row_ : properties().prediction_size;
}

}  // namespace lanista::device
