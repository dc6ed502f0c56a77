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

/// What an exported model says beside its graph.
struct OnnxExport {
  /// The file takes raw numbers and computes (x - mean) / scale first. One entry for everything, one a channel of
  /// [C, H, W], or one a feature; empty: 0 and 1.
  std::vector<double> mean, scale;
  std::string graph_name = "model";
  std::map<std::string, std::string> metadata;
  /// What a missing number, a NaN among the raw ones, becomes, one a feature; empty: it stays NaN.
  std::vector<double> missing = {};
  /// The file gives the model's output times scale plus mean: one entry each a number of a sample's output. Empty: the
  /// output as it is.
  std::vector<double> target_mean = {}, target_scale = {};
};

/// Writes the ONNX nodes that stand for one node of a model. Values are called "n3" after the node, what lies between
/// them "n3.part", parameters as in checkpoints; all behind a prefix, where a file holds several models.
class OnnxWriter {
 public:
  using Attributes = std::map<std::string, OnnxValue>;

  OnnxWriter(OnnxModel& model, const OnnxExport& options, const graph::Node& node, const graph::OpArgs& args,
             std::vector<std::string> inputs, const std::string& prefix = {});

  const OnnxExport& options() const { return options_; }
  const graph::OpArgs& args() const { return args_; }
  /// Dimensions of data input `i`; the batch is -1.
  const std::vector<std::int64_t>& dims(std::size_t i = 0) const { return args_.inputs[i].shape.dims; }
  std::span<const std::string> inputs() const { return inputs_; }
  const std::string& input(std::size_t i = 0) const { return inputs_[i]; }
  std::string param(std::string_view name) const;
  /// A constant of this node, as an initialiser; the name of its value.
  std::string floats(std::string_view part, std::vector<std::int64_t> shape, std::span<const float> values);
  std::string scalar(std::string_view part, float value) { return floats(part, {}, {&value, 1}); }
  std::string integers(std::string_view part, std::span<const std::int64_t> values);
  std::string integer(std::string_view part, std::int64_t value);
  /// Adds an ONNX node that gives the node's own value, or something on the way to it (`part`); the value's name.
  std::string add(std::string op, std::vector<std::string> inputs, Attributes attributes = {},
                  std::string_view part = {});
  /// The node gives what is there already under another name.
  void alias(std::string value) { result_ = std::move(value); }
  const std::string& result() const { return result_; }

 private:
  OnnxModel& model_;
  const OnnxExport& options_;
  const graph::OpArgs& args_;
  std::vector<std::string> inputs_;
  std::string name_;    ///< "n3"
  std::string result_;  ///< the node's value
};

/// The inference form of an operator in ONNX (opset 17). Errors: kUnimplemented for a form that ONNX lacks.
using OnnxMapping = std::function<Result<void>(OnnxWriter&)>;
using OnnxMappings = std::map<std::string, OnnxMapping, std::less<>>;

/// A mapping for each operator of graph::builtin_ops().
OnnxMappings onnx_mappings();

/// A trained model in inference form: input "input" [N, features...] (64-bit integers if they
/// are tokens), output "output" [N, ...]. `weights`: see
/// float_weights. Equal arguments give equal models.
/// Errors: verify's; kUnimplemented for an operator without mapping, by name; kInvalidArgument for a weight that is
/// missing or of another shape, and for a mean or scale that does not fit.
Result<OnnxModel> to_onnx(const graph::Graph& graph, std::span<const Tensor> weights, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// Several models as one file: names of the members' values and parameters begin with "m1.", "m2.", …, "m1.output" is
/// what a member predicts, and "output" what the blend comes to. Of `options` mean, scale, missing and the targets' unit are
/// the members' own. A single member gives what it gives alone. Errors: to_onnx's, with the member in front;
/// kInvalidArgument (inputs or outputs of other shapes than the first member's).
Result<OnnxModel> to_onnx(const BlendedModel& blended, const OnnxExport& options,
                          const graph::OpTable& ops = graph::builtin_ops(),
                          const OnnxMappings& mappings = onnx_mappings());

/// The members of a file that to_onnx made of `count` of them, each as a model of its own: what its output needs.
/// Errors: kDataLoss (no such members; the file does not blend them that way and with those shares).
Result<std::vector<OnnxModel>> blended_members(const OnnxModel& model, Blend how, std::span<const double> shares);

}  // namespace lanista::formats
