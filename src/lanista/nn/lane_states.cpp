#include "lanista/nn/lane_states.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <type_traits>

#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"

namespace lanista::nn {
namespace {

template <class T>
constexpr ElementType kRealType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64;

Tensor make_tensor(std::string name, ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * element_size(type));
  return tensor;
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

// The state that somebody hands in, by name; every tensor must be asked for exactly once.
class Given {
 public:
  Result<void> read(std::span<const Tensor> state) {
    for (const Tensor& tensor : state) {
      if (!tensors_.emplace(tensor.name, &tensor).second) return bad_state("tensor '" + tensor.name + "' stands twice");
    }
    return {};
  }

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
    return bad_state("tensor '" + tensors_.begin()->first + "' belongs to nothing here");
  }

 private:
  std::map<std::string, const Tensor*> tensors_;
};

// Number `e` of a stream, in [0, 1): 53 bits of one Philox block.
double unit(const Rng& stream, std::int64_t e) {
  const auto words = philox(stream.key(), 0, static_cast<std::uint64_t>(e));
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Sines of the position at even features, cosines at odd ones; the wave lengths grow from 2 pi to 10000 * 2 pi.
double sinusoid(std::int64_t position, std::int64_t feature, std::int64_t features) {
  const double exponent = static_cast<double>(feature / 2 * 2) / static_cast<double>(features);
  const double angle = static_cast<double>(position) / portable_pow(10000, exponent);
  return portable_cos(feature % 2 == 0 ? angle - std::numbers::pi / 2 : angle);
}

// Element `e` of a tensor, from its stream alone.
double initial_value(const step::StateTensor& tensor, const Rng& stream, std::int64_t e) {
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

}  // namespace

template <class T>
std::vector<std::int64_t> LaneStates<T>::part_offsets(const StateLayout& layout) {
  std::vector<std::int64_t> sizes{layout.parameters, layout.parameters, layout.buffers, layout.buffers};
  sizes.insert(sizes.end(), layout.slots.size(), layout.parameters);
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t size : sizes) {
    offsets.push_back(offsets.back() + align_up(size * static_cast<std::int64_t>(sizeof(T))));
  }
  return offsets;
}

template <class T>
std::int64_t LaneStates<T>::bytes(const StateLayout& layout, std::int64_t lanes) {
  return part_offsets(layout).back() * lanes;
}

template <class T>
LaneStates<T>::LaneStates(StateLayout layout, std::int64_t lanes)
    : layout_(std::move(layout)),
      part_offset_(part_offsets(layout_)),
      lane_bytes_(part_offset_.back()),
      numbers_(static_cast<std::size_t>(lanes)),
      memory_(lane_bytes_ * lanes) {}

template <class T>
void LaneStates<T>::initialise(std::int64_t lane, std::uint64_t trial_seed) {
  std::vector<T> canonical;
  for (const StateItem& item : layout_.items) {
    const Rng stream = Rng(trial_seed).split(item.tensor.name);
    canonical.resize(static_cast<std::size_t>(item.range.count));
    for (std::int64_t e = 0; e < item.range.count; ++e) {
      canonical[static_cast<std::size_t>(e)] = static_cast<T>(initial_value(item.tensor, stream, e));
    }
    T* base = item.tensor.trained ? parameters(lane) : buffers(lane);
    item.into.convert(0, canonical.data(), base + item.range.begin);
  }
  for (std::size_t k = 0; k < layout_.slots.size(); ++k) std::fill_n(slot(lane, k), layout_.parameters, T{0});
  numbers_[static_cast<std::size_t>(lane)] = {.step = 0, .seed = trial_seed};
}

template <class T>
std::vector<Tensor> LaneStates<T>::extract(std::int64_t lane) const {
  std::vector<Tensor> state;
  const auto add = [&state](const StateItem& item, std::string name, const T* flat) {
    Tensor tensor = make_tensor(std::move(name), kRealType<T>, item.tensor.shape.dims);
    item.out_of.convert(0, flat + item.range.begin, elements_of<T>(tensor).data());
    state.push_back(std::move(tensor));
  };
  for (const StateItem& item : layout_.items) {
    add(item, item.tensor.name, item.tensor.trained ? parameters(lane) : buffers(lane));
  }
  for (const StateItem& item : layout_.items) {
    for (std::size_t k = 0; item.tensor.trained && k < layout_.slots.size(); ++k) {
      add(item, item.tensor.name + "/" + layout_.slots[k], slot(lane, k));
    }
  }
  state.push_back(scalar("step", step(lane)));
  state.push_back(scalar("seed", static_cast<std::int64_t>(seed(lane))));
  return state;
}

template <class T>
Result<void> LaneStates<T>::insert(std::int64_t lane, std::span<const Tensor> state) {
  struct Copy {
    const StateItem* item;
    const Tensor* from;
    T* to;
  };
  Given given;
  LANISTA_TRY(given.read(state));
  std::vector<Copy> copies;
  for (const StateItem& item : layout_.items) {
    LANISTA_ASSIGN(const Tensor* own, given.take(item.tensor.name, kRealType<T>, item.tensor.shape.dims));
    copies.push_back({&item, own, item.tensor.trained ? parameters(lane) : buffers(lane)});
    for (std::size_t k = 0; item.tensor.trained && k < layout_.slots.size(); ++k) {
      const std::string name = item.tensor.name + "/" + layout_.slots[k];
      LANISTA_ASSIGN(const Tensor* of_slot, given.take(name, kRealType<T>, item.tensor.shape.dims));
      copies.push_back({&item, of_slot, slot(lane, k)});
    }
  }
  LANISTA_ASSIGN(const Tensor* steps, given.take("step", ElementType::kI64, {}));
  LANISTA_ASSIGN(const Tensor* trial_seed, given.take("seed", ElementType::kI64, {}));
  LANISTA_TRY(given.check_empty());
  const std::int64_t count = elements_of<std::int64_t>(*steps)[0];
  if (count < 0) return bad_state("tensor 'step' is " + std::to_string(count) + ", but it counts from 0");

  for (const Copy& copy : copies) {
    copy.item->into.convert(0, elements_of<T>(*copy.from).data(), copy.to + copy.item->range.begin);
  }
  numbers_[static_cast<std::size_t>(lane)] = {
      .step = count, .seed = static_cast<std::uint64_t>(elements_of<std::int64_t>(*trial_seed)[0])};
  return {};
}

template <class T>
void LaneStates<T>::commit(std::int64_t lane, step::Optimizer optimizer, const LaneHyper& hyper,
                           const kernels::Kernels<T>& k) {
  Numbers& numbers = numbers_[static_cast<std::size_t>(lane)];
  const T* gradient = gradients(lane);
  double scale = 1;
  if (hyper.clip_norm > 0) {
    // Parameters that no gradient reaches have zeros here. Not below one, and not-a-number too: scale.
    const double norm = std::sqrt(k.square_norm(layout_.parameters, gradient));
    const double wanted = hyper.clip_norm / (norm + 1e-6);
    if (!(wanted >= 1)) scale = wanted;
  }
  for (const Range& run : layout_.trained) {
    if (optimizer == step::Optimizer::kSgd) {
      const kernels::SgdHyper sgd{.lr = hyper.lr,
                                  .momentum = hyper.momentum,
                                  .weight_decay = hyper.weight_decay,
                                  .grad_scale = scale,
                                  .nesterov = hyper.nesterov,
                                  .first_step = numbers.step == 0};
      k.sgd(run.count, sgd, gradient + run.begin, parameters(lane) + run.begin,
            hyper.momentum == 0 ? nullptr : slot(lane, 0) + run.begin);
    } else {
      const kernels::AdamHyper adam{.lr = hyper.lr,
                                    .beta1 = hyper.beta1,
                                    .beta2 = hyper.beta2,
                                    .eps = hyper.eps,
                                    .weight_decay = hyper.weight_decay,
                                    .grad_scale = scale,
                                    .step = numbers.step + 1,
                                    .decoupled = optimizer == step::Optimizer::kAdamW};
      k.adam(run.count, adam, gradient + run.begin, parameters(lane) + run.begin, slot(lane, 0) + run.begin,
             slot(lane, 1) + run.begin);
    }
  }
  for (const Range& run : layout_.renewed) {
    std::copy_n(new_buffers(lane) + run.begin, run.count, buffers(lane) + run.begin);
  }
  ++numbers.step;
}

template class LaneStates<float>;
template class LaneStates<double>;

}  // namespace lanista::nn
