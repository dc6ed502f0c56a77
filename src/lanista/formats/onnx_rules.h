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
#include "lanista/formats/onnx.h"
#include "lanista/graph/graph.h"
#include "lanista/graph/infer.h"
#include "lanista/graph/op.h"

// How from_onnx recognises nodes and what it writes for them.
namespace lanista::formats::onnx {

using List = std::vector<std::int64_t>;

/// Bytes that constants and weights may take; a file that uses one tensor often may not blow up.
struct ByteBudget {
  std::size_t left = 0;
  Result<void> spend(std::size_t bytes);
};

/// An ONNX model with its constants folded, to look things up in. Refers to the model.
class View {
 public:
  static Result<View> make(const OnnxModel& model, ByteBudget& budget);

  /// The constant of this name, or null. The budget grows with the constants of the file.
  const Tensor* constant(std::string_view name) const;
  /// The node whose first output this is, if it is one of `op`; else null.
  const OnnxNode* maker(std::string_view name, std::string_view op) const;
  /// How often nodes and the model's outputs read it.
  std::size_t uses(std::string_view name) const;
  /// The only node that reads it, if there is just one reader and that is one of `op`; else null.
  const OnnxNode* only_user(std::string_view name, std::string_view op) const;
  /// The only element of a float constant.
  std::optional<float> scalar(std::string_view name) const;

 private:
  std::map<std::string_view, const Tensor*> constants_;
  std::map<std::string_view, const OnnxNode*> makers_;
  std::multimap<std::string_view, const OnnxNode*> users_;  // null: an output of the model
  std::deque<Tensor> folded_;
};

/// One node of the view, with checked access to what it says.
class Site {
 public:
  Site(const View& view, const OnnxNode& node) : view_(view), node_(node) {}

  const View& view() const { return view_; }
  const OnnxNode& node() const { return node_; }

  /// Errors: kUnimplemented if the node has another attribute than these.
  Result<void> only(std::initializer_list<std::string_view> names) const;
  // The value of an attribute, or what it is if it is not written. Errors: kDataLoss if it is of another type.
  Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise) const;
  Result<double> real(std::string_view name, double otherwise) const;
  Result<std::string> text(std::string_view name, std::string otherwise) const;
  Result<List> list(std::string_view name, List otherwise) const;
  /// Errors: kUnimplemented unless the attribute is this number, or absent.
  Result<void> must_be(std::string_view name, std::int64_t value) const;

  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Input `i`, which must be computed from the model's input.
  Result<std::string> data(std::size_t i) const;
  /// All inputs, as data.
  Result<std::vector<std::string>> all_data() const;
  /// Input `i`, which must be a constant of float32, or of int64.
  Result<const Tensor*> weight(std::size_t i) const;
  Result<List> integers(std::size_t i) const;

 private:
  const View& view_;
  const OnnxNode& node_;
};

/// Builds the graph: every node is inferred at once, so that rules can look at shapes.
class ModelWriter {
 public:
  ModelWriter(const graph::OpTable& ops, ByteBudget& budget) : ops_(ops), budget_(budget) {}

  /// Adds a node with its parameters in the order of its definition. Errors: kInvalidArgument if it does not fit.
  Result<graph::Port> add(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs = {},
                          std::vector<Tensor> params = {});
  /// Dimensions of a value; the batch is -1.
  const List& dims(graph::Port port) const { return types_.at(port).shape.dims; }
  Result<std::pair<graph::Graph, std::vector<Tensor>>> finish() &&;

 private:
  const graph::OpTable& ops_;
  ByteBudget& budget_;
  graph::GraphBuilder builder_;
  graph::Types types_;
  std::map<std::string, Tensor> weights_;
};

/// What a node, or a group of nodes that ends in it, becomes. Empty: nothing. It refers to the view's constants.
struct Plan {
  std::vector<std::string> reads;  ///< values that are computed from the input
  std::function<Result<graph::Port>(ModelWriter&, std::span<const graph::Port>)> write;
};

/// A plan for the node; an empty one if the rule is about other nodes. Errors: the node is of the rule's kind, but says
/// something that has no counterpart.
using Rule = std::function<Result<Plan>(const Site&)>;
using Rules = std::map<std::string, std::vector<Rule>, std::less<>>;

/// For each ONNX operator the rules to try in turn: groups of nodes first.
Rules import_rules();

// Groups of nodes.
Result<Plan> silu_group(const Site& site);               ///< ends in Mul
Result<Plan> gelu_group(const Site& site);               ///< ends in Mul
Result<Plan> group_norm_group(const Site& site);         ///< ends in Reshape
Result<Plan> affine_group_norm_group(const Site& site);  ///< ends in Add
Result<Plan> linear_group(const Site& site);             ///< ends in Add
Result<Plan> adaptive_pool_group(const Site& site);      ///< ends in MatMul
Result<Plan> global_pool_group(const Site& site);        ///< ends in Flatten

/// The double of the shortest text of a float: 1e-5 for 1e-5F.
double widened(float value);
/// A pair as our attributes write it: once, if both are equal.
inline List one_or_two(std::int64_t a, std::int64_t b) { return a == b ? List{a} : List{a, b}; }
bool all_are(const Tensor& tensor, float value);
/// [out, in] from [in, out]; any rank, axes as in Transpose.
Tensor transposed(const Tensor& tensor, const List& axes);
/// A vector, if all dimensions but one are 1.
Result<Tensor> as_vector(const Tensor& tensor);
/// What Reshape makes of `dims` (-1 in front: the batch). Errors: kInvalidArgument.
Result<List> reshaped(const List& target, const List& dims);
/// A product with a constant matrix, [out, in] if `turned`, else [in, out], and perhaps a constant vector on top.
Plan linear_plan(std::string input, const Tensor& matrix, bool turned, const Tensor* bias);

}  // namespace lanista::formats::onnx
