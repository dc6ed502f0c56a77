#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/onnx_fold.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

// How from_onnx() recognises nodes, and what it writes for them.
namespace lanista::formats::onnx {

/// The largest side, window or padding that rules accept, so that products of a few fit into 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;

/// An ONNX model with folded constants, for searches. It refers to the model, which must outlive it.
class OnnxView {
 public:
  /// Folds the constants of `model`. Errors: those of fold_node().
  static Result<OnnxView> make(const OnnxModel& model, ByteBudget& budget);

  std::int64_t opset() const { return opset_; }  ///< version of the operators
  /// Makes a value an input: rules find no producer for it from now on.
  void set_source(std::string_view name) { producers_.erase(name); }
  /// The constant of this name, or null.
  const Tensor* constant(std::string_view name) const;
  /// The node with this first output, or null.
  const OnnxNode* producer(std::string_view name) const;
  /// The node of operator `op` with this first output, or null.
  const OnnxNode* producer(std::string_view name, std::string_view op) const;
  /// How many times nodes and outputs of the model read the value.
  std::size_t num_uses(std::string_view name) const;
  /// The node that reads the value, if there is one reader and its operator is `op`; else null.
  const OnnxNode* sole_consumer(std::string_view name, std::string_view op) const;
  /// A node of operator `op` that reads the value, or null.
  const OnnxNode* consumer(std::string_view name, std::string_view op) const;
  /// The element of a float constant with one element.
  std::optional<float> scalar(std::string_view name) const;

 private:
  Result<void> add_constant(const OnnxNode& node, ByteBudget& budget);

  std::int64_t opset_ = 0;
  std::map<std::string_view, const Tensor*> constants_;
  std::map<std::string_view, const OnnxNode*> producers_;
  std::multimap<std::string_view, const OnnxNode*> consumers_;  // null: an output of the model
  std::deque<Tensor> folded_;
};

/// Integers that a node needs; they may depend on the shapes of computed values.
struct ShapeIntegers {
  std::vector<std::string> shapes_of;  ///< names of those values
  /// The integers, from the dimensions of those values; kUnknownBatch stands for a batch that the file does not fix.
  std::function<Result<List>(std::span<const List> dims)> value;
};

/// One node of the view, with checked access to its attributes and inputs.
class NodeReader {
 public:
  /// A reader of `node`; the rule computes its output number `output`.
  NodeReader(const OnnxView& view, const OnnxNode& node, std::size_t output = 0)
      : view_(view), node_(node), output_(output) {}

  const OnnxView& view() const { return view_; }  ///< the model
  const OnnxNode& node() const { return node_; }  ///< the node
  /// The number of the output that the rule computes.
  std::size_t output() const { return output_; }

  /// Checks that the node has no other attributes than these. Errors: kUnimplemented.
  Result<void> allow_attributes(std::initializer_list<std::string_view> names) const;
  // An attribute, or the default value if it is absent. Errors: kDataLoss if it has another type.
  Result<std::int64_t> integer(std::string_view name, std::int64_t default_value) const;  ///< an integer
  Result<double> real(std::string_view name, double default_value) const;                 ///< a real number
  Result<std::string> text(std::string_view name, std::string default_value) const;       ///< a text
  Result<List> list(std::string_view name, List default_value) const;                     ///< a list of integers
  /// Checks that the attribute is `value` or absent. Errors: kUnimplemented.
  Result<void> require_value(std::string_view name, std::int64_t value) const;

  /// Whether input `i` exists.
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// The name of input `i`, which must not be a constant. Errors: kDataLoss, kUnimplemented.
  Result<std::string> computed_input(std::size_t i) const;
  /// The names of all inputs, none of which may be a constant.
  Result<std::vector<std::string>> computed_inputs() const;
  /// Input `i`, which must be a float32 constant.
  Result<const Tensor*> weight(std::size_t i) const;
  /// Input `i`, which must be a constant of integers.
  Result<List> integers(std::size_t i) const;
  /// Integers of an attribute, as in old opsets, else of input `i`; none if both are absent.
  Result<std::optional<List>> integers(std::string_view attribute, std::size_t i) const;
  /// Integers of input `i`, which is a constant or computed from shapes.
  Result<ShapeIntegers> shape_integers(std::size_t i) const;

 private:
  const OnnxView& view_;
  const OnnxNode& node_;
  std::size_t output_ = 0;
};

/// Builds the graph. It infers every node when it is added, so that rules can read shapes.
class ModelWriter {
 public:
  /// `batch` is the size that the file fixes for it, or -1.
  ModelWriter(const graph::OpTable& ops, ByteBudget& budget, std::int64_t batch)
      : ops_(ops), budget_(budget), batch_(batch) {}

  std::int64_t batch() const { return batch_; }  ///< the fixed batch size, or -1

  /// Adds a node with its parameters in the order of its definition. Errors: kInvalidArgument (shapes do not fit).
  Result<graph::Port> add(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs = {},
                          std::vector<Tensor> params = {});
  /// Checks that the budget holds float weights of this shape. Errors: kResourceExhausted.
  Result<void> check_budget(const List& shape) const;
  /// The node that gives a value.
  const graph::Node& node(graph::Port port) const { return builder_.peek().node(port.node); }
  /// Dimensions of a value; the batch is -1.
  const List& dims(graph::Port port) const { return types_.at(port).shape.dims; }
  /// The graph and its weights, without nodes that its output does not need.
  Result<std::pair<graph::Graph, std::vector<Tensor>>> finish() &&;

 private:
  const graph::OpTable& ops_;
  ByteBudget& budget_;
  std::int64_t batch_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<std::pair<graph::NodeId, std::string>, Tensor> weights_;
};

/// The replacement of a node, or of a group of nodes that ends in it. It refers to the view's constants.
struct Rewrite {
  std::vector<std::string> input_values;  ///< names of the computed values that it reads
  /// Writes the operators and returns their value; null: the rule does not apply.
  std::function<Result<graph::Port>(ModelWriter&, std::span<const graph::Port>)> emit;
  std::string notice = {};  ///< a kind of notice for the user; notices are counted over the model
};

/// Returns the replacement of a node, or an empty one if the rule does not apply. Errors: the rule applies, but the
/// node has no counterpart.
using RewriteRule = std::function<Result<Rewrite>(const NodeReader&)>;
/// Rules by the name of the ONNX operator.
using RewriteRules = std::map<std::string, std::vector<RewriteRule>, std::less<>>;

/// All rules. For each ONNX operator they are tried in order: groups of nodes first.
RewriteRules import_rules();
// The parts of import_rules().
RewriteRules dense_rules();       ///< products with matrices
RewriteRules window_rules();      ///< convolutions and pools
RewriteRules resize_rules();      ///< resizing of images
RewriteRules norm_rules();        ///< normalisation layers
RewriteRules shape_rules();       ///< operators on shapes
RewriteRules arithmetic_rules();  ///< arithmetic and activations
RewriteRules sequence_rules();    ///< sequences

/// The replacement by one operator with known attributes and parameters.
Rewrite single_operator(std::vector<std::string> input_values, std::string op, graph::Attrs attrs = {},
                        std::vector<const Tensor*> params = {});
/// A rule for an operator with another name: all inputs are computed, and it has no attributes.
RewriteRule same_operator(const std::string& op);

// Rules for groups of nodes, each with the operators in which its group ends.
Result<Rewrite> silu_group(const NodeReader& node_reader);               ///< Ends in Mul.
Result<Rewrite> gelu_group(const NodeReader& node_reader);               ///< Ends in Mul.
Result<Rewrite> group_norm_group(const NodeReader& node_reader);         ///< Ends in Reshape.
Result<Rewrite> affine_group_norm_group(const NodeReader& node_reader);  ///< Ends in Add.
Result<Rewrite> linear_group(const NodeReader& node_reader);             ///< Ends in Add.
Result<Rewrite> causal_mask_group(const NodeReader& node_reader);        ///< Ends in Add.
Result<Rewrite> adaptive_pool_group(const NodeReader& node_reader);      ///< Ends in MatMul.
Result<Rewrite> affine_group(const NodeReader& node_reader);             ///< Ends in Add, Sub, Mul or Div.

/// The notice for a gelu with erf. The operator gelu has the tanh form.
inline constexpr const char* kErfNotice =
    "gelu in the form with erf: approximated by the form with tanh, up to 5e-4 away";

/// The notice for batch norms that an exporter folded into convolutions. The count precedes it.
inline constexpr const char* kFoldedNotice =
    "convolution with a folded batch-norm: export in training mode to keep it trainable";

/// The double with the shortest text of a float: 1e-5 for 1e-5F.
double shortest_double(float value);
/// A pair as attributes have it: one number if both are equal.
inline List one_or_two(std::int64_t a, std::int64_t b) { return a == b ? List{a} : List{a, b}; }
/// Whether all elements of a float tensor equal `value`.
bool all_equal(const Tensor& tensor, float value);
/// A vector with the same elements, if all dimensions but one are 1.
Result<Tensor> as_vector(const Tensor& tensor);
/// A copy with every element times `factor`.
Tensor times(Tensor tensor, double factor);
/// The replacement of a product with a constant matrix, [out, in] if `is_transposed`, else [in, out], plus an optional
/// constant vector. The factors multiply matrix and vector.
Rewrite linear_rewrite(std::string input, const Tensor& matrix, bool is_transposed, const Tensor* bias,
                       double matrix_factor = 1, double bias_factor = 1);
/// The value in another shape with the same number of elements, without the batch in `rest`. The value itself if it has
/// that shape.
Result<graph::Port> in_shape(ModelWriter& writer, graph::Port value, const List& rest);
/// The content of a BatchNormalization node.
struct BatchNorm {
  std::string input;                  ///< name of its input
  double eps = 0, momentum = 0;       ///< momentum: the share of a batch, as in operator batch_norm
  std::vector<const Tensor*> params;  ///< scale, shift, mean, variance

  /// Its attributes as lanista's operator has them.
  graph::Attrs attrs() const { return {{"eps", eps}, {"momentum", momentum}}; }
};
/// Reads a BatchNormalization node. Errors: kUnimplemented, kDataLoss.
Result<BatchNorm> batch_norm_of(const NodeReader& node_reader);
/// The dimensions of a value in the file: its fixed batch, or kUnknownBatch, comes first.
List file_dims(const ModelWriter& writer, graph::Port value);

}  // namespace lanista::formats::onnx
