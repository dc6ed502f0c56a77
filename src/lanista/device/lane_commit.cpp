// The end of a step by kernels of our own: updates where parameters lie, new buffers, and what the chunk is told.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/device/aten_pending.h"
#include "lanista/device/lane_calls.h"
#include "lanista/nn/layout.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kNotedMeanwhile = 256;  // losses of a lane that one thread sums while others update
constexpr std::int64_t kClipParts = 256;       // of a lane's sum of squares, whatever its size

// [lanes, elements] of a value in the order in which the state holds it.
Tensor as_stored(const Tensor& value, const nn::StateItem& item) {
  const std::vector<std::size_t> axes = nn::memory_axes(item.layout, item.tensor.shape.dims.size());
  std::vector<std::int64_t> order{0};
  for (const std::size_t axis : axes) order.push_back(static_cast<std::int64_t>(axis) + 1);
  return value.permute(order).reshape({value.size(0), -1}).contiguous();
}

const long long* longs(const Tensor& x) { return static_cast<const long long*>(x.data_ptr()); }

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

void AtenMachine::update_by_kernels(const Step& step, std::int64_t piece, const lane::Stretches& of,
                                    const Tensor& scale, lane::Note* note) {
  const nn::StateLayout& layout = kind_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor hyper = step.input(StepInputs::kHyper).select(0, piece);
  const auto part = [&](std::size_t k) { return part_of(lanes, k, layout.parameters).data_ptr(); };
  lane::Update call{.of = of,
                    .active = longs(step.frame().active),
                    .hyper = static_cast<const double*>(hyper.data_ptr()),
                    .scale = scale.defined() ? scale.data_ptr() : nullptr,
                    .parameters = part(0),
                    .slots = {nullptr, nullptr},
                    .lane = rows_.stride(0),
                    .columns = UpdateHyper::kColumns,
                    .updates = lanes.count * of.count / 4,
                    .note = {}};
  std::int64_t noted = 0;
  if (note != nullptr && note->losses != nullptr) {
    call.note = std::exchange(*note, {});
    noted = lanes.count;
  }
  for (std::size_t k = 0; k < layout.slots.size(); ++k) call.slots[k] = part(2 + k);
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
  // Where nobody looks at all gradients together, each is taken from where it was made.
  const bool one_rate = step.shape().pieces.size() == 2 * layout.trained.size();
  if (!one_rate || step.shape().clipped || step.shape().watched) {
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
    if (found == sources.end()) continue;
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
