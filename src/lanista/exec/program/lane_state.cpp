#include "lanista/exec/program/lane_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <numbers>
#include <string>
#include <type_traits>

#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/exec/program/state_tensors.h"

namespace lanista::program {
namespace {

Error no_memory(std::int64_t bytes) {
  return {.code = Code::kResourceExhausted,
          .message = "the system has no memory for a state of " + std::to_string(bytes) + " bytes",
          .where = {}};
}

Tensor scalar(std::string name, std::int64_t value) {
  Tensor tensor = make_tensor(std::move(name), ElementType::kI64, {});
  elements_of<std::int64_t>(tensor)[0] = value;
  return tensor;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return graph::Shape{shape}.text(); }

Error bad_state(std::string message) {
  return {.code = Code::kInvalidArgument, .message = "state of a lane: " + std::move(message), .where = {}};
}

/// The copy of a tensor into a state, made after all tensors were checked.
template <class T>
struct TensorCopy {
  const StateTensorLayout* item;
  const Tensor* from;
  T* to;
};

template <class T>
void copy_tensors(const std::vector<TensorCopy<T>>& copies) {
  for (const TensorCopy<T>& copy : copies) {
    copy.item->to_layout.convert(0, elements_of<T>(*copy.from).data(), copy.to + copy.item->range.begin);
  }
}

// The given tensors by name; each must be used exactly once.
class InputTensors {
 public:
  Result<void> read(std::span<const Tensor> state) {
    for (const Tensor& tensor : state) {
      if (!tensors_.emplace(tensor.name, &tensor).second) return bad_state("tensor '" + tensor.name + "' stands twice");
    }
    return {};
  }

  bool has(const std::string& name) const { return tensors_.contains(name); }

  Result<const Tensor*> take(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return bad_state("tensor '" + name + "' is missing");
    const Tensor* tensor = found->second;
    tensors_.erase(found);
    if (tensor->shape != shape) {
      return bad_state("tensor '" + name + "' has shape " + shape_text(tensor->shape) + ", but " + shape_text(shape) +
                       " is wanted");
    }
    if (tensor->type != type) return bad_state("tensor '" + name + "' has another element type than the program");
    if (tensor->bytes.size() != static_cast<std::size_t>(tensor->elements()) * element_size(type)) {
      return bad_state("tensor '" + name + "' has " + std::to_string(tensor->bytes.size()) + " bytes for " +
                       std::to_string(tensor->elements()) + " elements");
    }
    return tensor;
  }

  Result<void> check_empty() const {
    if (tensors_.empty()) return {};
    return bad_state("tensor '" + tensors_.begin()->first + "' is unknown to this program");
  }

 private:
  std::map<std::string, const Tensor*> tensors_;
};

// Element `e` of a stream, in [0, 1): 53 bits of one Philox block.
double unit(const Rng& stream, std::int64_t e) {
  const auto words = philox(stream.key(), 0, static_cast<std::uint64_t>(e));
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Sines of the position at even features, cosines at odd ones. Wave lengths grow from 2 pi to 10000 * 2 pi.
double sinusoid(std::int64_t position, std::int64_t feature, std::int64_t features) {
  const double exponent = static_cast<double>(feature / 2 * 2) / static_cast<double>(features);
  const double angle = static_cast<double>(position) / portable_pow(10000, exponent);
  return portable_cos(feature % 2 == 0 ? angle - std::numbers::pi / 2 : angle);
}

// The initial value of element `e` of a tensor, from its stream only.
double initial_value(const autodiff::StateTensor& tensor, const Rng& stream, std::int64_t e) {
  switch (tensor.init) {
    case graph::Init::kZeros:
      return 0;
    case graph::Init::kOnes:
      return 1;
    case graph::Init::kUniformFanIn: {
      const double bound = 1 / std::sqrt(static_cast<double>(tensor.fan_in));
      return (2 * unit(stream, e) - 1) * bound;
    }
    case graph::Init::kNormal:
      return tensor.deviation * normal_quantile(unit(stream, e) + 0x1p-54);
    case graph::Init::kSinusoid: {
      const std::int64_t features = tensor.shape.dims.back();
      return sinusoid(e / features, e % features, features);
    }
  }
  return 0;
}

std::vector<std::int64_t> part_offsets(const StateLayout& layout, std::size_t element_size) {
  std::vector<std::int64_t> sizes{layout.parameters, layout.buffers};
  sizes.insert(sizes.end(), layout.slots.size(), layout.parameters);
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t size : sizes) {
    offsets.push_back(offsets.back() + align_up(size * static_cast<std::int64_t>(element_size)));
  }
  return offsets;
}

Digest digest_of(const StateLayout& layout, std::size_t element_size) {
  Hasher hasher;
  hasher.number(static_cast<std::int64_t>(element_size));
  for (const StateTensorLayout& item : layout.items) {
    hasher.text(item.tensor.name).text(shape_text(item.tensor.shape.dims)).number(item.tensor.trained ? 1 : 0);
    hasher.number(item.range.begin).number(item.range.count).number(static_cast<std::int64_t>(item.layout));
  }
  for (const std::string& slot : layout.slots) hasher.text(slot);
  return hasher.finish();
}

}  // namespace

StateFormat::StateFormat(StateLayout layout, std::size_t element_size)
    : layout_(std::move(layout)),
      element_size_(element_size),
      part_offset_(part_offsets(layout_, element_size)),
      digest_(digest_of(layout_, element_size)) {}

Result<LaneState> LaneState::reserve(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget) {
  LaneState state;
  state.budget_ = budget;
  if (budget != nullptr) {
    LANISTA_ASSIGN(state.reservation_, budget->reserve(state_format->bytes()));
  }
  state.state_format_ = std::move(state_format);
  return state;
}

Result<LaneState> LaneState::make(std::shared_ptr<const StateFormat> state_format, std::uint64_t trial_seed,
                                  MemoryBudget* budget) {
  LANISTA_ASSIGN(LaneState state, reserve(std::move(state_format), budget));
  try {
    state.memory_ = CopyOnWriteBytes(state.bytes());
  } catch (const std::bad_alloc&) {
    return no_memory(state.bytes());
  }
  state.initialise(trial_seed);
  return state;
}

Result<LaneState> LaneState::clone() const {
  LANISTA_ASSIGN(LaneState copy, reserve(state_format_, budget_));
  copy.memory_ = memory_.share();
  copy.step_ = step_;
  copy.seed_ = seed_;
  return copy;
}

Result<LaneState> LaneState::clone(std::uint64_t trial_seed) const {
  LANISTA_ASSIGN(LaneState copy, clone());
  copy.seed_ = trial_seed;
  return copy;
}

Result<LaneState> LaneState::copy(std::uint64_t trial_seed) const {
  LANISTA_ASSIGN(LaneState copy, clone(trial_seed));
  try {
    copy.ensure_unique();
  } catch (const std::bad_alloc&) {
    return no_memory(bytes());
  }
  return copy;
}

void LaneState::initialise(std::uint64_t trial_seed) {
  ensure_unique();
  step_ = 0;
  seed_ = trial_seed;
  state_format_->is_double() ? initialise_as<double>() : initialise_as<float>();
}

std::vector<Tensor> LaneState::extract() const {
  return state_format_->is_double() ? extract_as<double>() : extract_as<float>();
}

Result<void> LaneState::insert(std::span<const Tensor> state) {
  ensure_unique();
  return state_format_->is_double() ? write_as<double>(state, true) : write_as<float>(state, true);
}

Result<void> LaneState::assign(std::span<const Tensor> tensors) {
  ensure_unique();
  return state_format_->is_double() ? write_as<double>(tensors, false) : write_as<float>(tensors, false);
}

template <class T>
void LaneState::initialise_as() {
  const StateLayout& layout = state_format_->layout();
  std::vector<T> canonical;
  for (const StateTensorLayout& item : layout.items) {
    const Rng stream = Rng(seed_).split(item.tensor.name);
    canonical.resize(static_cast<std::size_t>(item.range.count));
    for (std::int64_t e = 0; e < item.range.count; ++e) {
      canonical[static_cast<std::size_t>(e)] = static_cast<T>(initial_value(item.tensor, stream, e));
    }
    T* base = item.tensor.trained ? parameters<T>() : buffers<T>();
    item.to_layout.convert(0, canonical.data(), base + item.range.begin);
  }
  for (std::size_t k = 0; k < layout.slots.size(); ++k) std::fill_n(slot<T>(k), layout.parameters, T{0});
}

template <class T>
std::vector<Tensor> LaneState::extract_as() const {
  const StateLayout& layout = state_format_->layout();
  std::vector<Tensor> state;
  const auto add = [&state](const StateTensorLayout& item, std::string name, const T* flat) {
    Tensor tensor = make_tensor(std::move(name), kRealType<T>, item.tensor.shape.dims);
    item.from_layout.convert(0, flat + item.range.begin, elements_of<T>(tensor).data());
    state.push_back(std::move(tensor));
  };
  for (const StateTensorLayout& item : layout.items) {
    add(item, item.tensor.name, item.tensor.trained ? parameters<T>() : buffers<T>());
  }
  for (const StateTensorLayout& item : layout.items) {
    for (std::size_t k = 0; item.tensor.trained && k < layout.slots.size(); ++k) {
      add(item, item.tensor.name + "/" + layout.slots[k], slot<T>(k));
    }
  }
  state.push_back(scalar("step", step_));
  state.push_back(scalar("seed", static_cast<std::int64_t>(seed_)));
  return state;
}

// Calls `call` with the item, name and flat elements of every tensor, until one call fails.
template <class T, class Call>
Result<void> LaneState::each_tensor(const Call& call) const {
  const StateLayout& layout = state_format_->layout();
  for (const StateTensorLayout& item : layout.items) {
    LANISTA_TRY(call(item, item.tensor.name, item.tensor.trained ? parameters<T>() : buffers<T>()));
    for (std::size_t k = 0; item.tensor.trained && k < layout.slots.size(); ++k) {
      LANISTA_TRY(call(item, item.tensor.name + "/" + layout.slots[k], slot<T>(k)));
    }
  }
  return {};
}

template <class T>
Result<void> LaneState::write_as(std::span<const Tensor> tensors, bool every) {
  InputTensors given;
  LANISTA_TRY(given.read(tensors));
  std::vector<TensorCopy<T>> copies;
  LANISTA_TRY(each_tensor<T>([&](const StateTensorLayout& item, const std::string& name, T* to) -> Result<void> {
    if (!every && !given.has(name)) return {};
    LANISTA_ASSIGN(const Tensor* from, given.take(name, kRealType<T>, item.tensor.shape.dims));
    copies.push_back({&item, from, to});
    return {};
  }));
  std::int64_t step = step_;
  std::uint64_t seed = seed_;
  if (every) {
    LANISTA_ASSIGN(const Tensor* steps, given.take("step", ElementType::kI64, {}));
    LANISTA_ASSIGN(const Tensor* trial_seed, given.take("seed", ElementType::kI64, {}));
    step = elements_of<std::int64_t>(*steps)[0];
    seed = static_cast<std::uint64_t>(elements_of<std::int64_t>(*trial_seed)[0]);
  }
  LANISTA_TRY(given.check_empty());
  if (step < 0) return bad_state("tensor 'step' is " + std::to_string(step) + "; it must be at least 0");

  copy_tensors(copies);
  step_ = step;
  seed_ = seed;
  return {};
}

}  // namespace lanista::program
