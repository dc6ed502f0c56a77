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

/// The content of an exported ONNX file in addition to the graph of the model.
struct OnnxExport {
  /// Normalisation: the file gets raw numbers and computes (x - mean) / scale first. One entry for all, one for each
  /// channel of [C, H, W], or one for each feature; empty: 0 and 1.
  std::vector<double> mean, scale;
  std::string graph_name = "model";             ///< name of the graph in the file
  std::map<std::string, std::string> metadata;  ///< text values by key
  /// What replaces a missing raw number (NaN), one for each feature; empty: it stays NaN.
  std::vector<double> missing = {};
  /// The unit of the targets: the file returns the model's output times scale plus mean, with one entry for each number
  /// of a sample's output. Empty: the output is unchanged.
  std::vector<double> target_mean = {}, target_scale = {};
};

/// Writes the ONNX nodes of one node of a model. The value of node 3 is "n3", intermediate values are "n3.part", and
/// parameters have the names of checkpoints, such as "n3.weight". Where a file holds several models, a prefix precedes
/// all names.
class OnnxWriter {
 public:
  using Attributes = std::map<std::string, OnnxValue>;  ///< attributes of an ONNX node by name

  /// A writer for `node`, which adds nodes and constants to `model`. `inputs` are the names of the values that `node`
  /// reads; `prefix` precedes the names that it adds. `model`, `options` and `args` must outlive the writer.
  OnnxWriter(OnnxModel& model, const OnnxExport& options, const graph::Node& node, const graph::OpArgs& args,
             std::vector<std::string> inputs, const std::string& prefix = {});

  const OnnxExport& options() const { return options_; }
  const graph::OpArgs& args() const { return args_; }
  /// Dimensions of input `i` (from 0) of the node; the batch is -1.
  const std::vector<std::int64_t>& dims(std::size_t i = 0) const { return args_.inputs[i].shape.dims; }
  std::span<const std::string> inputs() const { return inputs_; }
  /// Name of the value of input `i` (from 0) of the node.
  const std::string& input(std::size_t i = 0) const { return inputs_[i]; }
  std::string param(std::string_view name) const;  ///< name of a parameter as an ONNX value: "n3.weight"
  /// Adds a float constant "n3.part" of this shape as an initialiser and returns its name.
  std::string floats(std::string_view part, std::vector<std::int64_t> shape, std::span<const float> values);
  /// Adds a float constant "n3.part" without dimensions and returns its name.
  std::string scalar(std::string_view part, float value) { return floats(part, {}, {&value, 1}); }
  /// Adds a constant "n3.part" of int64 with one dimension and returns its name.
  std::string integers(std::string_view part, std::span<const std::int64_t> values);
  /// Adds a constant "n3.part" of int64 without dimensions and returns its name.
  std::string integer(std::string_view part, std::int64_t value);
  /// Adds an ONNX node and returns the name of its output: the intermediate value "n3.part", or, if `part` is empty,
  /// the value of the model's node.
  std::string add(std::string op, std::vector<std::string> inputs, Attributes attributes = {},
                  std::string_view part = {});
  /// Declares that the value of the node is the existing value `value`, so that no ONNX node is needed.
  void alias(std::string value) { result_ = std::move(value); }
  const std::string& result() const { return result_; }  ///< name of the value of the node

 private:
  OnnxModel& model_;
  const OnnxExport& options_;
  const graph::OpArgs& args_;
  std::vector<std::string> inputs_;
  std::string name_;    ///< "n3"
  std::string result_;  ///< name of the node's value
};

/// Writes the inference form of one node of an operator (opset 17). Errors: kUnimplemented for attributes or shapes
/// that ONNX cannot express.
using OnnxMapping = std::function<Result<void>(OnnxWriter&)>;
/// Mappings by the name of the operator.
using OnnxMappings = std::map<std::string, OnnxMapping, std::less<>>;

/// The built-in mappings, one for each operator of graph::builtin_ops().
OnnxMappings onnx_mappings();

/// Converts a trained model to ONNX, in inference form.
///
/// The input is "input" [N, features...] (int64 for tokens, else float), the output is "output" [N, ...]. For `weights`
/// see float_weights(). Equal arguments give equal models. Errors: those of verify() (kNotFound, kInvalidArgument);
/// kUnimplemented for an operator without a mapping, by name, and for a node that reads a second output. Also
/// kInvalidArgument for a weight that is missing or has another shape. The same code is for numbers in `options` that
/// are not finite or too few, a scale of 0, and a mean or scale of tokens.
Result<OnnxModel> to_onnx(const graph::Graph& graph, std::span<const Tensor> weights, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// Converts several models to one ONNX model that blends their predictions.
///
/// Names of the members' values and parameters begin with "m1.", "m2." and so on. "m1.output" is the prediction of a
/// member, "output" is the blend. Mean, scale, missing and the unit of targets come from the members, not from
/// `options`. A single member gives the same file as to_onnx() of that model. Errors: those of to_onnx(), with the
/// member in front; kInvalidArgument (inputs or outputs of another shape than the first member's).
Result<OnnxModel> to_onnx(const BlendedModel& blended, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// Splits a model that to_onnx() made of several models into one model for each member, in order, with only the nodes
/// that its output needs. Errors: kDataLoss (there are not as many members as `shares`, or the file blends them in
/// another way than `how` or with other shares).
Result<std::vector<OnnxModel>> blended_members(const OnnxModel& model, Blend how, std::span<const double> shares);

}  // namespace lanista::formats
