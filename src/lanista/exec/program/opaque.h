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

/// What a kernel of the caller's sees of one call: one mini-batch, every value contiguous and row-major in logical
/// order ([n, C, H, W] for images, whatever the program's own layout is).
template <class T>
struct OpaqueCall {
  std::int64_t batch = 0;                  ///< samples
  const graph::OpArgs& args;               ///< attributes, and types of the inputs (their batch is graph::kBatch)
  std::vector<std::span<const T>> inputs;  ///< data
  std::vector<std::span<const T>> params;  ///< parameters and buffers, in the order of OpDef::params
  std::span<const T> dy;                   ///< backward only: gradient of the output
  std::vector<std::span<T>> results;       ///< forward: the output. Backward: the gradients of every input, then of
                                           ///< every trained parameter. They arrive as zeros.
};

template <class T>
using OpaqueFunction = std::function<void(const OpaqueCall<T>&)>;

/// Operators that lanista does not ship: their definitions beside all shipped ones, and the kernels that compute them.
/// A value; whatever compiles a model takes one.
///
/// A kernel is a pure function of what it is given: a program may call it for any lane and any batch size, and for
/// several lanes at once, as several threads may, so it keeps no state between calls, draws no random numbers and reads
/// no clock. GradientSums in one fixed order make trials repeat to the bit. What it throws ends the step before anything is
/// committed.
class Operators {
 public:
  /// All shipped operators and none else.
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

  /// The operators that models may hold.
  const graph::OpTable& table() const { return table_; }
  /// The kernels of added operators, by the name of the step's operator.
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
