#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/op.h"

namespace lanista::nn {

/// The memory spaces of a program, which sets one base pointer a space before it runs a lane. kEdge holds the values
/// that come from other stages.
enum class MemorySpace : std::uint8_t {
  kArena,
  kParameter,
  kGradient,
  kBuffer,
  kNewBuffer,
  kInput,
  kTarget,
  kSlot,
  kEdge
};
inline constexpr std::size_t kNumMemorySpaces = 9;

/// The bytes of `elements` values of type T.
template <class T>
std::int64_t bytes_of(std::int64_t elements) {
  return elements * static_cast<std::int64_t>(sizeof(T));
}

/// A memory space and an offset in it, equal for every lane and batch size.
struct Address {
  MemorySpace space = MemorySpace::kArena;
  std::int64_t offset = 0;  ///< bytes
};

/// The arguments of a prepared call at run time.
template <class T>
struct RunContext {
  std::int64_t batch = 0;                           ///< samples of this call: a part of the step's batch
  std::int64_t total = 0;                           ///< samples of the step; its loss is the mean over them
  std::array<std::byte*, kNumMemorySpaces> base{};  ///< base pointer of each memory space
  T* scratch = nullptr;                             ///< scratch memory of the thread
  const LaneHyper* hyper = nullptr;
  std::uint64_t seed = 0;  ///< seed of the lane's trial
  std::uint64_t step = 0;
  const std::int64_t* sample_index = nullptr;
  const float* weights = nullptr;  ///< weights of the call's samples; null: all 1
  double grad_scale = 1;           ///< factor of gradients in updates
  std::size_t thread = 0;          ///< index of the running thread in the program

  /// The memory at an address, as elements of type U.
  template <class U = T>
  U* at(Address address) const {
    return reinterpret_cast<U*>(base[static_cast<std::size_t>(address.space)] + address.offset);
  }
};

/// A prepared call.
template <class T>
using Run = std::function<void(const RunContext<T>&)>;

/// An attribute value that each lane may set for itself.
struct LaneAttrRef {
  std::size_t index = 0;  ///< index in LaneHyper::lane_attrs
  double model = 0;       ///< value of the compiled model

  /// The value of the lane that runs.
  template <class T>
  double of(const RunContext<T>& run) const {
    return run.hyper->lane_attrs.empty() ? model : run.hyper->lane_attrs[index];
  }
};

/// The inputs of a kernel's preparation: a call, its operator's definition and the addresses of its values.
template <class T>
struct Binding {
  const KernelCall& call;
  const graph::OpDef& def;
  std::vector<Address> in, out;
  const kernels::Kernels<T>& k;
  std::int64_t max_batch = 0;
  std::size_t threads = 1;            ///< most threads that run the call at once
  std::int64_t& scratch;              ///< elements of the shared scratch memory; raised by reserve_scratch
  std::vector<LaneAttr>& lane_attrs;  ///< lane attributes of the section so far; `node` is the step's

  /// Registers `attr` as an attribute that lanes set, and returns the reference to it.
  LaneAttrRef lane_attr(const std::string& attr) const {
    lane_attrs.push_back({call.id, attr, args().real(attr)});
    return {lane_attrs.size() - 1, lane_attrs.back().value};
  }

  /// The operator's attributes and input types.
  graph::OpArgs args() const { return {call.in_types, call.attrs, def}; }
  /// The logical shape of input `i`.
  const graph::Shape& x_shape(std::size_t i) const { return call.in_types[i].shape; }
  /// The logical shape of output `i`.
  const graph::Shape& y_shape(std::size_t i = 0) const { return call.out_types[i].shape; }
  /// Ensures that the shared scratch memory has at least `elements`.
  void reserve_scratch(std::int64_t elements) const { scratch = std::max(scratch, elements); }
};

/// Prepares a call: fixes all that does not depend on lane and batch. The prepared call allocates nothing and cannot
/// fail.
template <class T>
using Prepare = std::function<Run<T>(const Binding<T>&)>;

/// The memory layout in which a kernel reads a parameter. It cannot follow from shapes: a [4, 4] value may be a linear
/// weight or anything else.
struct ParameterLayout {
  std::size_t input = 0;
  Layout layout = Layout::kPlain;
  bool requires_image_input = false;  ///< whether it holds only if input 0 is an image
};

/// The two halves of a kernel that reduces over the batch, for a batch in parts.
///
/// Each part computes partial values, the partials are merged in order of the parts, and each part applies the merged
/// result. Values are doubles, so merging adds no rounding of type T.
template <class T>
struct BatchReduction {
  std::int64_t num_values = 0;  ///< doubles of one partial
  /// Writes the partial of one part.
  std::function<void(const RunContext<T>&, double* value)> compute_partial;
  /// Merges the partials of two neighbouring parts into `first`.
  void (*merge)(std::int64_t num_values, double* first, const double* second) = nullptr;
  /// Completes the call for one part, given the merged result.
  std::function<void(const RunContext<T>&, const double* value)> apply_result;
};

/// A kernel, and the facts about it that lowering, layout and memory planning need.
template <class T>
struct KernelEntry {
  KernelEntry() = default;
  template <class F>
  KernelEntry(F how, std::vector<std::size_t> slots = {},
              std::function<BatchReduction<T>(const Binding<T>&)> reduction = {})
      : prepare(std::move(how)), in_place(std::move(slots)), batch_reduction(std::move(reduction)) {}

  Prepare<T> prepare;  ///< prepares a call
  /// Inputs that output 0 may overwrite, in order of preference. They have its shape, and each element is read no later
  /// than it is written. A value that is also read at another, unlisted input is not overwritten.
  std::vector<std::size_t> in_place;
  /// Set for kernels that reduce over the batch: returns the two halves for a batch in parts.
  std::function<BatchReduction<T>(const Binding<T>&)> batch_reduction;
  std::vector<ParameterLayout> layouts;  ///< layouts of parameters that are not plain
  std::optional<Fusion> fusion;          ///< the pair of kernels that it replaces, if any

  /// Adds that parameter `input` is read in `layout`.
  KernelEntry& reads_as(std::size_t input, Layout layout) {
    layouts.push_back({input, layout});
    return *this;
  }
  /// Adds that parameter `input` is read in `layout` if input 0 is an image.
  KernelEntry& reads_if_image_input(std::size_t input, Layout layout) {
    layouts.push_back({input, layout, true});
    return *this;
  }
  /// Sets the pair of kernels that it replaces.
  KernelEntry& fuses(Fusion of) {
    fusion = std::move(of);
    return *this;
  }
};

/// Kernels by the name of their step operator or fusion.
template <class T>
using KernelTable = std::map<std::string, KernelEntry<T>, std::less<>>;

/// Returns the kernels of all shipped operators, fusions and updates.
template <class T>
KernelTable<T> kernel_table();

/// Returns the fusions of a table's entries, each with the name of its kernel.
template <class T>
std::vector<Fusion> fusions_of(const KernelTable<T>& table);
/// The layout in which the kernel of `call` reads the parameter at `input`; kPlain unless its entry lists another.
template <class T>
Layout required_layout(const KernelTable<T>& table, const KernelCall& call, std::size_t input);

/// Adds the kernels of the caller's operators to a table.
template <class T>
void add_opaque_kernels(const Operators& operators, KernelTable<T>& table);

// The parts of kernel_table(), one file each.

/// Adds linear, convolution and matrix-product kernels (kernels_dense.cpp).
template <class T>
void add_dense_kernels(KernelTable<T>& table);
/// Adds activations, softmax, arithmetic and dropout (kernels_elementwise.cpp).
template <class T>
void add_elementwise_kernels(KernelTable<T>& table);
/// Adds batch, layer and group normalisation (kernels_norm.cpp).
template <class T>
void add_norm_kernels(KernelTable<T>& table);
/// Adds pooling (kernels_pool.cpp).
template <class T>
void add_pool_kernels(KernelTable<T>& table);
/// Adds reshape, transpose, concat, slice, pad and mean (kernels_shape.cpp).
template <class T>
void add_shape_kernels(KernelTable<T>& table);
/// Adds embeddings, causal masks and small parts of attention (kernels_sequence.cpp).
template <class T>
void add_sequence_kernels(KernelTable<T>& table);
/// Adds channel gates, shuffles, local response normalisation and resizing (kernels_image.cpp).
template <class T>
void add_image_kernels(KernelTable<T>& table);
/// Adds the losses (kernels_loss.cpp).
template <class T>
void add_loss_kernels(KernelTable<T>& table);
/// Adds the updates of the optimisers (kernels_update.cpp).
template <class T>
void add_update_kernels(KernelTable<T>& table);

}  // namespace lanista::nn
