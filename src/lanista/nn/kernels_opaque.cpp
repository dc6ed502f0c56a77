// Calls of kernels that the caller brought.
#include <algorithm>
#include <memory>
#include <utility>

#include "lanista/nn/kernel_table.h"
#include "lanista/nn/opaque.h"

namespace lanista::nn {
namespace {

// A value of the call: where it lies, and where it stands in logical order if it lies otherwise.
struct Side {
  Place place;
  Reorder reorder;  // out of the program's layout for what is read, into it for what is written
  std::int64_t scratch = 0;
};

// Everything that one call needs, so that running it allocates nothing.
template <class T>
class OpaqueRun {
 public:
  OpaqueRun(const Binding<T>& b, OpaqueFunction<T> function)
      : def_(b.def),
        attrs_(b.call.attrs),
        backward_(def_.level == graph::OpLevel::kStep),
        types_(b.call.in_types.begin(), b.call.in_types.begin() + def_.min_inputs - (backward_ ? 1 : 0)),
        function_(std::move(function)),
        kernels_(b.k) {
    const std::size_t data = types_.size();
    std::int64_t scratch = 0;
    for (std::size_t i = 0; i < b.in.size(); ++i) {
      const graph::Shape& shape = b.x_shape(i);
      in_.push_back(side(b.in[i], Reorder::out_of(shape, value_layout(shape)), b.max_batch, scratch));
    }
    for (std::size_t i = 0; i < b.out.size(); ++i) {
      const graph::Shape& shape = b.y_shape(i);
      out_.push_back(side(b.out[i], Reorder::into(shape, value_layout(shape)), b.max_batch, scratch));
    }
    b.need_scratch(scratch);
    call_.inputs.resize(data);
    call_.params.resize(in_.size() - data - (backward_ ? 1 : 0));
    call_.results.resize(out_.size());
  }

  OpaqueRun(const OpaqueRun&) = delete;  // the call refers to the other members
  OpaqueRun& operator=(const OpaqueRun&) = delete;

  void run(const RunContext<T>& now) {
    call_.batch = now.batch;
    for (std::size_t i = 0; i < in_.size(); ++i) seen(i) = read(in_[i], now);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      call_.results[i] = {logical(out_[i], now), size(out_[i], now)};
      std::ranges::fill(call_.results[i], T{0});
    }
    function_(call_);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (!out_[i].reorder.trivial()) {
        out_[i].reorder.apply(kernels_, now.batch, call_.results[i].data(), now.at(out_[i].place));
      }
    }
  }

 private:
  static Side side(Place place, Reorder reorder, std::int64_t max_batch, std::int64_t& scratch) {
    const Side result{place, reorder, scratch};
    if (!reorder.trivial()) scratch += reorder.elements(max_batch);
    return result;
  }
  static std::size_t size(const Side& side, const RunContext<T>& now) {
    return static_cast<std::size_t>(side.reorder.elements(now.batch));
  }
  static T* logical(const Side& side, const RunContext<T>& now) {
    return side.reorder.trivial() ? now.at(side.place) : now.scratch + side.scratch;
  }
  std::span<const T> read(const Side& side, const RunContext<T>& now) const {
    T* values = logical(side, now);
    if (!side.reorder.trivial()) side.reorder.apply(kernels_, now.batch, now.at(side.place), values);
    return {values, size(side, now)};
  }
  std::span<const T>& seen(std::size_t i) {
    if (i < call_.inputs.size()) return call_.inputs[i];
    i -= call_.inputs.size();
    return i < call_.params.size() ? call_.params[i] : call_.dy;
  }

  graph::OpDef def_;
  graph::Attrs attrs_;
  bool backward_;
  std::vector<graph::ValueType> types_;  // of the data
  OpaqueFunction<T> function_;
  const kernels::Kernels<T>& kernels_;
  std::vector<Side> in_, out_;
  graph::OpArgs args_{types_, attrs_, def_};
  OpaqueCall<T> call_{.batch = 0, .args = args_, .inputs = {}, .params = {}, .dy = {}, .results = {}};
};

}  // namespace

template <class T>
void add_opaque_kernels(const Operators& operators, KernelTable<T>& table) {
  for (const auto& [name, function] : operators.functions<T>()) {
    table[name] = [function](const Binding<T>& b) -> Run<T> {
      const auto call = std::make_shared<OpaqueRun<T>>(b, function);
      return [call](const RunContext<T>& now) { call->run(now); };
    };
  }
}

template void add_opaque_kernels(const Operators&, KernelTable<float>&);
template void add_opaque_kernels(const Operators&, KernelTable<double>&);

}  // namespace lanista::nn
