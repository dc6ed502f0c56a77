#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::graph {

/// The source of an attribute's value.
enum class AttrRole {
  kStatic,   ///< set by the author of the model, fixed afterwards
  kTunable,  ///< mutators may change it
  kDerived,  ///< follows from the inputs (input channels, features); never stored, only in shape tables
};

/// Definition of one attribute of an operator: type, default and range.
struct AttrSpec {
  std::string name;                   ///< Letters, digits and underscores.
  AttrRole role = AttrRole::kStatic;  ///< Source of the value.
  AttrValue default_value;            ///< Its alternative of the variant is the type of the attribute.
  bool required = false;              ///< The attribute has no default and must be set.
  std::int64_t min = 0;               ///< Lower bound of integers and of the elements of integer lists.
  std::vector<std::string> allowed;   ///< Possible values of a string; empty: any string.
  std::string help;                   ///< One sentence for users.
  bool per_lane = false;              ///< Each lane of a program may have its own number (p of dropout).
};

/// Initial values of a parameter or buffer.
enum class Init {
  kZeros,         ///< all 0
  kOnes,          ///< all 1
  kUniformFanIn,  ///< uniform in [-1, 1] / sqrt(fan_in)
  kNormal,        ///< normal around 0 with standard deviation `ParamSpec::deviation`
  kSinusoid,      ///< a table [positions, features] of sine waves (Vaswani et al. 2017, section 3.5)
};

/// Definition of one tensor of an operator: a trained parameter, or a buffer that is stored but not trained.
struct ParamSpec {
  std::string name;          ///< "weight", "bias", "running_mean"
  Shape shape;               ///< without batch, in PyTorch order: linear [out, in], conv [out, in/groups, kh, kw]
  bool trained = true;       ///< parameter; false: buffer
  Init init = Init::kZeros;  ///< initial values
  std::int64_t fan_in = 0;   ///< inputs of one output element, for kUniformFanIn
  double deviation = 1;      ///< standard deviation, for kNormal
};

/// Arithmetic and memory traffic for one sample.
struct Cost {
  double flops = 0;  ///< multiplications plus additions; a fused multiply-add counts as two
  double bytes = 0;  ///< activations and parameters, each read or written once
  Cost& operator+=(const Cost& o) {
    flops += o.flops;
    bytes += o.bytes;
    return *this;
  }
};

/// The arguments of the rules of an operator: the types of the data inputs, and the attributes of one node.
///
/// Each accessor returns the attribute of the node, or its default. A wrong type is a bug of the caller, because
/// `check_node` runs before the rules.
struct OpArgs {
  std::span<const ValueType> inputs;  ///< types of the data inputs
  const Attrs& attrs;                 ///< attributes that the node sets
  const struct OpDef& def;            ///< definition of the operator

  /// The value of an integer attribute.
  std::int64_t integer(std::string_view name) const;
  /// The value of a real attribute. An integer is converted.
  double real(std::string_view name) const;
  /// The value of a boolean attribute.
  bool flag(std::string_view name) const;
  /// The value of a string attribute.
  const std::string& text(std::string_view name) const;
  /// The value of an attribute that is a list of integers.
  const std::vector<std::int64_t>& list(std::string_view name) const;
  /// The first and last element of a list of one or two integers; [3] gives {3, 3}.
  std::pair<std::int64_t, std::int64_t> pair(std::string_view name) const;
};

/// A node of a step graph to which a rule of its operator is applied. All ports are ports of the step graph.
struct StepNode {
  OpArgs args;                        ///< input types and attributes
  NodeId origin;                      ///< the node of the model from which this node comes
  std::span<const Port> inputs;       ///< data inputs, then parameters and buffers
  std::span<const ParamSpec> params;  ///< definitions of the inputs after the data inputs
};

/// Gives an operator's rule access to one node, and emits nodes of the step graph for it.
///
/// A decomposition rule emits the parts of the node. A gradient rule emits the nodes that compute its gradient.
class StepContext {
 public:
  virtual ~StepContext() = default;
  /// The input types and attributes of the node.
  const OpArgs& args() const { return node_.args; }
  /// The node of the model from which this node comes.
  NodeId origin() const { return node_.origin; }
  Port input(std::size_t i) const;          ///< the i-th data input of the node
  Port param(std::string_view name) const;  ///< a parameter or buffer of the node
  /// Adds a node to the step graph and returns its output 0.
  virtual Port emit(std::string op, std::vector<Port> inputs, Attrs attrs = {}) = 0;

 protected:
  explicit StepContext(const StepNode& node) : node_(node) {}
  /// The input slot of a parameter. A name that the operator lacks is a bug.
  std::size_t param_input(std::string_view name) const;
  const StepNode& node() const { return node_; }

 private:
  StepNode node_;
};

/// Receives the gradients of one node of the forward pass from its operator's gradient rule.
class GradientContext : public StepContext {
 public:
  /// An output of the node, as the forward pass computed it.
  Port output(std::size_t slot = 0) const { return {id_, static_cast<std::uint32_t>(slot)}; }
  /// The gradient of the loss with respect to output 0.
  Port grad() const { return gradient_; }
  /// Whether a trained parameter upstream needs the gradient of a data input. The rule may skip it otherwise.
  bool needs_grad(std::size_t input) const { return needs_gradient(StepContext::input(input)); }
  /// Sets the gradient of the i-th data input; at most one call for each input.
  void set_input_grad(std::size_t i, Port gradient);
  /// Sets the gradient of a trained parameter; at most one call for each parameter.
  void set_param_grad(std::string_view name, Port gradient);

 protected:
  GradientContext(const StepNode& node, NodeId id, Port gradient) : StepContext(node), id_(id), gradient_(gradient) {}

 private:
  /// Whether a trained parameter contributes to `value`.
  virtual bool needs_gradient(Port value) const = 0;
  /// Adds a summand to the gradient of the value at an input, be it data or a parameter.
  virtual void add_gradient(std::size_t input, Port gradient) = 0;

  NodeId id_;
  Port gradient_;
};

/// The kind of graph in which an operator may occur.
enum class OpLevel {
  kModel,  ///< model graphs and step graphs
  kStep,   ///< only derived step graphs
};

/// The role of an operator's nodes in a graph.
enum class OpRole {
  kCompute,  ///< computes outputs from inputs
  kSource,   ///< names a value from outside the graph: the batch, a state tensor
  kCommit,   ///< writes a state tensor at the end of a step
};

/// The family of an operator, by which mutators select nodes. Mutators leave nodes of kOther unchanged.
enum class OpFamily { kOther, kLayer, kNorm, kActivation, kPool, kJoin };

/// How the sizes of an operator's input reach its output. Mutators that change a layer width read it.
enum class SizeFlow {
  kUnknown,   ///< only shape inference gives the output sizes
  kAny,       ///< the operator accepts any sizes and keeps them
  kChannels,  ///< the operator accepts images with any number of channels and keeps that number
};

/// The definition of an operator: attributes, shapes, parameters, cost and gradient.
///
/// Users may add their own definitions to an `OpTable`.
struct OpDef {
  std::string name;                         ///< Identifier in the text form.
  std::string help;                         ///< One sentence for users.
  OpLevel level = OpLevel::kModel;          ///< Kind of graph in which it may occur.
  OpRole role = OpRole::kCompute;           ///< Role of its nodes.
  OpFamily family = OpFamily::kOther;       ///< Family for mutators.
  SizeFlow size_flow = SizeFlow::kUnknown;  ///< How input sizes reach the output.
  int min_inputs = 1;                       ///< Least number of data inputs.
  int max_inputs = 1;                       ///< Largest number of data inputs; -1: no limit.
  bool commutative = false;                 ///< The order of inputs does not matter.
  bool random = false;                      ///< Its train form samples counter-based masks.
  /// In inference with one input, output 0 has the elements of the input in the same row-major order. A program then
  /// needs no computation if the values are contiguous in memory.
  bool is_view = false;
  std::vector<AttrSpec> attrs;  ///< attributes, in order of declaration

  /// Returns the types of all outputs. The inputs and attributes have passed `check_node`.
  /// Errors: kInvalidArgument with the shape that does not fit.
  std::function<Result<std::vector<ValueType>>(const OpArgs&)> infer;
  /// Returns the parameters and buffers. Empty: the operator has none.
  std::function<std::vector<ParamSpec>(const OpArgs&)> params;
  /// Returns the cost of the forward computation. Empty: only the traffic of inputs and outputs.
  std::function<Cost(const OpArgs&)> cost;
  /// Name of the operator that replaces this one in training; empty: none. It has the same inputs, attributes and
  /// output 0. Its further outputs are values for the gradient rule. Inference runs the operator itself.
  std::string train_form;
  /// Emits the parts of the operator and returns the port of the result. If set, every step graph has the parts
  /// instead of the operator.
  std::function<Port(StepContext&)> decompose;
  /// Sets the gradients of inputs and parameters. Empty: no gradient flows through the operator.
  std::function<void(GradientContext&)> gradient;
  /// Buffers that a training step updates: the buffer name, and the output slot of the train form with the new value.
  std::vector<std::pair<std::string, std::uint32_t>> buffer_updates;
  /// Step operators that only the gradient rule of this operator emits. They enter the step table together with it.
  std::vector<OpDef> step_ops;
};

/// A table of operator definitions by name. It is a value: copies are independent.
class OpTable {
 public:
  /// Adds a definition. Errors: kAlreadyExists; kInvalidArgument for a definition that cannot work.
  ///
  /// Refused are a name that is no identifier, a missing inference rule, contradictory input counts, an attribute that
  /// is declared twice, and parameters together with a variable number of inputs.
  Result<void> add(OpDef def);
  /// The definition of an operator, or null if the table lacks it. The pointer is valid as long as the table.
  const OpDef* find(std::string_view name) const;
  /// The known name with the smallest edit distance, for error messages; empty if no name is near.
  std::string nearest(std::string_view name) const;
  /// The names of all operators, sorted.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, OpDef, std::less<>> defs_;
};

/// The table of all built-in operators of model graphs.
OpTable builtin_ops();

/// The number of data inputs of a node, which come first among its inputs.
///
/// In a model graph all inputs are data. In a step graph the parameters and buffers of the operator follow the data.
std::size_t num_data_inputs(const Node& node, const OpDef& def);

/// Checks the number of data inputs and the attributes of one node against its operator's definition.
///
/// It accepts any number of inputs after the data inputs if the operator has parameters; `infer_shapes` counts them.
/// Errors: kInvalidArgument; kNotFound for an unknown operator, with the nearest name.
Result<void> check_node(const Node& node, const OpTable& ops);
/// Checks one node against `def`, which the caller has found in `ops`. A null `def` is an unknown operator.
/// Errors as for the other form of `check_node`.
Result<void> check_node(const Node& node, const OpDef* def, const OpTable& ops);

}  // namespace lanista::graph
