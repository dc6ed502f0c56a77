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

namespace lanista::program {

/// The memory spaces of a program. Before it runs a lane, the program sets one base pointer for each space.
enum class MemorySpace : std::uint8_t {
  kArena,      ///< Intermediate values.
  kParameter,  ///< Parameters of the lane.
  kGradient,   ///< Gradients, with the layout of the parameters.
  kBuffer,     ///< Buffers of the lane, before the step.
  kNewBuffer,  ///< Buffers after the step, which wait for the commit.
  kInput,      ///< Features of the batch.
  kTarget,     ///< Targets of the batch.
  kSlot,       ///< Optimiser slots of the lane.
  kEdge        ///< Values that come from other pipeline stages.
};
inline constexpr std::size_t kNumMemorySpaces = 9;  ///< Number of the values of MemorySpace.

/// The bytes of `elements` values of type T.
template <class T>
std::int64_t bytes_of(std::int64_t elements) {
  return elements * static_cast<std::int64_t>(sizeof(T));
}

/// A memory space and an offset in it, equal for every lane and batch size.
struct Address {
  MemorySpace space = MemorySpace::kArena;  ///< The memory space.
  std::int64_t offset = 0;                  ///< Offset in bytes from the base pointer of the space.
};

/// The arguments of a prepared call at run time.
template <class T>
struct RunContext {
  std::int64_t batch = 0;  ///< Samples of this call: all or a part of the step's batch.
  std::int64_t total = 0;  ///< Samples of the whole step; the step's loss is the mean over them.
  std::array<std::byte*, kNumMemorySpaces> base{};  ///< Base pointer of each memory space.
  T* scratch = nullptr;                             ///< Scratch memory of the thread.
  const LaneHyper* hyper = nullptr;                 ///< Hyper-parameters of the lane; never null while calls run.
  std::uint64_t seed = 0;                           ///< Seed of the lane's trial, for dropout masks.
  std::uint64_t step = 0;                           ///< Steps that the lane has done before this one.
  const std::int64_t* sample_index = nullptr;  ///< [batch] row numbers of the samples, for dropout masks; may be null.
  const float* weights = nullptr;              ///< [batch] weights of the samples; null: all 1.
  double grad_scale = 1;                       ///< Factor of the gradients in updates, for clip_norm.
  std::size_t thread = 0;                      ///< Index of the running thread in the program, from 0.

  /// The memory at an address, as elements of type U (by default the program's element type).
  template <class U = T>
  U* at(Address address) const {
    return reinterpret_cast<U*>(base[static_cast<std::size_t>(address.space)] + address.offset);
  }
};

/// A prepared call: a function that computes the outputs of one kernel call from the run-time arguments. It allocates
/// nothing.
template <class T>
using Run = std::function<void(const RunContext<T>&)>;

/// An attribute value that each lane may set for itself.
struct LaneAttrRef {
  std::size_t index = 0;  ///< Index in LaneHyper::lane_attrs.
  double model = 0;       ///< Value in the model that was compiled.

  /// The value for the lane of `run`: element `index` of its LaneHyper::lane_attrs, or `model` if that list is empty.
  template <class T>
  double of(const RunContext<T>& run) const {
    return run.hyper->lane_attrs.empty() ? model : run.hyper->lane_attrs[index];
  }
};

/// The inputs of a kernel's preparation: a call, its operator's definition and the addresses of its values.
template <class T>
struct Binding {
  const KernelCall& call;             ///< The call after lowering.
  const graph::OpDef& def;            ///< Definition of the operator `call.op`.
  std::vector<Address> in, out;       ///< Addresses of the call's inputs and outputs, in their order.
  const kernels::Kernels<T>& k;       ///< CPU kernels of the program's level.
  std::int64_t max_batch = 0;         ///< Most samples of one run of the call.
  std::size_t threads = 1;            ///< Most threads that run the call at once.
  std::int64_t& scratch;              ///< Elements of the shared scratch memory; raised by reserve_scratch.
  std::vector<LaneAttr>& lane_attrs;  ///< Lane attributes of the section so far; `node` is the step's.

  /// Registers attribute `attr` of the call as one that lanes set, and returns the reference by which the kernel reads
  /// it.
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
  /// Raises the shared scratch memory to at least `elements` elements of type T.
  void reserve_scratch(std::int64_t elements) const { scratch = std::max(scratch, elements); }
};

/// Prepares a call: computes all that does not depend on lane and batch. The returned function allocates nothing. It
/// cannot fail, unless it calls a kernel of the caller.
template <class T>
using Prepare = std::function<Run<T>(const Binding<T>&)>;

/// The memory layout in which a kernel reads a parameter. It cannot follow from shapes: a [4, 4] value may be a linear
/// weight or anything else.
struct ParameterLayout {
  std::size_t input = 0;              ///< Index of the call's input.
  Layout layout = Layout::kPlain;     ///< Layout in which the kernel reads it.
  bool requires_image_input = false;  ///< True: the layout applies only if input 0 is an image; otherwise kPlain.
};

/// The two halves of a kernel that reduces over the batch, for a batch in parts.
///
/// Each part computes partial values, the partials are merged in order of the parts, and each part applies the merged
/// result. Values are doubles, so merging adds no rounding of type T.
template <class T>
struct BatchReduction {
  std::int64_t num_values = 0;  ///< Doubles of one partial.
  /// Writes the `num_values` partial values of one part to `value`.
  std::function<void(const RunContext<T>&, double* value)> compute_partial;
  /// Merges the partial values of two neighbouring parts, the earlier one in `first`, which receives the result.
  void (*merge)(std::int64_t num_values, double* first, const double* second) = nullptr;
  /// Computes the outputs of the call for one part from the merged values of the whole batch.
  std::function<void(const RunContext<T>&, const double* value)> apply_result;
};

/// The product of a linear layer in a table of CPU kernels: Kernels::linear or Kernels::linear_relu.
template <class T>
using Product = decltype(kernels::Kernels<T>::linear) kernels::Kernels<T>::*;

/// A kernel, and its properties that lowering, layout and memory planning need.
template <class T>
struct KernelEntry {
  KernelEntry() = default;
  /// An entry with the fields `prepare`, `in_place` and `batch_reduction`; reads_as() and fuses() add more.
  template <class F>
  KernelEntry(F how, std::vector<std::size_t> slots = {},
              std::function<BatchReduction<T>(const Binding<T>&)> reduction = {})
      : prepare(std::move(how)), in_place(std::move(slots)), batch_reduction(std::move(reduction)) {}

  Prepare<T> prepare;  ///< Prepares a call.
  /// Indices of the inputs with memory that output 0 may overwrite, in order of preference. They have the shape of
  /// output 0, and each of their elements is read no later than it is written. A value that is also read at another,
  /// unlisted input is not overwritten.
  std::vector<std::size_t> in_place;
  /// Returns the two halves of the call for a batch in parts; empty for kernels that do not reduce over the batch.
  std::function<BatchReduction<T>(const Binding<T>&)> batch_reduction;
  std::vector<ParameterLayout> layouts;  ///< Layouts of parameters that are not kPlain.
  std::optional<Fusion> fusion;          ///< The pair of kernels that this kernel replaces, if any.
  /// The product of a linear layer, by which a JointLinear computes it for several lanes; null for other kernels.
  Product<T> product = nullptr;
  /// True: the kernel is the weight gradient of a linear layer.
  bool is_linear_weight_grad = false;

  /// Adds that the kernel reads the parameter at input `input` in `layout`. Returns this entry.
  KernelEntry& reads_as(std::size_t input, Layout layout) {
    layouts.push_back({input, layout});
    return *this;
  }
  /// Adds that the kernel reads the parameter at input `input` in `layout` if input 0 is an image. Returns this entry.
  KernelEntry& reads_if_image_input(std::size_t input, Layout layout) {
    layouts.push_back({input, layout, true});
    return *this;
  }
  /// Sets the product of a linear layer. Returns this entry.
  KernelEntry& computes(Product<T> of) {
    product = of;
    return *this;
  }
  /// Sets the pair of kernels that this kernel replaces. Returns this entry.
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

/// Returns the fusions of a table in order of the names, each with the name of its fused kernel.
template <class T>
std::vector<Fusion> fusions_of(const KernelTable<T>& table);
/// The layout in which the kernel of `call` reads the parameter at input `input`. It is kPlain if the entry lists no
/// other, or if the table lacks the kernel.
template <class T>
Layout required_layout(const KernelTable<T>& table, const KernelCall& call, std::size_t input);

/// Adds the forward and backward kernels of the caller's operators to a table, under the names of their step operators
/// ("name" and "name_grad"). Shipped operators are left out.
template <class T>
void add_opaque_kernels(const Operators& operators, KernelTable<T>& table);

// The parts of kernel_table(), one file each.

/// Adds linear, convolution and matrix-product kernels (kernels_dense.cpp).
template <class T>
void add_dense_kernels(KernelTable<T>& table);
/// Adds activations, softmax, arithmetic, clip and dropout (kernels_elementwise.cpp).
template <class T>
void add_elementwise_kernels(KernelTable<T>& table);
/// Adds batch, layer and group normalisation (kernels_norm.cpp).
template <class T>
void add_norm_kernels(KernelTable<T>& table);
/// Adds pooling (kernels_pool.cpp).
template <class T>
void add_pool_kernels(KernelTable<T>& table);
/// Adds flatten, reshape, transpose, concat, slice, pad, crop, mean and global average pooling (kernels_shape.cpp).
template <class T>
void add_shape_kernels(KernelTable<T>& table);
/// Adds embeddings, causal masks, sums over the batch and scaling by a constant (kernels_sequence.cpp).
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

}  // namespace lanista::program
