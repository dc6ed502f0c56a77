#include "lanista/exec/program/joint_linear.h"

#include <algorithm>

#include "lanista/model/autodiff/max_cached_lanes.h"

namespace lanista::program {
template <class T>
std::optional<JointLinear<T>> JointLinear<T>::find(const LoweredGraph& lowered, const Section<T>& section,
                                                   const SectionInputs<T>& inputs, std::int64_t vector_bytes) {
  const std::vector<KernelCall>& calls = lowered.calls;
  // A section with more calls copies results, and a copy may read the weight gradient.
  if (!section.batch_reductions.empty() || section.calls.size() != calls.size()) return {};
  const auto address = [&](graph::Port port) { return section.addresses.at(port); };
  const auto entry = [&](const KernelCall& call) -> const KernelEntry<T>& {
    return inputs.table.find(call.kernel)->second;
  };
  std::set<graph::NodeId> before;  // the calls that run once for all lanes
  const auto is_common = [&](graph::Port port) {
    return before.contains(port.node) || address(port).space == MemorySpace::kInput;
  };
  std::size_t forward = 0;
  for (; forward < calls.size() && entry(calls[forward]).product == nullptr; ++forward) {
    const KernelCall& call = calls[forward];
    if (!std::ranges::all_of(call.inputs, is_common) || inputs.ops.find(call.op)->random) return {};
    before.insert(call.id);
  }
  if (forward == calls.size() || !is_common(calls[forward].inputs[0])) return {};

  JointLinear joint;
  joint.forward_call = forward;
  const KernelCall& layer = calls[forward];
  for (std::size_t i = forward + 1; i < calls.size(); ++i) {
    const KernelCall& call = calls[i];
    if (entry(call).is_linear_weight_grad && call.inputs[0] == layer.inputs[0]) {
      if (joint.grad_call != 0) return {};
      joint.grad_call = i;
    } else if (std::ranges::any_of(call.inputs, [&](graph::Port port) { return before.contains(port.node); })) {
      return {};
    }
  }
  if (joint.grad_call == 0) return {};
  // Later calls must leave the input of the layer in the arena.
  for (std::size_t i = joint.grad_call + 1; i < calls.size(); ++i) {
    for (std::uint32_t slot = 0; slot < calls[i].out_types.size(); ++slot) {
      if (address({calls[i].id, slot}).space == MemorySpace::kArena) return {};
    }
  }
  const KernelCall& grad = calls[joint.grad_call];
  const graph::Port weight_grad{grad.id, 0};
  const auto reads_weight_grad = [&](const KernelCall& call) {
    return std::ranges::count(call.inputs, weight_grad) > 0;
  };
  if (std::ranges::any_of(calls, reads_weight_grad)) return {};

  graph::Shape rows = layer.in_types[0].shape;
  joint.in = rows.dims.back();
  joint.out = layer.out_types[0].shape.dims.back();
  rows.dims.pop_back();
  joint.rows = ElementCount(rows);
  joint.product = entry(layer).product;
  joint.biased = layer.inputs.size() > 2;
  joint.x = address(layer.inputs[0]);
  joint.w = address(layer.inputs[1]);
  if (joint.biased) joint.bias = address(layer.inputs[2]);
  joint.y = address({layer.id, 0});
  joint.dy = address(grad.inputs[1]);
  joint.dw = address(weight_grad);
  const bool fits = autodiff::is_joint_row(bytes_of<T>(joint.out), vector_bytes) &&
                    joint.w.space == MemorySpace::kParameter && joint.dw.space == MemorySpace::kGradient &&
                    grad.out_types[0].shape == layer.in_types[1].shape;
  return fits ? std::optional(joint) : std::nullopt;
}

template <class T>
typename JointLinear<T>::Parts JointLinear<T>::parts(T* memory, std::size_t lanes, std::int64_t batch) const {
  const std::int64_t all = static_cast<std::int64_t>(lanes) * out;
  T* const weights = memory + all * rows.at(batch);
  return {.results = memory, .weights = weights, .offsets = weights + all * in};
}

template <class T>
void JointLinear<T>::copy(std::int64_t num_rows, const T* from, std::int64_t from_columns, T* to,
                          std::int64_t to_columns) const {
  // Rows are short, so a call of memcpy would need longer than the copy.
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const T* source = from + row * from_columns;
    T* target = to + row * to_columns;
    for (std::int64_t left = out; left >= 4; left -= 4, source += 4, target += 4) {
      __builtin_memcpy(target, source, 4 * sizeof(T));
    }
    if ((out & 2) != 0) {
      __builtin_memcpy(target, source, 2 * sizeof(T));
      source += 2;
      target += 2;
    }
    if ((out & 1) != 0) *target = *source;
  }
}

template <class T>
void JointLinear<T>::forward(const kernels::Kernels<T>& k, const std::vector<Run<T>>& calls,
                             std::span<const RunContext<T>> lanes, T* memory) const {
  const auto all = static_cast<std::int64_t>(lanes.size()) * out;
  const std::int64_t num_rows = rows.at(lanes[0].batch);
  const Parts at = parts(memory, lanes.size(), lanes[0].batch);
  for (std::size_t call = 0; call < forward_call; ++call) calls[call](lanes[0]);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) * out;
    copy(in, lanes[i].at(w), out, at.weights + column, all);
    if (biased) copy(1, lanes[i].at(bias), out, at.offsets + column, all);
  }
  (k.*product)(num_rows, in, all, lanes[0].at(x), at.weights, biased ? at.offsets : nullptr, at.results);
}

template <class T>
void JointLinear<T>::take_result(const RunContext<T>& lane, std::int64_t i, std::int64_t count, const T* memory) const {
  copy(rows.at(lane.batch), memory + i * out, count * out, lane.at(y), out);
}

template <class T>
void JointLinear<T>::give_grad(const RunContext<T>& lane, std::int64_t i, std::int64_t count, T* memory) const {
  copy(rows.at(lane.batch), lane.at(dy), out, memory + i * out, count * out);
}

template <class T>
void JointLinear<T>::weight_grads(const kernels::Kernels<T>& k, std::span<const RunContext<T>> lanes, T* memory) const {
  const auto all = static_cast<std::int64_t>(lanes.size()) * out;
  const Parts at = parts(memory, lanes.size(), lanes[0].batch);
  k.linear_grad_w(rows.at(lanes[0].batch), in, all, lanes[0].at(x), at.results, at.weights);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    copy(in, at.weights + static_cast<std::int64_t>(i) * out, all, lanes[i].at(dw), out);
  }
}

template struct JointLinear<float>;
template struct JointLinear<double>;

}  // namespace lanista::program
