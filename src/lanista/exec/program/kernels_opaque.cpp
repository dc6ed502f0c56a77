// Calls of the caller's kernels.
#include <algorithm>
#include <memory>
#include <utility>

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/opaque.h"

namespace lanista::program {
namespace {

// A value of the call: its address, and its copy in logical order if it has another layout.
struct Side {
  Address place;
  Reorder reorder;  // from the program's layout for inputs, to it for outputs
  std::int64_t scratch = 0;
};

// All that a call needs, allocated once, so that running it allocates nothing.
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
      in_.push_back(side(b.in[i], Reorder::from_layout(shape, value_layout(shape)), b.max_batch, scratch));
    }
    for (std::size_t i = 0; i < b.out.size(); ++i) {
      const graph::Shape& shape = b.y_shape(i);
      out_.push_back(side(b.out[i], Reorder::to_layout(shape, value_layout(shape)), b.max_batch, scratch));
    }
    b.reserve_scratch(scratch);
    OpaqueCall<T> call{.batch = 0, .args = args_, .inputs = {}, .params = {}, .dy = {}, .results = {}};
    call.inputs.resize(data);
    call.params.resize(in_.size() - data - (backward_ ? 1 : 0));
    call.results.resize(out_.size());
    calls_ = std::vector<OpaqueCall<T>>(b.threads, call);
  }

  OpaqueRun(const OpaqueRun&) = delete;  // the calls refer to the other members
  OpaqueRun& operator=(const OpaqueRun&) = delete;

  void run(const RunContext<T>& now) {
    OpaqueCall<T>& call = calls_[now.thread];
    call.batch = now.batch;
    for (std::size_t i = 0; i < in_.size(); ++i) seen(call, i) = read(in_[i], now);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      call.results[i] = {logical(out_[i], now), size(out_[i], now)};
      std::ranges::fill(call.results[i], T{0});
    }
    function_(call);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (!out_[i].reorder.is_identity()) {
        out_[i].reorder.apply(kernels_, now.batch, call.results[i].data(), now.at(out_[i].place));
      }
    }
  }

 private:
  static Side side(Address place, Reorder reorder, std::int64_t max_batch, std::int64_t& scratch) {
    const Side result{place, reorder, scratch};
    if (!reorder.is_identity()) scratch += reorder.elements(max_batch);
    return result;
  }
  static std::size_t size(const Side& side, const RunContext<T>& now) {
    return static_cast<std::size_t>(side.reorder.elements(now.batch));
  }
  static T* logical(const Side& side, const RunContext<T>& now) {
    return side.reorder.is_identity() ? now.at(side.place) : now.scratch + side.scratch;
  }
  std::span<const T> read(const Side& side, const RunContext<T>& now) const {
    T* values = logical(side, now);
    if (!side.reorder.is_identity()) side.reorder.apply(kernels_, now.batch, now.at(side.place), values);
    return {values, size(side, now)};
  }
  static std::span<const T>& seen(OpaqueCall<T>& call, std::size_t i) {
    if (i < call.inputs.size()) return call.inputs[i];
    i -= call.inputs.size();
    return i < call.params.size() ? call.params[i] : call.dy;
  }

  graph::OpDef def_;
  graph::Attrs attrs_;
  bool backward_;
  std::vector<graph::ValueType> types_;  // of the inputs
  OpaqueFunction<T> function_;
  const kernels::Kernels<T>& kernels_;
  std::vector<Side> in_, out_;
  graph::OpArgs args_{types_, attrs_, def_};
  std::vector<OpaqueCall<T>> calls_;  // one a thread, because lanes run at the same time
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

}  // namespace lanista::program
