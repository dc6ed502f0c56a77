#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/opaque.h"

namespace lanista::program {

/// The arguments of a caller's kernel for one mini-batch. Every value is contiguous and row-major in logical order ([n,
/// C, H, W] for images), whatever layout the program uses. All are valid during the call only.
template <class T>
struct OpaqueCall {
  std::int64_t batch = 0;     ///< Number of samples, the first size of every value with a batch axis.
  const graph::OpArgs& args;  ///< Attributes and input types of the operator, with graph::kBatch as the batch size.
  std::vector<std::span<const T>> inputs;  ///< Values of the inputs, in their order.
  std::vector<std::span<const T>> params;  ///< Parameters and buffers, in the order of OpDef::params.
  std::span<const T> dy;                   ///< Backward only: gradient of the output, in its shape.
  std::vector<std::span<T>> results;       ///< forward: the output. Backward: gradients of every input, then of
                                           ///< every trained parameter. Zeros at first.
};

/// One half of a caller's kernel, forward or backward: it writes `results`.
template <class T>
using OpaqueFunction = std::function<void(const OpaqueCall<T>&)>;

/// All shipped operators together with the caller's operators and their kernels. A value; functions that compile a
/// model accept one.
///
/// A kernel must be a pure function of its arguments. A program calls it for any lane and batch size, and from several
/// threads at once. So it keeps no state between calls, samples no random numbers and reads no clock. Its sums need one
/// fixed order, so that trials repeat to the bit. An exception ends the step before anything is committed.
class Operators {
 public:
  /// The shipped operators only.
  Operators() : table_(graph::builtin_ops()) {}

  /// Adds `def` (see graph::add_opaque) with its kernel. Errors: kInvalidArgument of graph::add_opaque (a wrong `def`).
  /// The kernel has, for T = float and double,
  ///   template <class T> void forward(const OpaqueCall<T>&) const;
  ///   template <class T> void backward(const OpaqueCall<T>&) const;
  template <class Kernel>
  Result<void> add(graph::OpDef def, Kernel kernel) {
    const std::string name = def.name;
    LANISTA_TRY(graph::add_opaque(table_, std::move(def)));
    const auto shared = std::make_shared<const Kernel>(std::move(kernel));
    add_functions<float>(name, shared);
    add_functions<double>(name, shared);
    return {};
  }

  /// The definitions of all operators that models may use: the shipped ones and those of add().
  const graph::OpTable& table() const { return table_; }
  /// The kernels of operators of add(), by step operator: the operator's name for forward, name + "_grad" for backward.
  template <class T>
  const std::map<std::string, OpaqueFunction<T>>& functions() const {
    return std::get<std::map<std::string, OpaqueFunction<T>>>(functions_);
  }

 private:
  template <class T, class Kernel>
  void add_functions(const std::string& name, const std::shared_ptr<const Kernel>& kernel) {
    auto& own = std::get<std::map<std::string, OpaqueFunction<T>>>(functions_);
    own[name] = [kernel](const OpaqueCall<T>& call) { kernel->forward(call); };
    own[name + "_grad"] = [kernel](const OpaqueCall<T>& call) { kernel->backward(call); };
  }

  graph::OpTable table_;
  std::tuple<std::map<std::string, OpaqueFunction<float>>, std::map<std::string, OpaqueFunction<double>>> functions_;
};

}  // namespace lanista::program
