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

/// The content of an exported C++ file in addition to the model.
struct CppExport {
  /// Normalisation: the program gets raw numbers and computes (x - mean) / scale first. One entry for all, one for each
  /// channel of [C, H, W], or one for each feature; empty: 0 and 1.
  std::vector<double> mean, scale;
  std::vector<std::string> labels;        ///< Names of classes, one for each output; may be empty.
  std::vector<std::string> targets = {};  ///< Names of outputs that are numbers or independent labels; may be empty.
  /// What replaces a missing raw number (NaN), one for each feature; empty: it stays NaN.
  std::vector<double> missing = {};
  /// The unit of the targets: the program returns the model's output times scale plus mean, with one entry for each
  /// number of the output. Empty: the output is unchanged.
  std::vector<double> target_mean = {}, target_scale = {};
  std::vector<std::string> features = {};  ///< Names of the inputs, in order; may be empty.
  /// Numbers in double that the program subtracts from its raw input, which then is double, before it becomes float.
  /// One for each feature or channel; empty: the input is float.
  std::vector<double> origin = {};
  /// Numbers that it adds to its output, which then is double, one for each; empty: the output is float.
  std::vector<double> target_origin = {};
};

/// One node of a model, as its emitter receives it. In the C++ text, the value of node 3 is "v3" and its parameter
/// weight is "n3_weight".
struct CppNode {
  const graph::OpArgs& args;        ///< attributes and types of inputs
  const graph::Shape& shape;        ///< shape of the node's value, with the batch
  std::vector<std::string> inputs;  ///< C++ names of the values that the node reads
  std::string id;                   ///< number of the node: "3"
  const CppExport& options;         ///< options of the file

  /// The C++ name of the node's value.
  std::string value() const { return "v" + id; }
  std::string param(std::string_view name) const;  ///< C++ name of a parameter: "n3_weight"
  /// Dimensions of input `i` (from 0), with the batch first.
  const std::vector<std::int64_t>& dims(std::size_t i = 0) const { return args.inputs[i].shape.dims; }
};

/// Returns C++ statements that declare the node's value and compute it for one sample, in inference form; for a node
/// `output`, statements that write the result.
using CppEmitter = std::function<std::string(const CppNode&)>;
/// Emitters by the name of the operator.
using CppEmitters = std::map<std::string, CppEmitter, std::less<>>;

/// The built-in emitters, one for each operator of graph::builtin_ops().
CppEmitters cpp_emitters();

/// The text of a C++17 file that computes a trained model and needs only the standard library:
///
///   namespace model {
///   input_size, output_size, labels, targets and features (where there are any)
///   void predict(const float* input, float* output);  // one sample, row-major; normalisation inside
///   }
///
/// Input and output are double where there are origins.
///
/// With LANISTA_MODEL_MAIN defined it is a program. It reads samples from stdin, one in each line, and prints the
/// outputs and, if there is a label for each output, the label of the largest. Weights are exact; sums may be rounded
/// in another order than in training. For `weights` see float_weights(). Equal arguments give equal text. Errors: those
/// of verify() (kNotFound, kInvalidArgument); kUnimplemented for an operator without an emitter, by name;
/// kInvalidArgument for a weight that is missing, not finite or of another shape, and for a mean or scale of the wrong
/// size. Also kResourceExhausted above 16 million weights, which compilers cannot handle.
Result<std::string> to_cpp(const graph::Graph& graph, std::span<const Tensor> weights, const CppExport& options = {},
                           const graph::OpTable& ops = graph::builtin_ops(),
                           const CppEmitters& emitters = cpp_emitters());

/// The text of one C++ file, of the same form, that computes a blend of several models. Each model is a function in its
/// own namespace; predict() blends their outputs.
///
/// Mean, scale, missing and the unit of targets come from the members, not from `options`. A single member gives the
/// same file as to_cpp() of that model. Errors: those of to_cpp(), with the member in front; kInvalidArgument (inputs
/// or outputs of another shape than the first member's). The limit of weights holds for all members together.
Result<std::string> to_cpp(const BlendedModel& blended, const CppExport& options = {},
                           const graph::OpTable& ops = graph::builtin_ops(),
                           const CppEmitters& emitters = cpp_emitters());

}  // namespace lanista::formats
