// Inputs of a step: batches, lane attributes and mask keys, in device layout.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"

namespace lanista::device {

// An invalid token number becomes a token that no vocabulary contains.
std::int64_t AtenExecutable::token_index(float number) {
  return number >= 0 && number < 0x1p31F ? static_cast<std::int64_t>(number) : std::int64_t{-1};
}

void AtenExecutable::check_hyper(const program::LaneHyper& hyper) const {
  LANISTA_CHECK(hyper.lane_attrs.empty() || hyper.lane_attrs.size() == properties().lane_attrs.size(),
                std::to_string(hyper.lane_attrs.size()) + " lane attributes instead of " +
                    std::to_string(properties().lane_attrs.size()));
}

void AtenExecutable::check_batch(const program::Batch& batch, bool trains) const {
  const auto want = [&](std::size_t seen, std::int64_t wanted, const char* what) {
    LANISTA_CHECK(static_cast<std::int64_t>(seen) == wanted, std::to_string(seen) + " " + what + " for " +
                                                                 std::to_string(batch.size) + " samples instead of " +
                                                                 std::to_string(wanted));
  };
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  want(batch.features.size(), infer_.types.at(infer_.input).shape.elements(batch.size), "values");
  if (!trains) return;
  if (classes_ == 0) {
    want(batch.targets.size(), train_->types.at(train_->target).shape.elements(batch.size), "targets");
  } else {
    want(batch.labels.size(), batch.size * positions_, "labels");
    for (const std::int32_t label : batch.labels) {
      LANISTA_CHECK(label >= 0 && label < classes_,
                    "label " + std::to_string(label) + " of " + std::to_string(classes_) + " classes");
    }
  }
  if (compute_.has_random_masks() || batch.table != nullptr)
    want(batch.sample_index.size(), batch.size, "sample numbers");
  if (!batch.weights.empty()) want(batch.weights.size(), batch.size, "weights");
}

StepShape AtenExecutable::shape_of(const LaneBatches& fed, std::span<const program::LaneHyper> hyper) const {
  StepShape shape{.begin = fed.lanes.begin,
                  .lanes = fed.lanes.count,
                  .size = fed.size,
                  .shared = fed.shared,
                  .weighted = std::ranges::any_of(
                      fed.of, [](const program::Batch* batch) { return batch != nullptr && !batch->weights.empty(); }),
                  .needs_gradient_norm = pending_chunk_->needs_gradient_norm,
                  .clipped = std::ranges::any_of(hyper, [](const program::LaneHyper& h) { return h.clip_norm > 0; }),
                  .table = dataset_of(fed)};
  for (const program::Range& piece : lr_ranges_of(state_format_->layout().trained, hyper)) {
    shape.lr_ranges.insert(shape.lr_ranges.end(), {piece.begin, piece.count});
  }
  return shape;
}

StepInputBuffer::Layouts AtenExecutable::layouts_of(const StepShape& shape) const {
  const std::int64_t readers = shape.shared ? 1 : shape.lanes;
  const at::ScalarType real = c10::typeMetaToScalarType(real_.dtype());
  const auto values = [&](const graph::ValueType& type) {
    StepInputBuffer::Layout layout{type.dtype == graph::DType::kReal ? real : at::kLong,
                                   StepInputBuffer::sizes_of(type.shape, shape.size)};
    layout.sizes.insert(layout.sizes.begin(), shape.table == nullptr ? readers : 0);
    return layout;
  };
  StepInputBuffer::Layouts all;
  all[StepInputBuffer::kFeatures] = values(infer_.types.at(infer_.input));
  all[StepInputBuffer::kTargets] = {at::kLong, {0}};
  if (train_ && classes_ > 0)
    all[StepInputBuffer::kTargets].sizes = {shape.table == nullptr ? readers : 0, shape.size * positions_};
  if (train_ && classes_ == 0) all[StepInputBuffer::kTargets] = values(train_->types.at(train_->target));
  all[StepInputBuffer::kWeights] = {real, {shape.weighted ? shape.lanes : 0, shape.size}};
  all[StepInputBuffer::kHyper] = {at::kDouble, {shape.num_hyper_tables(), shape.lanes, UpdateHyperTable::kColumns}};
  all[StepInputBuffer::kLaneAttrs] = {at::kDouble,
                                      {shape.lanes, static_cast<std::int64_t>(properties().lane_attrs.size())}};
  all[StepInputBuffer::kActive] = {at::kLong, {shape.lanes}};
  all[StepInputBuffer::kKeys] = {at::kLong, {shape.lanes, 2}};
  const bool reads_rows = compute_.has_random_masks() || shape.table != nullptr;
  all[StepInputBuffer::kSamples] = {at::kLong, {reads_rows ? readers : 0, shape.size}};
  all[StepInputBuffer::kStep] = {at::kLong, {1}};
  return all;
}

// [lanes, …]; a shared value is the same memory for every lane.
Tensor AtenExecutable::read_shared(const StepInputBuffer& inputs, StepInputBuffer::Region region, std::int64_t lanes,
                                   std::size_t at) {
  const Tensor& all = inputs.at(region, at);
  std::vector<std::int64_t> sizes = all.sizes().vec();
  sizes[0] = lanes;
  return all.expand(sizes);
}

// Features or targets of a step, from the uploaded batch or from the data set on the device.
Tensor AtenExecutable::read(const StepInputBuffer& inputs, const StepShape& shape, StepInputBuffer::Region region,
                            std::size_t at) {
  if (shape.table == nullptr) return read_shared(inputs, region, shape.lanes, at);
  const Tensor& rows = inputs.at(StepInputBuffer::kSamples, at);
  const Tensor& table = region == StepInputBuffer::kFeatures ? shape.table->features : shape.table->targets;
  const Tensor found = at::index_select(table, 0, rows.reshape({-1}));
  const std::int64_t readers = rows.size(0);
  std::vector<std::int64_t> sizes = found.sizes().vec();
  sizes[0] = shape.size;
  // Labels of positions are consecutive, as they are uploaded.
  if (region == StepInputBuffer::kTargets && found.scalar_type() == at::kLong) sizes = {shape.size * found.size(1)};
  sizes.insert(sizes.begin(), readers);
  Tensor all = found.reshape(sizes);
  sizes[0] = shape.lanes;
  return all.expand(sizes);
}

// Lanes without a batch get zeros.
void AtenExecutable::fill_batches(StepInputBuffer& inputs, std::size_t at, const LaneBatches& fed,
                                  const DeviceDataset* table) const {
  const auto each = [&](auto region, const auto& write) {
    const std::size_t count = region.size() / fed.of.size();
    for (std::size_t i = 0; i < fed.of.size(); ++i) {
      const auto own = region.subspan(i * count, count);
      if (fed.of[i] == nullptr) {
        std::ranges::fill(own, typename decltype(own)::value_type{});
      } else {
        write(own, *fed.of[i]);
      }
    }
  };
  const auto values = [&](StepInputBuffer::Region region, const graph::ValueType& type,
                          std::span<const float> program::Batch::*member) {
    if (type.dtype != graph::DType::kReal) {
      each(inputs.host<std::int64_t>(region, at), [&](auto own, const program::Batch& batch) {
        std::ranges::transform(batch.*member, own.begin(), token_index);
      });
    } else if (state_format_->is_double()) {
      each(inputs.host<double>(region, at),
           [&](auto own, const program::Batch& batch) { std::ranges::copy(batch.*member, own.begin()); });
    } else {
      each(inputs.host<float>(region, at),
           [&](auto own, const program::Batch& batch) { std::ranges::copy(batch.*member, own.begin()); });
    }
  };
  if (table != nullptr || compute_.has_random_masks()) {
    each(inputs.host<std::int64_t>(StepInputBuffer::kSamples, at),
         [](auto own, const program::Batch& batch) { std::ranges::copy(batch.sample_index, own.begin()); });
  }
  if (table != nullptr) return;
  values(StepInputBuffer::kFeatures, infer_.types.at(infer_.input), &program::Batch::features);
  const bool trains = std::ranges::any_of(fed.of, [this](const program::Batch* batch) {
    return batch != nullptr && !(classes_ > 0 ? batch->labels.empty() : batch->targets.empty());
  });
  if (!train_ || !trains) return;
  if (classes_ > 0) {
    each(inputs.host<std::int64_t>(StepInputBuffer::kTargets, at),
         [](auto own, const program::Batch& batch) { std::ranges::copy(batch.labels, own.begin()); });
  } else {
    values(StepInputBuffer::kTargets, train_->types.at(train_->target), &program::Batch::targets);
  }
}

// `hyper` and `active` have entries for these lanes only.
void AtenExecutable::fill(RecordedStep& step, std::size_t at, const LaneBatches& fed,
                          std::span<const program::LaneHyper> hyper, std::span<const std::uint8_t> active,
                          std::int64_t number) const {
  StepInputBuffer& inputs = step.inputs;
  Frame& frame = step.frames[at];
  fill_batches(inputs, at, fed, step.shape.table);
  const auto rows = inputs.host<double>(StepInputBuffer::kHyper, at),
             lane_attrs = inputs.host<double>(StepInputBuffer::kLaneAttrs, at);
  const auto keys = inputs.host<std::int64_t>(StepInputBuffer::kKeys, at),
             mask = inputs.host<std::int64_t>(StepInputBuffer::kActive, at);
  inputs.host<std::int64_t>(StepInputBuffer::kStep, at)[0] = number;
  frame.keys.assign(hyper.size(), {});
  frame.host_lane_attrs.clear();
  const std::size_t known = properties().lane_attrs.size();
  for (std::size_t i = 0; i < hyper.size(); ++i) {
    const program::LaneHyper& h = hyper[i];
    const std::size_t lane = static_cast<std::size_t>(fed.lanes.begin) + i;
    const std::int64_t done =
        std::max<std::int64_t>(0, step_count(static_cast<std::int64_t>(lane))) + num_queued_steps_[lane];
    for (std::size_t piece = 0; piece < static_cast<std::size_t>(step.shape.num_hyper_tables()); ++piece) {
      const double factor = step.shape.lr_ranges.empty() ? 1 : lr_factor(h, step.shape.lr_ranges[2 * piece]);
      const std::size_t row = piece * hyper.size() + i;
      UpdateHyperTable::write(rows.subspan(row * UpdateHyperTable::kColumns, UpdateHyperTable::kColumns), h, factor,
                              done);
    }
    for (std::size_t k = 0; k < known; ++k) {
      lane_attrs[i * known + k] = h.lane_attrs.empty() ? properties().lane_attrs[k].value : h.lane_attrs[k];
    }
    const program::Batch* batch = fed.of[fed.shared ? 0 : i];
    const program::LaneState& state = states_[lane];
    mask[i] = active[i];
    keys[2 * i] = keys[2 * i + 1] = 0;
    if (active[i] != 0 && batch != nullptr) {
      keys[2 * i] = static_cast<std::int64_t>(state.seed());
      keys[2 * i + 1] = done;
      frame.keys[i] = {.seed = state.seed(),
                       .step = static_cast<std::uint64_t>(done),
                       .active = true,
                       .samples = batch->sample_index};
    }
    const auto write_weights = [&](auto region) {
      for (std::int64_t n = 0; n < fed.size; ++n) {
        const bool own = batch != nullptr && !batch->weights.empty();
        region[i * static_cast<std::size_t>(fed.size) + static_cast<std::size_t>(n)] =
            own ? batch->weights[static_cast<std::size_t>(n)] : 1.0F;
      }
    };
    if (step.shape.weighted) {
      state_format_->is_double() ? write_weights(inputs.host<double>(StepInputBuffer::kWeights, at))
                                 : write_weights(inputs.host<float>(StepInputBuffer::kWeights, at));
    }
  }
  frame.host_lane_attrs.assign(lane_attrs.begin(), lane_attrs.end());
}

}  // namespace lanista::device
