// The end of a step by kernels of our own: updates where parameters lie, new buffers, and what the chunk is told.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/exec/backends/aten/aten_pending.h"
#include "lanista/exec/backends/aten/lane_calls.h"
#include "lanista/exec/program/layout.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kNotedMeanwhile = 256;  // losses of a lane that one thread sums while others update
constexpr std::int64_t kClipParts = 256;       // of a lane's sum of squares, whatever its size

// [lanes, elements] of a value in the order in which the state holds it; a lane's are neighbours.
Tensor as_stored(const Tensor& value, const nn::StateItem& item) {
  const std::vector<std::size_t> axes = nn::memory_axes(item.layout, item.tensor.shape.dims.size());
  std::vector<std::int64_t> order{0};
  for (const std::size_t axis : axes) order.push_back(static_cast<std::int64_t>(axis) + 1);
  const Tensor flat = value.permute(order).reshape({value.size(0), -1});
  return flat.size(1) == 1 || flat.stride(1) == 1 ? flat : flat.contiguous();
}

const long long* longs(const Tensor& x) { return static_cast<const long long*>(x.data_ptr()); }

lane::Descent descent_of(std::string_view optimizer) {
  constexpr std::array<std::string_view, 5> kNames{"sgd", "adam", "adamw", "lion", "rmsprop"};
  const auto found = std::ranges::find(kNames, optimizer);
  if (found == kNames.end()) return lane::kNoDescent;
  return static_cast<lane::Descent>(lane::kSgd + (found - kNames.begin()));
}

/// Stretches gathered until a kernel's room for them is full.
class Gathered {
 public:
  explicit Gathered(std::function<void(const lane::Stretches&)> run) : run_(std::move(run)) {}
  void add(const nn::Range& range, const Tensor& from) {
    if (of_.items == lane::Stretches::kMost) flush();
    const auto at = static_cast<std::size_t>(of_.items++);
    of_.first[at] = of_.count;
    of_.begin[at] = range.begin;
    of_.from[at] = from.data_ptr();
    of_.from_lane[at] = from.stride(0);
    of_.length[at] = range.count;
    // Parts of a state begin at multiples of 64 bytes.
    of_.fours[at] = range.begin % 4 == 0 && from.stride(0) % 4 == 0 && wide_of(from, 4) == 4;
    of_.count += (range.count + 3) / 4 * 4;
  }
  void flush() {
    if (of_.items > 0) run_(of_);
    of_ = {};
  }

 private:
  std::function<void(const lane::Stretches&)> run_;
  lane::Stretches of_{};
};

}  // namespace

// Where nobody looks at all gradients together, and a rate is one for all parameters, each is used where it is made.
bool AtenMachine::updates_at_once(const StepShape& shape) const {
  return shape.pieces.size() == 2 * kind_->layout().trained.size() && !shape.clipped && !shape.watched;
}

// Parameters from `begin` on.
lane::Descended AtenMachine::descended(const Step& step, std::int64_t piece, std::int64_t begin) const {
  const nn::StateLayout& layout = kind_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor hyper = step.input(StepInputs::kHyper).select(0, piece);
  const auto part = [&](std::size_t k) {
    return static_cast<std::byte*>(part_of(lanes, k, layout.parameters).data_ptr()) +
           begin * static_cast<std::int64_t>(rows_.element_size());
  };
  lane::Descended to{.active = longs(step.frame().active),
                     .hyper = static_cast<const double*>(hyper.data_ptr()),
                     .parameters = part(0),
                     .slots = {nullptr, nullptr},
                     .lane = rows_.stride(0),
                     .columns = UpdateHyper::kColumns};
  for (std::size_t k = 0; k < layout.slots.size(); ++k) to.slots[k] = part(2 + k);
  return to;
}

std::map<graph::NodeId, LaneDescent> AtenMachine::descents_of(const Step& step) const {
  std::map<graph::NodeId, LaneDescent> all;
  const lane::Descent by = descent_of(train_->options.optimizer);
  if (by == lane::kNoDescent || !updates_at_once(step.shape())) return all;
  for (const nn::StateItem& item : kind_->layout().items) {
    const auto found = train_->gradient.find(item.tensor.node);
    if (!item.tensor.trained || found == train_->gradient.end()) continue;
    if (!compute_.last_readers().contains(found->second)) continue;
    all[found->second.node] = {descended(step, 0, item.range.begin), by};
  }
  return all;
}

void AtenMachine::update_by_kernels(const Step& step, std::int64_t piece, const lane::Stretches& of,
                                    const Tensor& scale, lane::Note* note) {
  lane::Update call{.of = of,
                    .to = descended(step, piece, 0),
                    .scale = scale.defined() ? scale.data_ptr() : nullptr,
                    .updates = step.shape().lanes * of.count / 4,
                    .note = {}};
  std::int64_t noted = 0;
  if (note != nullptr && note->losses != nullptr) {
    call.note = std::exchange(*note, {});
    noted = step.shape().lanes;
  }
  const std::string kernel = "update_" + train_->options.optimizer;
  device_.kernels()->run(kernel.c_str(), rows_.scalar_type(), call.updates + noted, call);
}

void AtenMachine::renew_by_kernels(const Step& step, const lane::Stretches& of) {
  const Tensor to = part_of({step.shape().begin, step.shape().lanes}, 1, kind_->layout().buffers);
  device_.kernels()->run("renew", rows_.scalar_type(), step.shape().lanes * of.count,
                         lane::Renew{of, longs(step.frame().active), to.data_ptr(), rows_.stride(0)});
}

void AtenMachine::finish_by_kernels(const Step& step, const Values& values) {
  const nn::StateLayout& layout = kind_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor losses = values.at(train_->loss).contiguous();
  lane::Note note{longs(step.frame().active),
                  losses.data_ptr(),
                  longs(step.input(StepInputs::kStep)),
                  static_cast<double*>(totals_.data_ptr()) + lanes.begin,
                  step.shape().size,
                  options_.lanes};
  const auto note_now = [&] {
    if (note.losses == nullptr) return;
    device_.kernels()->run_rows("note", rows_.scalar_type(), lanes.count, note.samples, note);
    note = {};
  };
  if (step.shape().size > kNotedMeanwhile) note_now();
  if (!updates_at_once(step.shape())) {
    const Computed of = collected(lanes, values);
    if (step.shape().watched) {
      const Tensor square = totals_.select(0, kSquare).narrow(0, lanes.begin, lanes.count);
      square.copy_(at::where(step.frame().active != 0, gradient_squares(step, of.gradients), square));
    }
    note_now();
    return commit_by_kernels(step, of);
  }
  Gathered updates([&](const lane::Stretches& of) { update_by_kernels(step, 0, of, {}, &note); });
  Gathered buffers([&](const lane::Stretches& of) { renew_by_kernels(step, of); });
  std::vector<Tensor> kept;  // until they are read
  for (const nn::StateItem& item : layout.items) {
    const auto& sources = item.tensor.trained ? train_->gradient : train_->renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end() || !values.at(found->second).defined()) continue;  // used up where it was made
    kept.push_back(as_stored(values.at(found->second), item));
    (item.tensor.trained ? updates : buffers).add(item.range, kept.back());
  }
  updates.flush();
  buffers.flush();
  note_now();
}

void AtenMachine::commit_by_kernels(const Step& step, const Computed& of) {
  const nn::StateLayout& layout = kind_->layout();
  Tensor scale;
  if (step.shape().clipped) {
    Tensor partial = at::empty({step.shape().lanes, kClipParts}, real_.dtype(at::kDouble));
    scale = at::empty({step.shape().lanes}, real_);
    const lane::Clip call{of.gradients.data_ptr(),
                          static_cast<double*>(partial.data_ptr()),
                          static_cast<const double*>(step.input(StepInputs::kHyper).data_ptr()),
                          scale.data_ptr(),
                          layout.parameters,
                          of.gradients.stride(0),
                          kClipParts,
                          UpdateHyper::kColumns,
                          UpdateHyper::kClip};
    device_.kernels()->run("clip_part", rows_.scalar_type(), step.shape().lanes * kClipParts, call);
    device_.kernels()->run("clip_end", rows_.scalar_type(), step.shape().lanes, call);
  }
  for (std::size_t i = 0; i < step.shape().pieces.size(); i += 2) {
    const nn::Range range{step.shape().pieces[i], step.shape().pieces[i + 1]};
    Gathered one(
        [&](const lane::Stretches& all) { update_by_kernels(step, static_cast<std::int64_t>(i / 2), all, scale); });
    one.add(range, of.gradients.narrow(1, range.begin, range.count));
    one.flush();
  }
  Gathered buffers([&](const lane::Stretches& all) { renew_by_kernels(step, all); });
  for (const nn::Range& run : layout.renewed) buffers.add(run, of.buffers.narrow(1, run.begin, run.count));
  buffers.flush();
}

}  // namespace lanista::device
