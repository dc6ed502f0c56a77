#include "lanista/exec/backends/aten/step_input_buffer.h"

#include <thread>

namespace lanista::device {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kNumHostBuffers = 8;

std::int64_t elements_of(const StepInputBuffer::Layout& layout) {
  std::int64_t count = 1;
  for (const std::int64_t size : layout.sizes) count *= size;
  return count;
}

}  // namespace

std::vector<std::int64_t> StepInputBuffer::sizes_of(const graph::Shape& shape, std::int64_t samples) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t dim : shape.dims) sizes.push_back(dim == graph::kBatch ? samples : dim);
  return sizes;
}

StepInputBuffer::StepInputBuffer(const Layouts& layouts, at::Device device, std::size_t steps) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const std::size_t bytes = static_cast<std::size_t>(elements_of(layouts[i])) * c10::elementSize(layouts[i].type);
    region_ranges_[i] = {end, bytes};
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  step_bytes_ = end;
  const auto all = static_cast<std::int64_t>(steps * end);
  const auto bytes = at::TensorOptions(at::kByte);
  const bool is_separate = !device.is_cpu();
  for (std::size_t i = 0; i < (is_separate ? kNumHostBuffers : 1); ++i) {
    host_buffers_.push_back(at::empty({all}, bytes.pinned_memory(is_separate)));
    host_buffers_.back().zero_();
    upload_events_.emplace_back();
  }
  device_ = is_separate ? at::zeros({all}, bytes.device(device)) : host_buffers_.front();
  views_.resize(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    char* const begin = static_cast<char*>(device_.data_ptr()) + step * end;
    for (std::size_t i = 0; i < kRegions; ++i) {
      views_[step][i] = at::from_blob(begin + region_ranges_[i].begin, layouts[i].sizes,
                                      at::TensorOptions(layouts[i].type).device(device));
    }
  }
}

// Host buffers are freed only after the device has read them.
StepInputBuffer::~StepInputBuffer() {
  for (const auto& event : upload_events_) {
    while (event && !event->query()) std::this_thread::yield();
  }
}

void StepInputBuffer::prepare() {
  current_host_ = (current_host_ + 1) % host_buffers_.size();
  const auto& event = upload_events_[current_host_];
  while (event && !event->query()) std::this_thread::yield();
}

void StepInputBuffer::send() {
  if (device_.is_cpu()) return;
  device_.copy_(host_buffers_[current_host_], /*non_blocking=*/true);
  record_upload();
}

void StepInputBuffer::send_as_first(std::size_t step) {
  const auto bytes = static_cast<std::int64_t>(step_bytes_);
  const Tensor from = host_buffers_[current_host_].narrow(0, static_cast<std::int64_t>(step) * bytes, bytes);
  const Tensor first = device_.narrow(0, 0, bytes);
  if (device_.is_cpu()) {
    if (step > 0) first.copy_(from);
    return;
  }
  first.copy_(from, /*non_blocking=*/true);
  record_upload();
}

void StepInputBuffer::record_upload() {
  auto& event = upload_events_[current_host_];
  if (!event) event.emplace(device_.device().type());
  event->record(c10::impl::VirtualGuardImpl(device_.device().type()).getStream(device_.device()));
}

}  // namespace lanista::device
