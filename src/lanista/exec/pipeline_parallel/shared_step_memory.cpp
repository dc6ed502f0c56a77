#include "lanista/exec/pipeline_parallel/shared_step_memory.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::program {
namespace {

void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

std::uint8_t as_byte(bool flag) { return flag ? 1 : 0; }

template <class T>
void copy_ranges(const std::vector<Range>& ranges, T* to, const T* from) {
  for (const Range& range : ranges) copy_bytes(to + range.begin, from + range.begin, bytes_of<T>(range.count));
}

template <class T>
std::byte*& base(StageStep<T>& step, MemorySpace space) {
  return step.run.base[static_cast<std::size_t>(space)];
}
template <class T>
std::byte* base(const StageStep<T>& step, MemorySpace space) {
  return step.run.base[static_cast<std::size_t>(space)];
}

}  // namespace

template <class T>
SharedStepMemory<T>::SharedStepMemory(const Sizes& sizes)
    : trained_(sizes.layout.trained),
      renewed_(sizes.layout.renewed),
      parameters_(sizes.layout.parameters),
      lane_attrs_(sizes.lane_attrs),
      input_stride_(sizes.input_stride),
      target_stride_(sizes.target_stride) {
  static_assert(std::is_trivially_copyable_v<StepHeader>);
  const auto take = [this](std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ += align_up(bytes);
    return at;
  };
  take(static_cast<std::int64_t>(sizeof(StepHeader)));
  lane_attrs_offset_ = take(bytes_of<double>(lane_attrs_));
  parameters_offset_ = take(bytes_of<T>(parameters_));
  gradients_offset_ = take(bytes_of<T>(parameters_));
  scratch_gradients_offset_ = take(bytes_of<T>(parameters_));
  new_buffers_offset_ = take(bytes_of<T>(sizes.layout.buffers));
  input_offset_ = take(sizes.samples * input_stride_);
  target_offset_ = take(sizes.samples * target_stride_);
  sample_index_offset_ = take(bytes_of<std::int64_t>(sizes.samples));
  weights_offset_ = take(bytes_of<float>(sizes.samples));
}

template <class T>
StageStep<T> SharedStepMemory<T>::write(std::byte* at, const StageStep<T>& step) const {
  const RunContext<T>& run = step.run;
  StepHeader header{.batch = run.batch,
                    .total = run.total,
                    .seed = run.seed,
                    .step = run.step,
                    .grad_scale = run.grad_scale,
                    .hyper = *run.hyper,
                    .has_lane_attrs = as_byte(!run.hyper->lane_attrs.empty()),
                    .has_target = as_byte(base(step, MemorySpace::kTarget) != nullptr),
                    .has_index = as_byte(run.sample_index != nullptr),
                    .has_weights = as_byte(run.weights != nullptr),
                    .add = as_byte(step.add)};
  header.hyper.lane_attrs = {};  // addresses of this process
  header.hyper.lr_ranges = {};
  copy_bytes(at, &header, static_cast<std::int64_t>(sizeof(header)));
  if (header.has_lane_attrs != 0)
    copy_bytes(at + lane_attrs_offset_, run.hyper->lane_attrs.data(), bytes_of<double>(lane_attrs_));
  copy_bytes(at + parameters_offset_, base(step, MemorySpace::kParameter), bytes_of<T>(parameters_));
  if (step.add)
    copy_ranges(trained_, reinterpret_cast<T*>(at + gradients_offset_), static_cast<const T*>(step.gradients));
  copy_bytes(at + input_offset_, base(step, MemorySpace::kInput), run.batch * input_stride_);
  if (header.has_target != 0)
    copy_bytes(at + target_offset_, base(step, MemorySpace::kTarget), run.batch * target_stride_);
  if (header.has_index != 0) copy_bytes(at + sample_index_offset_, run.sample_index, bytes_of<std::int64_t>(run.batch));
  if (header.has_weights != 0) copy_bytes(at + weights_offset_, run.weights, bytes_of<float>(run.batch));
  return view(at, header, run.hyper);
}

template <class T>
StageStep<T> SharedStepMemory<T>::read(std::byte* at) const {
  StepHeader header;
  std::memcpy(&header, at, sizeof(header));  // Each number is read once.
  return view(at, header, &reinterpret_cast<const StepHeader*>(at)->hyper);
}

template <class T>
StageStep<T> SharedStepMemory<T>::view(std::byte* at, const StepHeader& header, const LaneHyper* hyper) const {
  StageStep<T> step{.run = {},
                    .gradients = reinterpret_cast<T*>(at + gradients_offset_),
                    .scratch_gradients = reinterpret_cast<T*>(at + scratch_gradients_offset_),
                    .add = header.add != 0};
  step.run.batch = header.batch;
  step.run.total = header.total;
  step.run.seed = header.seed;
  step.run.step = header.step;
  step.run.grad_scale = header.grad_scale;
  step.run.hyper = hyper;
  base(step, MemorySpace::kParameter) = at + parameters_offset_;
  base(step, MemorySpace::kNewBuffer) = at + new_buffers_offset_;
  base(step, MemorySpace::kInput) = at + input_offset_;
  if (header.has_target != 0) base(step, MemorySpace::kTarget) = at + target_offset_;
  if (header.has_index != 0) step.run.sample_index = reinterpret_cast<const std::int64_t*>(at + sample_index_offset_);
  if (header.has_weights != 0) step.run.weights = reinterpret_cast<const float*>(at + weights_offset_);
  return step;
}

template <class T>
std::span<const double> SharedStepMemory<T>::lane_attrs(const std::byte* at) const {
  if (reinterpret_cast<const StepHeader*>(at)->has_lane_attrs == 0) return {};
  return {reinterpret_cast<const double*>(at + lane_attrs_offset_), static_cast<std::size_t>(lane_attrs_)};
}

template <class T>
void SharedStepMemory<T>::collect_results(const std::byte* at, const StageStep<T>& step) const {
  copy_ranges(trained_, step.gradients, reinterpret_cast<const T*>(at + gradients_offset_));
  copy_ranges(renewed_, reinterpret_cast<T*>(base(step, MemorySpace::kNewBuffer)),
              reinterpret_cast<const T*>(at + new_buffers_offset_));
}

template <class T>
std::vector<typename SharedStepMemory<T>::ByteRange> SharedStepMemory<T>::bytes_to_send(const StageStep<T>& step,
                                                                                        const RankReads& read) const {
  const RunContext<T>& run = step.run;
  std::vector<ByteRange> all{{0, parameters_offset_}};  // header and lane attributes
  for (const Range& range : read.parameters) {
    all.push_back({parameters_offset_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)});
  }
  if (step.add) {
    for (const Range& range : read.gradients) all.push_back(gradient(range));
  }
  if (read.input) all.push_back({input_offset_, run.batch * input_stride_});
  if (read.target && base(step, MemorySpace::kTarget) != nullptr)
    all.push_back({target_offset_, run.batch * target_stride_});
  if (run.sample_index != nullptr) all.push_back({sample_index_offset_, bytes_of<std::int64_t>(run.batch)});
  if (run.weights != nullptr) all.push_back({weights_offset_, bytes_of<float>(run.batch)});
  return all;
}

template <class T>
typename SharedStepMemory<T>::ByteRange SharedStepMemory<T>::gradient(const Range& range) const {
  return {gradients_offset_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)};
}

template <class T>
typename SharedStepMemory<T>::ByteRange SharedStepMemory<T>::renewed(const Range& range) const {
  return {new_buffers_offset_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)};
}

template class SharedStepMemory<float>;
template class SharedStepMemory<double>;

}  // namespace lanista::program
