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

// How from_onnx recognises nodes and what it writes for them.
namespace lanista::formats::onnx {

/// Largest side, window or padding that rules compute with; products of a few stay inside 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;

/// An ONNX model with its constants folded, to look things up in. Refers to the model.
class OnnxView {
 public:
  static Result<OnnxView> make(const OnnxModel& model, ByteBudget& budget);

  std::int64_t opset() const { return opset_; }
  /// From here on rules look no further back than to this value.
  void set_source(std::string_view name) { producers_.erase(name); }
  /// The constant of this name, or null. The budget grows with the constants of the file.
  const Tensor* constant(std::string_view name) const;
  /// The node whose first output this is, or null.
  const OnnxNode* producer(std::string_view name) const;
  /// The same if it is one of `op`.
  const OnnxNode* producer(std::string_view name, std::string_view op) const;
  /// How often nodes and the model's outputs read it.
  std::size_t num_uses(std::string_view name) const;
  /// The only node that reads it, if there is just one reader and that is one of `op`; else null.
  const OnnxNode* sole_consumer(std::string_view name, std::string_view op) const;
  /// A node of `op` that reads it, or null.
  const OnnxNode* consumer(std::string_view name, std::string_view op) const;
  /// The only element of a float constant.
  std::optional<float> scalar(std::string_view name) const;

 private:
  Result<void> add_constant(const OnnxNode& node, ByteBudget& budget);

  std::int64_t opset_ = 0;
  std::map<std::string_view, const Tensor*> constants_;
  std::map<std::string_view, const OnnxNode*> producers_;
  std::multimap<std::string_view, const OnnxNode*> consumers_;  // null: an output of the model
  std::deque<Tensor> folded_;
};

/// Integers that a node wants to know; they may depend on the shapes of computed values.
struct ShapeIntegers {
  std::vector<std::string> shapes_of;  ///< the values
  /// The integers, from the dimensions of those values; kUnknownBatch stands for a batch that the file does not fix.
  std::function<Result<List>(std::span<const List> dims)> value;
};

/// One node of the view, with checked access to what it says.
class NodeReader {
 public:
  NodeReader(const OnnxView& view, const OnnxNode& node, std::size_t output = 0) : view_(view), node_(node), output_(output) {}

  const OnnxView& view() const { return view_; }
  const OnnxNode& node() const { return node_; }
  /// Which of its outputs is asked for.
  std::size_t output() const { return output_; }

  /// Errors: kUnimplemented if the node has another attribute than these.
  Result<void> allow_attributes(std::initializer_list<std::string_view> names) const;
  // The value of an attribute, or what it is if it is not written. Errors: kDataLoss if it is of another type.
  Result<std::int64_t> integer(std::string_view name, std::int64_t default_value) const;
  Result<double> real(std::string_view name, double default_value) const;
  Result<std::string> text(std::string_view name, std::string default_value) const;
  Result<List> list(std::string_view name, List default_value) const;
  /// Errors: kUnimplemented unless the attribute is this number, or absent.
  Result<void> require_value(std::string_view name, std::int64_t value) const;

  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Input `i`, which must be computed from the model's input.
  Result<std::string> computed_input(std::size_t i) const;
  /// All inputs, as data.
  Result<std::vector<std::string>> computed_inputs() const;
  /// Input `i`, which must be a constant of float32, or of integers.
  Result<const Tensor*> weight(std::size_t i) const;
  Result<List> integers(std::size_t i) const;
  /// Integers of an attribute, where old opsets have them, else of input `i`; nothing if neither is there.
  Result<std::optional<List>> integers(std::string_view attribute, std::size_t i) const;
  /// Integers of input `i`, a constant or made of shapes.
  Result<ShapeIntegers> shape_integers(std::size_t i) const;

 private:
  const OnnxView& view_;
  const OnnxNode& node_;
  std::size_t output_ = 0;
};

/// Builds the graph: every node is inferred at once, so that rules can look at shapes.
class ModelWriter {
 public:
  /// `batch` is the size that the file fixes for it, or -1.
  ModelWriter(const graph::OpTable& ops, ByteBudget& budget, std::int64_t batch)
      : ops_(ops), budget_(budget), batch_(batch) {}

  std::int64_t batch() const { return batch_; }

  /// Adds a node with its parameters in the order of its definition. Errors: kInvalidArgument if it does not fit.
  Result<graph::Port> add(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs = {},
                          std::vector<Tensor> params = {});
  /// Errors: kResourceExhausted if float weights of this shape would be too large.
  Result<void> check_budget(const List& shape) const;
  const graph::Node& node(graph::Port port) const { return builder_.peek().node(port.node); }
  /// Dimensions of a value; the batch is -1.
  const List& dims(graph::Port port) const { return types_.at(port).shape.dims; }
  /// The graph without what its output does not need, and its weights.
  Result<std::pair<graph::Graph, std::vector<Tensor>>> finish() &&;

 private:
  const graph::OpTable& ops_;
  ByteBudget& budget_;
  std::int64_t batch_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<std::pair<graph::NodeId, std::string>, Tensor> weights_;
};

/// What a node, or a group of nodes that ends in it, becomes. Empty: nothing. It refers to the view's constants.
struct Rewrite {
  std::vector<std::string> input_values;  ///< values that are computed from the input
  std::function<Result<graph::Port>(ModelWriter&, std::span<const graph::Port>)> emit;
  std::string notice = {};  ///< something that the user should know: a kind of things, counted over the model
};

/// A plan for the node; an empty one if the rule is about other nodes. Errors: the node is of the rule's kind, but says
/// something that has no counterpart.
using RewriteRule = std::function<Result<Rewrite>(const NodeReader&)>;
using RewriteRules = std::map<std::string, std::vector<RewriteRule>, std::less<>>;

/// For each ONNX operator the rules to try in turn: groups of nodes first.
RewriteRules import_rules();
// Its parts, by theme.
RewriteRules dense_rules();
RewriteRules window_rules();
RewriteRules resize_rules();
RewriteRules norm_rules();
RewriteRules shape_rules();
RewriteRules arithmetic_rules();
RewriteRules sequence_rules();

/// One of our operators on these values, with attributes and parameters that are known by now.
Rewrite single_operator(std::vector<std::string> input_values, std::string op, graph::Attrs attrs = {},
            std::vector<const Tensor*> params = {});
/// The same operator under another name, all inputs computed, without attributes.
RewriteRule same_operator(const std::string& op);

// Groups of nodes.
Result<Rewrite> silu_group(const NodeReader& node_reader);               ///< ends in Mul
Result<Rewrite> gelu_group(const NodeReader& node_reader);               ///< ends in Mul
Result<Rewrite> group_norm_group(const NodeReader& node_reader);         ///< ends in Reshape
Result<Rewrite> affine_group_norm_group(const NodeReader& node_reader);  ///< ends in Add
Result<Rewrite> linear_group(const NodeReader& node_reader);             ///< ends in Add
Result<Rewrite> causal_mask_group(const NodeReader& node_reader);        ///< ends in Add
Result<Rewrite> adaptive_pool_group(const NodeReader& node_reader);      ///< ends in MatMul
Result<Rewrite> affine_group(const NodeReader& node_reader);             ///< ends in Add, Sub, Mul or Div: all constants in a row

/// Our gelu is the tanh form.
inline constexpr const char* kErfNotice =
    "gelu in the form with erf: approximated by the form with tanh, up to 5e-4 away";

/// The library prefixes the count.
inline constexpr const char* kFoldedNotice =
    "convolution with a folded batch-norm: export in training mode to keep it trainable";

/// The double of the shortest text of a float: 1e-5 for 1e-5F.
double shortest_double(float value);
/// A pair as our attributes write it: once, if both are equal.
inline List one_or_two(std::int64_t a, std::int64_t b) { return a == b ? List{a} : List{a, b}; }
bool all_equal(const Tensor& tensor, float value);
/// A vector, if all dimensions but one are 1.
Result<Tensor> as_vector(const Tensor& tensor);
/// A copy with every element times `factor`.
Tensor times(Tensor tensor, double factor);
/// A product with a constant matrix, [out, in] if `is_transposed`, else [in, out], and perhaps a constant vector on top; both
/// times factors.
Rewrite linear_rewrite(std::string input, const Tensor& matrix, bool is_transposed, const Tensor* bias, double matrix_factor = 1,
                 double bias_factor = 1);
/// The value in another shape of as many elements (`rest`: without the batch); itself if it has that one.
Result<graph::Port> in_shape(ModelWriter& writer, graph::Port value, const List& rest);
/// What BatchNormalization says.
struct BatchNorm {
  std::string input;
  double eps = 0, momentum = 0;       ///< the share of a batch, as in ours
  std::vector<const Tensor*> params;  ///< scale, shift, mean, variance

  graph::Attrs attrs() const { return {{"eps", eps}, {"momentum", momentum}}; }
};
Result<BatchNorm> batch_norm_of(const NodeReader& node_reader);
/// The dimensions of a value as the file sees them: its batch in front, or kUnknownBatch.
List file_dims(const ModelWriter& writer, graph::Port value);

}  // namespace lanista::formats::onnx
