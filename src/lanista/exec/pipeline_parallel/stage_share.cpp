#include "lanista/exec/pipeline_parallel/stage_share.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::nn {
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
std::byte*& base(StageStep<T>& step, Space space) {
  return step.run.base[static_cast<std::size_t>(space)];
}
template <class T>
std::byte* base(const StageStep<T>& step, Space space) {
  return step.run.base[static_cast<std::size_t>(space)];
}

}  // namespace

template <class T>
StageShare<T>::StageShare(const Sizes& sizes)
    : trained_(sizes.layout.trained),
      renewed_(sizes.layout.renewed),
      parameters_(sizes.layout.parameters),
      numbers_(sizes.numbers),
      input_stride_(sizes.input_stride),
      target_stride_(sizes.target_stride) {
  static_assert(std::is_trivially_copyable_v<Facts>);
  const auto take = [this](std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ += align_up(bytes);
    return at;
  };
  take(static_cast<std::int64_t>(sizeof(Facts)));
  number_ = take(bytes_of<double>(numbers_));
  parameter_ = take(bytes_of<T>(parameters_));
  out_ = take(bytes_of<T>(parameters_));
  beside_ = take(bytes_of<T>(parameters_));
  renewed_at_ = take(bytes_of<T>(sizes.layout.buffers));
  input_ = take(sizes.samples * input_stride_);
  target_ = take(sizes.samples * target_stride_);
  index_ = take(bytes_of<std::int64_t>(sizes.samples));
  weight_ = take(bytes_of<float>(sizes.samples));
}

template <class T>
StageStep<T> StageShare<T>::put(std::byte* at, const StageStep<T>& step) const {
  const RunContext<T>& run = step.run;
  Facts facts{.batch = run.batch,
              .total = run.total,
              .seed = run.seed,
              .step = run.step,
              .grad_scale = run.grad_scale,
              .hyper = *run.hyper,
              .has_numbers = as_byte(!run.hyper->numbers.empty()),
              .has_target = as_byte(base(step, Space::kTarget) != nullptr),
              .has_index = as_byte(run.sample_index != nullptr),
              .has_weights = as_byte(run.weights != nullptr),
              .add = as_byte(step.add)};
  facts.hyper.numbers = {};  // where this process has them
  facts.hyper.rates = {};
  copy_bytes(at, &facts, static_cast<std::int64_t>(sizeof(facts)));
  if (facts.has_numbers != 0) copy_bytes(at + number_, run.hyper->numbers.data(), bytes_of<double>(numbers_));
  copy_bytes(at + parameter_, base(step, Space::kParameter), bytes_of<T>(parameters_));
  if (step.add) copy_ranges(trained_, reinterpret_cast<T*>(at + out_), static_cast<const T*>(step.out));
  copy_bytes(at + input_, base(step, Space::kInput), run.batch * input_stride_);
  if (facts.has_target != 0) copy_bytes(at + target_, base(step, Space::kTarget), run.batch * target_stride_);
  if (facts.has_index != 0) copy_bytes(at + index_, run.sample_index, bytes_of<std::int64_t>(run.batch));
  if (facts.has_weights != 0) copy_bytes(at + weight_, run.weights, bytes_of<float>(run.batch));
  return view(at, facts, run.hyper);
}

template <class T>
StageStep<T> StageShare<T>::get(std::byte* at) const {
  Facts facts;
  std::memcpy(&facts, at, sizeof(facts));  // Each number is read once.
  return view(at, facts, &reinterpret_cast<const Facts*>(at)->hyper);
}

template <class T>
StageStep<T> StageShare<T>::view(std::byte* at, const Facts& facts, const LaneHyper* hyper) const {
  StageStep<T> step{.run = {},
                    .out = reinterpret_cast<T*>(at + out_),
                    .beside = reinterpret_cast<T*>(at + beside_),
                    .add = facts.add != 0};
  step.run.batch = facts.batch;
  step.run.total = facts.total;
  step.run.seed = facts.seed;
  step.run.step = facts.step;
  step.run.grad_scale = facts.grad_scale;
  step.run.hyper = hyper;
  base(step, Space::kParameter) = at + parameter_;
  base(step, Space::kNewBuffer) = at + renewed_at_;
  base(step, Space::kInput) = at + input_;
  if (facts.has_target != 0) base(step, Space::kTarget) = at + target_;
  if (facts.has_index != 0) step.run.sample_index = reinterpret_cast<const std::int64_t*>(at + index_);
  if (facts.has_weights != 0) step.run.weights = reinterpret_cast<const float*>(at + weight_);
  return step;
}

template <class T>
std::span<const double> StageShare<T>::numbers(const std::byte* at) const {
  if (reinterpret_cast<const Facts*>(at)->has_numbers == 0) return {};
  return {reinterpret_cast<const double*>(at + number_), static_cast<std::size_t>(numbers_)};
}

template <class T>
void StageShare<T>::collect(const std::byte* at, const StageStep<T>& step) const {
  copy_ranges(trained_, step.out, reinterpret_cast<const T*>(at + out_));
  copy_ranges(renewed_, reinterpret_cast<T*>(base(step, Space::kNewBuffer)),
              reinterpret_cast<const T*>(at + renewed_at_));
}

template <class T>
std::vector<typename StageShare<T>::Bytes> StageShare<T>::told(const StageStep<T>& step, const Read& read) const {
  const RunContext<T>& run = step.run;
  std::vector<Bytes> all{{0, parameter_}};  // facts and numbers
  for (const Range& range : read.parameters) {
    all.push_back({parameter_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)});
  }
  if (step.add) {
    for (const Range& range : read.gradients) all.push_back(gradient(range));
  }
  if (read.input) all.push_back({input_, run.batch * input_stride_});
  if (read.target && base(step, Space::kTarget) != nullptr) all.push_back({target_, run.batch * target_stride_});
  if (run.sample_index != nullptr) all.push_back({index_, bytes_of<std::int64_t>(run.batch)});
  if (run.weights != nullptr) all.push_back({weight_, bytes_of<float>(run.batch)});
  return all;
}

template <class T>
typename StageShare<T>::Bytes StageShare<T>::gradient(const Range& range) const {
  return {out_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)};
}

template <class T>
typename StageShare<T>::Bytes StageShare<T>::renewed(const Range& range) const {
  return {renewed_at_ + bytes_of<T>(range.begin), bytes_of<T>(range.count)};
}

template class StageShare<float>;
template class StageShare<double>;

}  // namespace lanista::nn
