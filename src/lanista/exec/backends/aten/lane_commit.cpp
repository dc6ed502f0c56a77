// The end of a step by lane kernels: parameter updates in place, new buffers, and the totals of the chunk.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/exec/backends/aten/aten_recorded_step.h"
#include "lanista/exec/backends/aten/lane_calls.h"
#include "lanista/exec/program/layout.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kMaxSamplesPerThread = 256;  // up to which one thread sums the losses of a lane
constexpr std::int64_t kClipParts = 256;            // parts of a lane's sum of squares, for any size

// [lanes, elements] of a value in the element order of the state; the elements of a lane are contiguous.
Tensor in_state_layout(const Tensor& value, const program::StateTensorLayout& item) {
  const std::vector<std::size_t> axes = program::memory_axes(item.layout, item.tensor.shape.dims.size());
  std::vector<std::int64_t> order{0};
  for (const std::size_t axis : axes) order.push_back(static_cast<std::int64_t>(axis) + 1);
  const Tensor flat = value.permute(order).reshape({value.size(0), -1});
  return flat.size(1) == 1 || flat.stride(1) == 1 ? flat : flat.contiguous();
}

const long long* int64_data(const Tensor& x) { return static_cast<const long long*>(x.data_ptr()); }

lane::UpdateRule update_rule_of(std::string_view optimizer) {
  const auto* const found = std::ranges::find(kUpdateRuleNames, optimizer);
  if (found == std::end(kUpdateRuleNames)) return lane::kNoUpdate;
  return static_cast<lane::UpdateRule>(1 + (found - kUpdateRuleNames));
}

/// Collects ranges until the argument struct of a kernel is full.
class RangeCollector {
 public:
  explicit RangeCollector(std::function<void(const lane::StateRanges&)> run) : run_(std::move(run)) {}
  void add(const program::Range& range, const Tensor& from) {
    if (of_.items == lane::StateRanges::kMaxRanges) flush();
    const auto at = static_cast<std::size_t>(of_.items++);
    of_.first[at] = of_.count;
    of_.begin[at] = range.begin;
    of_.from[at] = from.data_ptr();
    of_.from_stride[at] = from.stride(0);
    of_.length[at] = range.count;
    // Parts of a state begin at multiples of 64 bytes.
    of_.fours[at] = range.begin % 4 == 0 && from.stride(0) % 4 == 0 && vector_width_of(from, 4) == 4;
    of_.count += (range.count + 3) / 4 * 4;
  }
  void flush() {
    if (of_.items > 0) run_(of_);
    of_ = {};
  }

 private:
  std::function<void(const lane::StateRanges&)> run_;
  lane::StateRanges of_{};
};

}  // namespace

// An update may be fused if no step needs all gradients at once and all parameters have one learning rate.
bool AtenExecutable::can_fuse_updates(const StepShape& shape) const {
  return shape.lr_ranges.size() == 2 * state_format_->layout().trained.size() && !shape.clipped &&
         !shape.needs_gradient_norm;
}

// Update target of the parameters from `begin` on.
lane::UpdateTarget AtenExecutable::update_target(const Step& step, std::int64_t piece, std::int64_t begin) const {
  const program::StateLayout& layout = state_format_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor hyper = step.input(StepInputBuffer::kHyper).select(0, piece);
  const auto part = [&](std::size_t k) {
    return static_cast<std::byte*>(state_part(lanes, k, layout.parameters).data_ptr()) +
           begin * static_cast<std::int64_t>(state_rows_.element_size());
  };
  lane::UpdateTarget to{.active = int64_data(step.frame().active),
                        .hyper = static_cast<const double*>(hyper.data_ptr()),
                        .parameters = part(0),
                        .slots = {nullptr, nullptr},
                        .lane = state_rows_.stride(0),
                        .columns = UpdateHyperTable::kColumns};
  for (std::size_t k = 0; k < layout.slots.size(); ++k) to.slots[k] = part(2 + k);
  return to;
}

std::map<graph::NodeId, FusedUpdate> AtenExecutable::fused_updates_of(const Step& step) const {
  std::map<graph::NodeId, FusedUpdate> all;
  const lane::UpdateRule by = update_rule_of(train_->options.optimizer);
  if (by == lane::kNoUpdate || !can_fuse_updates(step.shape())) return all;
  for (const program::StateTensorLayout& item : state_format_->layout().items) {
    const auto found = train_->gradient.find(item.tensor.node);
    if (!item.tensor.trained || found == train_->gradient.end()) continue;
    if (!compute_.fused_gradients().contains(found->second)) continue;
    all[found->second.node] = {update_target(step, 0, item.range.begin), by};
  }
  return all;
}

void AtenExecutable::update_with_lane_kernels(const Step& step, std::int64_t piece, const lane::StateRanges& of,
                                              const Tensor& scale, lane::LossRecord* note) {
  lane::Update call{.of = of,
                    .to = update_target(step, piece, 0),
                    .scale = scale.defined() ? scale.data_ptr() : nullptr,
                    .updates = step.shape().lanes * of.count / 4,
                    .note = {}};
  std::int64_t loss_updates = 0;
  if (note != nullptr && note->losses != nullptr) {
    call.note = std::exchange(*note, {});
    loss_updates = step.shape().lanes;
  }
  const std::string kernel = "update_" + train_->options.optimizer;
  device_.kernels()->run(kernel.c_str(), state_rows_.scalar_type(), call.updates + loss_updates, call);
}

void AtenExecutable::update_buffers_with_lane_kernels(const Step& step, const lane::StateRanges& of) {
  const Tensor to = state_part({step.shape().begin, step.shape().lanes}, 1, state_format_->layout().buffers);
  device_.kernels()->run("renew", state_rows_.scalar_type(), step.shape().lanes * of.count,
                         lane::Renew{of, int64_data(step.frame().active), to.data_ptr(), state_rows_.stride(0)});
}

void AtenExecutable::commit_fused(const Step& step, const Values& values) {
  const program::StateLayout& layout = state_format_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor losses = values.at(train_->loss).contiguous();
  lane::LossRecord note{int64_data(step.frame().active),
                        losses.data_ptr(),
                        int64_data(step.input(StepInputBuffer::kStep)),
                        static_cast<double*>(chunk_totals_.data_ptr()) + lanes.begin,
                        step.shape().size,
                        options_.lanes};
  const auto record_losses = [&] {
    if (note.losses == nullptr) return;
    device_.kernels()->run_rows("note", state_rows_.scalar_type(), lanes.count, note.samples, note);
    note = {};
  };
  if (step.shape().size > kMaxSamplesPerThread) record_losses();
  if (!can_fuse_updates(step.shape())) {
    const StepResults of = collect_results(lanes, values);
    if (step.shape().needs_gradient_norm) {
      const Tensor square = chunk_totals_.select(0, kSquaredGradientNorm).narrow(0, lanes.begin, lanes.count);
      square.copy_(at::where(step.frame().active != 0, gradient_squares(step, of.gradients), square));
    }
    record_losses();
    return commit_with_lane_kernels(step, of);
  }
  RangeCollector updates([&](const lane::StateRanges& of) { update_with_lane_kernels(step, 0, of, {}, &note); });
  RangeCollector buffers([&](const lane::StateRanges& of) { update_buffers_with_lane_kernels(step, of); });
  std::vector<Tensor> kept;  // alive until the kernel has read them
  for (const program::StateTensorLayout& item : layout.items) {
    const auto& sources = item.tensor.trained ? train_->gradient : train_->renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end() || !values.at(found->second).defined()) continue;  // applied by a fused update
    kept.push_back(in_state_layout(values.at(found->second), item));
    (item.tensor.trained ? updates : buffers).add(item.range, kept.back());
  }
  updates.flush();
  buffers.flush();
  record_losses();
}

void AtenExecutable::commit_with_lane_kernels(const Step& step, const StepResults& of) {
  const program::StateLayout& layout = state_format_->layout();
  Tensor scale;
  if (step.shape().clipped) {
    Tensor partial = at::empty({step.shape().lanes, kClipParts}, real_.dtype(at::kDouble));
    scale = at::empty({step.shape().lanes}, real_);
    const lane::Clip call{of.gradients.data_ptr(),
                          static_cast<double*>(partial.data_ptr()),
                          static_cast<const double*>(step.input(StepInputBuffer::kHyper).data_ptr()),
                          scale.data_ptr(),
                          layout.parameters,
                          of.gradients.stride(0),
                          kClipParts,
                          UpdateHyperTable::kColumns,
                          UpdateHyperTable::kClipNorm};
    device_.kernels()->run("clip_part", state_rows_.scalar_type(), step.shape().lanes * kClipParts, call);
    device_.kernels()->run("clip_end", state_rows_.scalar_type(), step.shape().lanes, call);
  }
  for (std::size_t i = 0; i < step.shape().lr_ranges.size(); i += 2) {
    const program::Range range{step.shape().lr_ranges[i], step.shape().lr_ranges[i + 1]};
    RangeCollector one([&](const lane::StateRanges& all) {
      update_with_lane_kernels(step, static_cast<std::int64_t>(i / 2), all, scale);
    });
    one.add(range, of.gradients.narrow(1, range.begin, range.count));
    one.flush();
  }
  RangeCollector buffers([&](const lane::StateRanges& all) { update_buffers_with_lane_kernels(step, all); });
  for (const program::Range& run : layout.renewed) buffers.add(run, of.buffers.narrow(1, run.begin, run.count));
  buffers.flush();
}

}  // namespace lanista::device
