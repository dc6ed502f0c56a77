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
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::formats {

/// What an exported model contains in addition to its graph.
struct OnnxExport {
  /// Normalisation: the file gets raw numbers and computes (x - mean) / scale first. One entry for all, one for each
  /// channel of [C, H, W], or one for each feature; empty: 0 and 1.
  std::vector<double> mean, scale;
  std::string graph_name = "model";             ///< name of the graph in the file
  std::map<std::string, std::string> metadata;  ///< texts by key
  /// What replaces a missing raw number (NaN), one for each feature; empty: it stays NaN.
  std::vector<double> missing = {};
  /// The unit of the targets: the file returns the model's output times scale plus mean, with one entry for each number
  /// of a sample's output. Empty: the output is unchanged.
  std::vector<double> target_mean = {}, target_scale = {};
};

/// Writes the ONNX nodes of one node of a model. Values are named after the node ("n3"), intermediate values "n3.part",
/// parameters as in checkpoints. Where a file holds several models, a prefix precedes all names.
class OnnxWriter {
 public:
  using Attributes = std::map<std::string, OnnxValue>;  ///< attributes of an ONNX node by name

  /// A writer for `node`, which adds to `model`. `inputs` are the names of the values that it reads.
  OnnxWriter(OnnxModel& model, const OnnxExport& options, const graph::Node& node, const graph::OpArgs& args,
             std::vector<std::string> inputs, const std::string& prefix = {});

  const OnnxExport& options() const { return options_; }
  const graph::OpArgs& args() const { return args_; }
  /// Dimensions of data input `i`; the batch is -1.
  const std::vector<std::int64_t>& dims(std::size_t i = 0) const { return args_.inputs[i].shape.dims; }
  std::span<const std::string> inputs() const { return inputs_; }
  /// Name of data input `i`.
  const std::string& input(std::size_t i = 0) const { return inputs_[i]; }
  std::string param(std::string_view name) const;  ///< name of the value of a parameter
  /// Adds a float constant of this node as an initialiser and returns the name of its value.
  std::string floats(std::string_view part, std::vector<std::int64_t> shape, std::span<const float> values);
  /// Adds a float constant without dimensions.
  std::string scalar(std::string_view part, float value) { return floats(part, {}, {&value, 1}); }
  /// Adds a list of integers.
  std::string integers(std::string_view part, std::span<const std::int64_t> values);
  /// Adds an integer without dimensions.
  std::string integer(std::string_view part, std::int64_t value);
  /// Adds an ONNX node and returns the name of its value: the node's own value, or an intermediate one (`part`).
  std::string add(std::string op, std::vector<std::string> inputs, Attributes attributes = {},
                  std::string_view part = {});
  /// Declares that the node's value is an existing value.
  void alias(std::string value) { result_ = std::move(value); }
  const std::string& result() const { return result_; }  ///< name of the node's value

 private:
  OnnxModel& model_;
  const OnnxExport& options_;
  const graph::OpArgs& args_;
  std::vector<std::string> inputs_;
  std::string name_;    ///< "n3"
  std::string result_;  ///< name of the node's value
};

/// Writes the inference form of an operator (opset 17). Errors: kUnimplemented for a form that ONNX does not have.
using OnnxMapping = std::function<Result<void>(OnnxWriter&)>;
/// Mappings by the name of the operator.
using OnnxMappings = std::map<std::string, OnnxMapping, std::less<>>;

/// A mapping for each operator of graph::builtin_ops().
OnnxMappings onnx_mappings();

/// Converts a trained model to ONNX, in inference form.
///
/// Its input is "input" [N, features...] (64-bit integers for tokens), its output is "output" [N, ...]. For `weights`
/// see float_weights(). Equal arguments give equal models. Errors: those of verify(); kUnimplemented for an operator
/// without a mapping, by name; kInvalidArgument for a weight that is missing or has another shape, and for a mean or
/// scale of the wrong size.
Result<OnnxModel> to_onnx(const graph::Graph& graph, std::span<const Tensor> weights, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// Converts several models to one file.
///
/// Names of the members' values and parameters begin with "m1.", "m2." and so on. "m1.output" is the prediction of a
/// member, "output" is the blend. Mean, scale, missing and the unit of targets come from the members, not from
/// `options`. A single member gives the same file as to_onnx() of that model. Errors: those of to_onnx(), with the
/// member in front; kInvalidArgument (inputs or outputs of another shape than the first member's).
Result<OnnxModel> to_onnx(const BlendedModel& blended, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// Splits a file that to_onnx() made of several models into one model for each member, with what its output needs.
/// Errors: kDataLoss (no such members; the file blends them in another way or with other shares).
Result<std::vector<OnnxModel>> blended_members(const OnnxModel& model, Blend how, std::span<const double> shares);

}  // namespace lanista::formats
