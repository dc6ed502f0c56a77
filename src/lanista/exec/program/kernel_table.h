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

#include "lanista/model/graph/op.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"

namespace lanista::nn {

/// Where bytes may lie; the program sets one base pointer a space before it runs a lane.
/// kEdge: what came from other stages.
enum class MemorySpace : std::uint8_t { kArena, kParameter, kGradient, kBuffer, kNewBuffer, kInput, kTarget, kSlot, kEdge };
inline constexpr std::size_t kNumMemorySpaces = 9;

/// Of so many elements.
template <class T>
std::int64_t bytes_of(std::int64_t elements) {
  return elements * static_cast<std::int64_t>(sizeof(T));
}

/// A fixed place of a value: the same for every lane and batch size.
struct Address {
  MemorySpace space = MemorySpace::kArena;
  std::int64_t offset = 0;  ///< bytes
};

/// What a call sees when it runs.
template <class T>
struct RunContext {
  std::int64_t batch = 0;  ///< samples that the call sees: a part of those of the step, at most the section's
  std::int64_t total = 0;  ///< samples of the step; its loss is the mean over them
  std::array<std::byte*, kNumMemorySpaces> base{};
  T* scratch = nullptr;
  const LaneHyper* hyper = nullptr;
  std::uint64_t seed = 0;  ///< of the lane's trial
  std::uint64_t step = 0;
  const std::int64_t* sample_index = nullptr;
  const float* weights = nullptr;  ///< of the samples that the call sees; null: 1 each
  double grad_scale = 1;   ///< what updates multiply gradients with
  std::size_t thread = 0;  ///< that runs it, among the program's

  template <class U = T>
  U* at(Address address) const {
    return reinterpret_cast<U*>(base[static_cast<std::size_t>(address.space)] + address.offset);
  }
};

template <class T>
using Run = std::function<void(const RunContext<T>&)>;

/// A number of the lane that runs.
struct LaneAttrRef {
  std::size_t index = 0;  ///< in LaneHyper::numbers
  double model = 0;

  template <class T>
  double of(const RunContext<T>& run) const {
    return run.hyper->lane_attrs.empty() ? model : run.hyper->lane_attrs[index];
  }
};

/// What a kernel is prepared from: a call, its schema and where its values lie.
template <class T>
struct Binding {
  const KernelCall& call;
  const graph::OpDef& def;
  std::vector<Address> in, out;
  const kernels::Kernels<T>& k;
  std::int64_t max_batch = 0;
  std::size_t threads = 1;           ///< that may run the call at the same time
  std::int64_t& scratch;             ///< elements wanted of the shared scratch; raised by the prepare functions
  std::vector<LaneAttr>& lane_attrs;  ///< of the section so far; `node` is the step's

  LaneAttrRef lane_attr(const std::string& attr) const {
    lane_attrs.push_back({call.id, attr, args().real(attr)});
    return {lane_attrs.size() - 1, lane_attrs.back().value};
  }

  graph::OpArgs args() const { return {call.in_types, call.attrs, def}; }
  const graph::Shape& x_shape(std::size_t i) const { return call.in_types[i].shape; }
  const graph::Shape& y_shape(std::size_t i = 0) const { return call.out_types[i].shape; }
  void reserve_scratch(std::int64_t elements) const { scratch = std::max(scratch, elements); }
};

/// Fixes everything that does not depend on lane and batch; the result allocates nothing and cannot fail.
template <class T>
using Prepare = std::function<Run<T>(const Binding<T>&)>;

/// How a kernel wants to find a parameter: shapes alone cannot tell, a [4, 4] value may be a linear weight or anything
/// else.
struct ParameterLayout {
  std::size_t input = 0;
  Layout layout = Layout::kPlain;
  bool requires_image_input = false;  ///< only where input 0 is an image
};

/// A kernel whose results depend on all samples of a batch, in two halves for a batch in parts: every part gives a
/// value, the values are merged in order of the parts, and every part takes what came of it. Numbers travel as doubles,
/// so that merging adds no rounding of the kernel's own type.
template <class T>
struct BatchReduction {
  std::int64_t num_values = 0;  ///< that a value has
  std::function<void(const RunContext<T>&, double* value)> compute_partial;
  /// The value of two neighbouring parts goes to the first.
  void (*merge)(std::int64_t num_values, double* first, const double* second) = nullptr;
  std::function<void(const RunContext<T>&, const double* value)> apply_result;
};

/// A kernel with what the planners have to know about it.
template <class T>
struct KernelEntry {
  KernelEntry() = default;
  template <class F>
  KernelEntry(F how, std::vector<std::size_t> slots = {}, std::function<BatchReduction<T>(const Binding<T>&)> reduction = {})
      : prepare(std::move(how)), in_place(std::move(slots)), batch_reduction(std::move(reduction)) {}

  Prepare<T> prepare;
  /// Inputs of the shape of output 0 whose every element is read no later than that element of the output is written:
  /// the output may take the place of one, preferred in this order, unless its value comes at an input that is not
  /// named here too. Those may be read after everything is written.
  std::vector<std::size_t> in_place;
  /// Of kernels that mix the samples of a batch, and of no others: how they work on parts of it.
  std::function<BatchReduction<T>(const Binding<T>&)> batch_reduction;
  std::vector<ParameterLayout> layouts;  ///< of parameters that do not lie plain
  std::optional<Fusion> fusion;          ///< what it does the work of, if that is two kernels

  KernelEntry& reads_as(std::size_t input, Layout layout) {
    layouts.push_back({input, layout});
    return *this;
  }
  KernelEntry& reads_if_image_input(std::size_t input, Layout layout) {
    layouts.push_back({input, layout, true});
    return *this;
  }
  KernelEntry& fuses(Fusion of) {
    fusion = std::move(of);
    return *this;
  }
};

template <class T>
using KernelTable = std::map<std::string, KernelEntry<T>, std::less<>>;

/// All kernels by the name of their step operator or fusion.
template <class T>
KernelTable<T> kernel_table();

/// The fusions that the entries of a table tell of.
template <class T>
std::vector<Fusion> fusions_of(const KernelTable<T>& table);
/// The layout that a call wants of a parameter at an input.
template <class T>
Layout required_layout(const KernelTable<T>& table, const KernelCall& call, std::size_t input);

/// Puts the kernels of added operators beside them.
template <class T>
void add_opaque_kernels(const Operators& operators, KernelTable<T>& table);

// The parts of the table, one file each.
template <class T>
void add_dense_kernels(KernelTable<T>& table);
template <class T>
void add_elementwise_kernels(KernelTable<T>& table);
template <class T>
void add_norm_kernels(KernelTable<T>& table);
template <class T>
void add_pool_kernels(KernelTable<T>& table);
template <class T>
void add_shape_kernels(KernelTable<T>& table);
template <class T>
void add_sequence_kernels(KernelTable<T>& table);
template <class T>
void add_image_kernels(KernelTable<T>& table);
template <class T>
void add_loss_kernels(KernelTable<T>& table);
template <class T>
void add_update_kernels(KernelTable<T>& table);

}  // namespace lanista::nn
