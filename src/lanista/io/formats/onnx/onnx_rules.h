#pragma once

#include <array>
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
#include "lanista/io/formats/onnx/onnx_batch.h"
#include "lanista/io/formats/onnx/onnx_fold.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

// How from_onnx() recognises nodes, and what it writes for them.
namespace lanista::formats::onnx {

using graph::Attrs;
using graph::Port;
using Ports = std::span<const Port>;  ///< ports of the values that a rewrite reads

/// The largest image side, window or padding that rules accept, so that a product of three fits into 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;

/// An ONNX model with folded constants, in which rules look up values by name. It points into the model, which must
/// outlive it; pointers that it returns live as long as both.
class OnnxView {
 public:
  /// Makes a view of `model` and computes all nodes with constant inputs. `budget` first gets twice the bytes of the
  /// constants in the file, then pays for folded ones. Errors: those of fold_node() (kDataLoss, kUnimplemented,
  /// kResourceExhausted), with the node.
  static Result<OnnxView> make(const OnnxModel& model, ByteBudget& budget);

  std::int64_t opset() const { return opset_; }  ///< version of the operator set
  /// Folds a node of constants and of values that were computed from shapes, such as a Reshape of a shape. The batch is
  /// then a prime number, and the node is computed for two of them; results that do not differ are constants. Does
  /// nothing if another input is computed.
  void fold(const OnnxNode& node);
  /// Folds a node Shape of a value with these dimensions (file_dims()).
  void fold_shape(const OnnxNode& node, const List& dims);
  /// True means that the value `name` is constant, or folded for two batches.
  bool is_folded(std::string_view name) const { return constants_.contains(name) || probes_.contains(name); }
  /// Remembers why the value `name`, which may be the integers of another node, is not computed.
  void set_failure(std::string_view name, Error error) { failures_.emplace(name, std::move(error)); }
  /// The integers of the value `name`, as NodeReader::shape_integers() returns them.
  Result<List> integers(std::string_view name) const;
  /// The shape of the integers 0, 1, 2 and so on that the value `name` is for every batch, in the form of file_dims().
  /// None for other values. Exporters write views of memory as Gather at such indices.
  std::optional<List> counting_shape(std::string_view name) const;
  /// Number of constants of the file that were double and have another value in float32.
  int rounded_constants() const { return rounded_; }
  /// Treats the value `name` as an input of the model: producer() returns null for it from now on.
  void set_source(std::string_view name) {
    producers_.erase(name);
    source_ = name;
  }
  /// The value of set_source(), which is the input of the model after its normalisation.
  const std::string& source() const { return source_; }
  /// The constant value `name`, from the file or folded; null if the value is computed or unknown.
  const Tensor* constant(std::string_view name) const;
  /// The node of which the first output is `name`; null if there is none.
  const OnnxNode* producer(std::string_view name) const;
  /// The node of which the first output is `name`, if its operator is `op`; else null.
  const OnnxNode* producer(std::string_view name, std::string_view op) const;
  /// Number of inputs of nodes and outputs of the model that read the value.
  std::size_t num_uses(std::string_view name) const;
  /// The node that reads the value, if nothing else reads it and the operator is `op`; else null.
  const OnnxNode* sole_consumer(std::string_view name, std::string_view op) const;
  /// The first node of operator `op` that reads the value; null if there is none.
  const OnnxNode* consumer(std::string_view name, std::string_view op) const;
  /// The element of the constant `name`; none unless it is float32 with one element.
  std::optional<float> scalar(std::string_view name) const;

 private:
  using Probes = std::array<Tensor, 2>;  ///< a value for each of two batch sizes

  Result<void> add_constant(const OnnxNode& node, ByteBudget& budget);
  Result<const Tensor*> in_single(const Tensor& tensor, ByteBudget& budget);
  void keep(const std::string& name, Probes probes);

  std::int64_t opset_ = 0;
  int rounded_ = 0;
  std::string source_;
  std::map<std::string_view, const Tensor*> constants_;
  std::map<std::string_view, const OnnxNode*> producers_;
  std::multimap<std::string_view, const OnnxNode*> consumers_;  // null: an output of the model
  std::deque<Tensor> folded_;
  std::map<std::string_view, Probes> probes_;  // of values that depend on the batch
  std::map<std::string_view, Error> failures_;
  ByteBudget probe_budget_;
};

/// Checked access to attributes and inputs of one node of an OnnxView. Inputs are counted from 0. Errors have an empty
/// `where`, which the caller sets.
class NodeReader {
 public:
  /// A reader of `node` for a rule that computes its output number `output` (from 0). Both references must outlive it.
  NodeReader(const OnnxView& view, const OnnxNode& node, std::size_t output = 0)
      : view_(view), node_(node), output_(output) {}

  const OnnxView& view() const { return view_; }  ///< view of the model
  const OnnxNode& node() const { return node_; }  ///< the node
  /// The index (from 0) of the node's output that the rule computes.
  std::size_t output() const { return output_; }

  /// Checks that the node has no other attributes than `names`. Errors: kUnimplemented (it has another one).
  Result<void> allow_attributes(std::initializer_list<std::string_view> names) const;
  /// The integer attribute `name`, or the default value if it is absent. Errors: kDataLoss (another type).
  Result<std::int64_t> integer(std::string_view name, std::int64_t default_value) const;
  /// The real attribute `name`, or the default value if it is absent. Errors: kDataLoss (another type).
  Result<double> real(std::string_view name, double default_value) const;
  /// The text attribute `name`, or the default value if it is absent. Errors: kDataLoss (another type).
  Result<std::string> text(std::string_view name, std::string default_value) const;
  /// The attribute `name`, a list of integers, or the default value if it is absent. Errors: kDataLoss (another type).
  Result<List> list(std::string_view name, List default_value) const;
  /// Checks that the attribute is `value` or absent. Errors: kUnimplemented (another value), kDataLoss (another type).
  Result<void> require_value(std::string_view name, std::int64_t value) const;

  /// True means that input `i` is not absent.
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// The name of the computed value that is input `i`. Errors: kDataLoss (absent), kUnimplemented (a constant).
  Result<std::string> computed_input(std::size_t i) const;
  /// The names of the computed values that are the inputs, in order. Errors: as computed_input() (kDataLoss,
  /// kUnimplemented).
  Result<std::vector<std::string>> computed_inputs() const;
  /// The float32 constant that is input `i`, never null. Errors: kDataLoss (absent), kUnimplemented (computed, or
  /// another type).
  Result<const Tensor*> weight(std::size_t i) const;
  /// The integers of the constant that is input `i`. Errors: kDataLoss (absent, no integers, or several dimensions),
  /// kUnimplemented (computed).
  Result<List> integers(std::size_t i) const;
  /// The integers of the attribute, as in old opsets, else of input `i`; none if both are absent. Errors: kDataLoss (no
  /// list of integers), kUnimplemented (input `i` is computed).
  Result<std::optional<List>> integers(std::string_view attribute, std::size_t i) const;
  /// The integers of input `i`, which is a constant or computed from shapes. Multiples of an unknown batch are
  /// batch_times(). Errors: kDataLoss, kUnimplemented (neither).
  Result<List> shape_integers(std::size_t i) const;
  /// The integers of the attribute, as in old opsets, else those of shape_integers(i); none if both are absent. Errors:
  /// kDataLoss (no list of integers), kUnimplemented (neither constant nor computed from shapes).
  Result<std::optional<List>> shape_integers(std::string_view attribute, std::size_t i) const;

 private:
  const OnnxView& view_;
  const OnnxNode& node_;
  std::size_t output_ = 0;
};

/// Builds the graph of the imported model. It infers shapes when a node is added, so that rules can read them.
class ModelWriter {
 public:
  /// `batch` is the batch size that the file fixes, or -1 if it fixes none. `ops` and `budget` must outlive the writer.
  ModelWriter(const graph::OpTable& ops, ByteBudget& budget, std::int64_t batch)
      : ops_(ops), budget_(budget), batch_(batch) {}

  std::int64_t batch() const { return batch_; }  ///< the fixed batch size, or -1

  /// Adds a node and returns its first output. `params` are its parameters and buffers in the order of its definition.
  /// Errors: kInvalidArgument (shapes of inputs do not fit), kDataLoss (number or shapes of `params`),
  /// kResourceExhausted.
  Result<Port> add(const std::string& op, std::vector<Port> inputs, Attrs attrs = {}, std::vector<Tensor> params = {});
  /// Checks that the budget has enough bytes for float32 weights of this shape, without a charge. Errors:
  /// kResourceExhausted.
  Result<void> check_budget(const List& shape) const;
  /// The node of which `port` is an output.
  const graph::Node& node(Port port) const { return builder_.peek().node(port.node); }
  /// Dimensions of a value; the batch is -1.
  const List& dims(Port port) const { return types_.at(port).shape.dims; }
  /// The graph, without nodes that its output does not need, and its weights in the order of graph::parameters().
  /// Errors: those of graph::verify() (kNotFound, kInvalidArgument).
  Result<std::pair<graph::Graph, std::vector<Tensor>>> finish() &&;

 private:
  const graph::OpTable& ops_;
  ByteBudget& budget_;
  std::int64_t batch_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<std::pair<graph::NodeId, std::string>, Tensor> weights_;
};

/// The replacement, in lanista's operators, of an ONNX node or of a group of nodes that ends in it. It points to
/// constants of the view.
struct Rewrite {
  std::vector<std::string> input_values;  ///< names of the computed values that the replacement reads
  /// Writes the operators, given the ports of `input_values`, and returns the port of the result. Empty: the rule does
  /// not apply.
  std::function<Result<Port>(ModelWriter&, Ports)> emit;
  std::string notice = {};  ///< text for the user, or empty; equal ones are counted
  /// True: each element depends on the same elements of the inputs, so that the batch may be anywhere. False: `emit`
  /// needs inputs with the batch in front.
  bool elementwise = false;
  /// Replaces `emit` in rules that know where the batch is.
  std::function<Result<PlacedPort>(ModelWriter&, std::span<const PlacedPort>)> emit_placed = {};

  bool applies() const { return emit || emit_placed; }  ///< whether the rule fits
};
using PlacedPorts = std::span<const PlacedPort>;  ///< values that a rewrite reads, with the places of their batches
/// A rewrite with `emit_placed`, which reads these values.
inline Rewrite placed_rewrite(std::vector<std::string> input_values,
                              std::function<Result<PlacedPort>(ModelWriter&, PlacedPorts)> emit) {
  return {.input_values = std::move(input_values), .emit = {}, .emit_placed = std::move(emit)};
}
using RewriteResult = Result<Rewrite>;  ///< a rewrite, or why lanista lacks the operator

/// Returns the replacement of a node; one that does not apply() means that the rule does not apply. It returns an error
/// if the rule applies, but lanista has no such operator.
using RewriteRule = std::function<RewriteResult(const NodeReader&)>;
/// Rules by the name of the ONNX operator of the node, in the order in which they are tried.
using RewriteRules = std::map<std::string, std::vector<RewriteRule>, std::less<>>;

/// All rules of from_onnx(). For each ONNX operator, rules for groups of nodes come first.
RewriteRules import_rules();
/// The rules that import products with matrices.
RewriteRules dense_rules();
/// The rules that import convolutions and pools.
RewriteRules window_rules();
/// The rules that import values which are joined or repeated.
RewriteRules join_rules();
/// The rules that import pads.
RewriteRules pad_rules();
/// The rules that import the resizing of images.
RewriteRules resize_rules();
/// The rules that import normalisation layers.
RewriteRules norm_rules();
/// The rules that import operators on shapes, such as Reshape.
RewriteRules shape_rules();
/// The rules that import arithmetic and activations.
RewriteRules arithmetic_rules();
/// The rules that import activations which are composed of others, and powers.
RewriteRules activation_rules();
/// The rules that import means, sums and maxima over dimensions.
RewriteRules reduce_rules();
/// The rules that import operators on token sequences, such as the look-up of embeddings by Gather.
RewriteRules sequence_rules();

/// The replacement by one operator `op` with these attributes and copies of `params`, which reads `input_values`.
Rewrite single_operator(std::vector<std::string> input_values, std::string op, Attrs attrs = {},
                        std::vector<const Tensor*> params = {});
/// The rewrite, which computes each element from the same elements of its inputs.
Rewrite elementwise(Rewrite rewrite);
/// A rule that replaces a node by the element-wise operator `op` with the same inputs. All must be computed, and there
/// must be no attributes.
RewriteRule same_operator(const std::string& op);

// A rule for a group of nodes is called with the last node of the group.

/// A RewriteRule, called for each Add, Mul and Div: imports a layer norm that is written with means and a root, as
/// before opset 17, with or without scale and shift. Other nodes: an empty Rewrite.
RewriteResult layer_norm_group(const NodeReader& node_reader);
/// A RewriteRule, called for each Mul: imports Sign(x) * Relu(Abs(x)) as x. Other nodes: an empty Rewrite.
RewriteResult signed_size_group(const NodeReader& node_reader);
/// A RewriteRule, called for each Div: imports a constant divided by a value. Other nodes: an empty Rewrite.
RewriteResult constant_quotient(const NodeReader& node_reader);
/// A RewriteRule, called for each Mul: imports x * Sigmoid(x) as the operator silu. Other nodes: an empty Rewrite.
RewriteResult silu_group(const NodeReader& node_reader);
/// A GELU that is written with Erf or Tanh.
struct Gelu {
  std::string input;    ///< the value that it is of
  bool by_erf = false;  ///< true: exact, with Erf; false: the approximation with Tanh
};
/// The GELU of which `node` is the last product; none for another node.
std::optional<Gelu> gelu_of(const OnnxView& view, const OnnxNode& node);
/// A RewriteRule, called for each Mul: imports a GELU written with Erf or Tanh as the operator gelu. Other
/// nodes: an empty Rewrite.
RewriteResult gelu_group(const NodeReader& node_reader);
/// The rule that imports Reshape, InstanceNormalization, Reshape as the operator group_norm without scale and shift.
RewriteResult group_norm_group(const NodeReader& node_reader);
/// The rule that imports the group of group_norm_group() with a scale (Mul) and a shift (Add) as one group_norm.
RewriteResult affine_group_norm_group(const NodeReader& node_reader);
/// The rule that imports MatMul by a constant matrix and Add of a constant bias as the operator linear.
RewriteResult linear_group(const NodeReader& node_reader);
/// The rule that imports Gather from a constant table as the operator embedding.
RewriteResult embedding_gather(const NodeReader& node_reader);
/// The rule that imports Where, which replaces the NaN of a softmax over masked rows, as the softmax.
RewriteResult guarded_softmax(const NodeReader& node_reader);
/// The rule that imports Where of comparisons with constants, as exporters write relu and Softshrink.
RewriteResult piecewise_group(const NodeReader& node_reader);
/// The rule that imports Add of a constant mask with minus infinity above the diagonal as the operator causal_mask.
RewriteResult causal_mask_group(const NodeReader& node_reader);
/// The rule that imports two MatMul with constant averaging matrices as the operator adaptive_avg_pool2d.
RewriteResult adaptive_pool_group(const NodeReader& node_reader);
/// The rule that imports a chain of Add, Sum, Sub, Mul or Div with constants, which ends in one of them. It becomes
/// scale_by, positional_embedding, depthwise_conv2d, or a part of the batch_norm before it.
RewriteResult affine_group(const NodeReader& node_reader);

/// The value times a constant that broadcasts to it. Errors: kUnimplemented (it differs along the batch).
Result<PlacedPort> placed_times(ModelWriter& writer, const PlacedPort& value, const Tensor& constant);
/// The value with each channel (dimension 1) times its trained factor. Precondition: there is a factor for each.
Result<Port> channels_times(ModelWriter& writer, Port value, const std::vector<float>& factors);

/// The notice for batch norms that an exporter folded into convolutions. The count precedes it.
inline constexpr const char* kFoldedNotice =
    "convolution with a folded batch-norm: export in training mode, or without constant folding, to keep it trainable";

/// The double with the same shortest decimal text as a float: 1e-5 for 1e-5F.
double shortest_double(float value);
/// {a, b} as an attribute of lanista: one number if both are equal, else two.
inline List one_or_two(std::int64_t a, std::int64_t b) { return a == b ? List{a} : List{a, b}; }
/// True means that all elements of a float32 tensor equal `value`; true for an empty one.
bool all_equal(const Tensor& tensor, float value);
/// A copy with one dimension and the same elements. Errors: kUnimplemented (two dimensions are not 1).
Result<Tensor> as_vector(const Tensor& tensor);
/// A copy of a float32 tensor with every element times `factor`, in double arithmetic.
Tensor times(Tensor tensor, double factor);
/// The value times a constant matrix, [out, in] if `is_transposed`, else [in, out], plus the constant vector `bias`
/// (null: none). Matrix and vector are multiplied by their factors. Errors: kUnimplemented (the batch is the last
/// dimension, or the constants are no matrix and no vector); those of ModelWriter::add().
Result<PlacedPort> placed_linear(ModelWriter& writer, const PlacedPort& value, const Tensor& matrix, bool is_transposed,
                                 const Tensor* bias, double matrix_factor = 1, double bias_factor = 1);
/// The replacement of an input by placed_linear() of it. The constants must outlive the rewrite.
Rewrite linear_rewrite(std::string input, const Tensor& matrix, bool is_transposed, const Tensor* bias);
/// The port of `value` in the shape [batch, rest…] with the same number of elements. If the value has another shape, it
/// adds reshape or flatten, after the value before other reshapes. An adaptive_avg_pool2d to [C] becomes
/// global_avg_pool. Errors: those of ModelWriter::add().
Result<Port> in_shape(ModelWriter& writer, Port value, const List& rest);
/// The value normalised over its last `axes` dimensions, with scale and shift (null: none). Errors: kUnimplemented (a
/// scale or shift of another shape), those of ModelWriter::add().
Result<Port> normalised_rows(ModelWriter& writer, Port value, std::size_t axes, double eps, const Tensor* scale,
                             const Tensor* shift);
/// The attributes and parameters of an ONNX node BatchNormalization.
struct BatchNorm {
  std::string input;                  ///< name of the value that it reads
  double eps = 0, momentum = 0;       ///< momentum: weight of the new batch, as in operator batch_norm
  std::vector<const Tensor*> params;  ///< scale, shift, mean, variance

  /// The attributes of lanista's operator batch_norm.
  Attrs attrs() const { return {{"eps", eps}, {"momentum", momentum}}; }
};
/// Reads a node BatchNormalization, in training mode too. Errors: kUnimplemented (another attribute or a computed
/// parameter), kDataLoss (an absent input, or an attribute of the wrong type).
Result<BatchNorm> batch_norm_of(const NodeReader& node_reader);

}  // namespace lanista::formats::onnx
