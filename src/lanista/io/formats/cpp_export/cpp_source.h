#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/blended_model.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::formats {

/// What an exported source file says beside its model.
struct CppExport {
  /// The program takes raw numbers and computes (x - mean) / scale first. One entry for everything, one a channel of
  /// [C, H, W], or one a feature; empty: 0 and 1.
  std::vector<double> mean, scale;
  std::vector<std::string> labels;        ///< of the outputs, one of which is the right one; may be empty
  std::vector<std::string> targets = {};  ///< names of outputs that are numbers, or labels each for itself; may be empty
  /// What a missing number, a NaN among the raw ones, becomes, one a feature; empty: it stays NaN.
  std::vector<double> missing = {};
  /// The program gives the model's output times scale plus mean: one entry each a number of the output. Empty: the
  /// output as it is.
  std::vector<double> target_mean = {}, target_scale = {};
  std::vector<std::string> features = {};  ///< names of the numbers that the program takes, in order; may be empty
};

/// One node as its emitter sees it. Values are called "v3" after the node, parameters "n3_weight".
struct CppNode {
  const graph::OpArgs& args;
  const graph::Shape& shape;        ///< of the result
  std::vector<std::string> inputs;  ///< names of the values it reads
  std::string id;                   ///< "3"
  const CppExport& options;

  std::string value() const { return "v" + id; }
  std::string param(std::string_view name) const;
  const std::vector<std::int64_t>& dims(std::size_t i = 0) const { return args.inputs[i].shape.dims; }
};

/// C++ statements that declare the node's value and compute it for one sample, in inference form.
using CppEmitter = std::function<std::string(const CppNode&)>;
using CppEmitters = std::map<std::string, CppEmitter, std::less<>>;

/// An emitter for each operator of graph::builtin_ops().
CppEmitters cpp_emitters();

/// A trained model as one C++17 file that needs nothing but the standard library:
///
///   namespace model {
///   input_size, output_size, labels, targets and features (where there are any)
///   void predict(const float* input, float* output);  // one sample, row-major; normalisation inside
///   }
///
/// With LANISTA_MODEL_MAIN defined it is a program that reads samples from stdin, one a line, and prints the outputs
/// (and the label of the largest, if there is one for each). Weights are exact; sums may be rounded in another order
/// than in training. `weights`: see float_weights. Equal arguments give equal text.
/// Errors: verify's; kUnimplemented for an operator without emitter, by name; kInvalidArgument for a weight that is
/// missing, of another shape or not finite, and for a mean or scale that does not fit; kResourceExhausted above 16
/// million weights, which compilers cannot swallow.
Result<std::string> to_cpp(const graph::Graph& graph, std::span<const Tensor> weights, const CppExport& options = {},
                           const graph::OpTable& ops = graph::builtin_ops(),
                           const CppEmitters& emitters = cpp_emitters());

/// Several models as one file of the same form: each is a function of a namespace of its own, and predict() blends what
/// they give. Of `options` mean, scale, missing and the targets' unit are the members' own. A single member gives what it gives
/// alone. Errors: to_cpp's, with the member in front; kInvalidArgument (inputs or outputs of other shapes than the first
/// member's); the limit of weights holds for all members together.
Result<std::string> to_cpp(const BlendedModel& blended, const CppExport& options = {},
                           const graph::OpTable& ops = graph::builtin_ops(),
                           const CppEmitters& emitters = cpp_emitters());

}  // namespace lanista::formats
