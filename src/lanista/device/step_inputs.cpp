#include "lanista/device/step_inputs.h"

#include <thread>

namespace lanista::device {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kBuffers = 8;

std::int64_t elements_of(const StepInputs::Layout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t size : layout.sizes) count *= size;
  return count;
}

}  // namespace

StepInputs::StepInputs(const Layouts& layouts, at::Device device) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const std::size_t bytes =
        static_cast<std::size_t>(elements_of(layouts[i])) * c10::elementSize(layouts[i].type);
    places_[i] = {end, bytes};
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto bytes = at::TensorOptions(at::kByte);
  const bool apart = !device.is_cpu();
  for (std::size_t i = 0; i < (apart ? kBuffers : 1); ++i) {
    hosts_.push_back(at::empty({static_cast<std::int64_t>(end)}, bytes.pinned_memory(apart)));
    hosts_.back().zero_();
    sent_.emplace_back();
  }
  device_ = apart ? at::zeros({static_cast<std::int64_t>(end)}, bytes.device(device)) : hosts_.front();
  for (std::size_t i = 0; i < kRegions; ++i) {
    views_[i] = at::from_blob(static_cast<char*>(device_.data_ptr()) + places_[i].begin, layouts[i].sizes,
                              at::TensorOptions(layouts[i].type).device(device));
  }
}

// Nobody else may have the host's buffers before the device has read them.
StepInputs::~StepInputs() {
  for (const auto& event : sent_) {
    while (event && !event->query()) std::this_thread::yield();
  }
}

void StepInputs::prepare() {
  next_ = (next_ + 1) % hosts_.size();
  const auto& event = sent_[next_];
  while (event && !event->query()) std::this_thread::yield();
}

void StepInputs::send() {
  if (device_.is_cpu()) return;
  device_.copy_(hosts_[next_], /*non_blocking=*/true);
  auto& event = sent_[next_];
  if (!event) event.emplace(device_.device().type());
  event->record(c10::impl::VirtualGuardImpl(device_.device().type()).getStream(device_.device()));
}

}  // namespace lanista::device
