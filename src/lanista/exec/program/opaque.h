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

namespace lanista::nn {

/// The arguments of a caller's kernel: one mini-batch. Every value is contiguous and row-major in logical order
/// ([n, C, H, W] for images), whatever layout the program uses.
template <class T>
struct OpaqueCall {
  std::int64_t batch = 0;                  ///< samples
  const graph::OpArgs& args;               ///< attributes and input types, with graph::kBatch as batch
  std::vector<std::span<const T>> inputs;  ///< data
  std::vector<std::span<const T>> params;  ///< parameters and buffers, in the order of OpDef::params
  std::span<const T> dy;                   ///< backward only: gradient of the output
  std::vector<std::span<T>> results;       ///< forward: the output. Backward: gradients of every input, then of
                                           ///< every trained parameter. Zeros at first.
};

/// One half of a caller's kernel, forward or backward.
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
  /// Only the shipped operators.
  Operators() : table_(graph::builtin_ops()) {}

  /// Adds `def` (see graph::add_opaque) with a kernel that has, for T = float and double,
  ///   template <class T> void forward(const OpaqueCall<T>&) const;
  ///   template <class T> void backward(const OpaqueCall<T>&) const;
  /// Errors: those of add_opaque.
  template <class Kernel>
  Result<void> add(graph::OpDef def, Kernel kernel) {
    const std::string name = def.name;
    LANISTA_TRY(graph::add_opaque(table_, std::move(def)));
    const auto shared = std::make_shared<const Kernel>(std::move(kernel));
    add_functions<float>(name, shared);
    add_functions<double>(name, shared);
    return {};
  }

  /// The operators that models may use.
  const graph::OpTable& table() const { return table_; }
  /// The kernels of added operators by the names of their step operators.
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

}  // namespace lanista::nn
