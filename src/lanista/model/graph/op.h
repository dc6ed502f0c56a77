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

/// Where the value of an attribute comes from, and whether mutators may change it.
enum class AttrRole {
  kStatic,   ///< set by the author of the model; only a mutator that names the attribute changes it
  kTunable,  ///< mutators may change it
  kDerived,  ///< follows from the inputs (input channels, features); never stored, only in shape tables
};

/// The definition of one attribute of an operator: type, default and range.
struct AttrSpec {
  std::string name;                   ///< Letters, digits and underscores.
  AttrRole role = AttrRole::kStatic;  ///< Origin of the value.
  AttrValue default_value;            ///< Its alternative of the variant is the type of the attribute.
  bool required = false;              ///< True: the attribute must be set; only the type of `default_value` counts.
  std::int64_t min = 0;  ///< Inclusive lower bound of integers and list elements; the upper one is kMaxAttrInteger.
  std::vector<std::string> allowed;  ///< Possible values of a string; empty: any string.
  std::string help;                  ///< One sentence for users.
  bool per_lane = false;             ///< True: each lane of a program may have another value (p of dropout).
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
  Shape shape;               ///< without batch: linear [out, in], conv2d [out, in / groups, kh, kw]
  bool trained = true;       ///< true: trained parameter; false: buffer
  Init init = Init::kZeros;  ///< initial values
  std::int64_t fan_in = 0;   ///< input elements of one output element, for kUniformFanIn
  double deviation = 1;      ///< standard deviation, for kNormal
};

/// FLOPs and memory traffic of the forward pass for one sample.
struct Cost {
  double flops = 0;  ///< FLOPs; a fused multiply-add counts as two
  double bytes = 0;  ///< bytes of inputs, outputs and parameters, each read or written once
  Cost& operator+=(const Cost& o) {
    flops += o.flops;
    bytes += o.bytes;
    return *this;
  }
};

/// The arguments of the rules of an operator: the types of the data inputs, and the attributes of one node.
///
/// Each accessor returns the attribute of the node, or its default if the node does not set it. An unknown name or
/// another type is a bug of the caller, because `check_node` runs before the rules. References live as long as the node
/// and `def`.
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
  /// The first and last element of a list of one or two integers; [3] gives {3, 3}. A list of another length is a bug.
  std::pair<std::int64_t, std::int64_t> pair(std::string_view name) const;
};

/// A node of a step graph to which a rule of its operator is applied. All ports are ports of the step graph.
struct StepNode {
  OpArgs args;                        ///< input types and attributes
  NodeId origin;                      ///< node of the model for which this node was added
  std::span<const Port> inputs;       ///< values that the node reads: data inputs, then parameters and buffers
  std::span<const ParamSpec> params;  ///< one for each parameter and buffer in `inputs`, in the same order
};

/// Gives an operator's rule access to one node, and emits nodes of the step graph for it.
///
/// A decomposition rule emits the parts of the node. A gradient rule emits the nodes that compute its gradient.
class StepContext {
 public:
  virtual ~StepContext() = default;
  /// The input types and attributes of the node.
  const OpArgs& args() const { return node_.args; }
  /// The node of the model for which this node was added.
  NodeId origin() const { return node_.origin; }
  Port input(std::size_t i) const;          ///< the value at data input `i`, counted from 0
  Port param(std::string_view name) const;  ///< the value of a parameter or buffer; an unknown name is a bug
  /// Adds a node to the step graph and returns its output 0.
  virtual Port emit(std::string op, std::vector<Port> inputs, Attrs attrs = {}) = 0;

 protected:
  explicit StepContext(const StepNode& node) : node_(node) {}
  /// The index in the inputs of the node at which a parameter is read. A name that the operator lacks is a bug.
  std::size_t param_input(std::string_view name) const;
  const StepNode& node() const { return node_; }

 private:
  StepNode node_;
};

/// Gives a gradient rule access to one node of the forward pass, and receives the gradients that the rule computes.
class GradientContext : public StepContext {
 public:
  /// Output number `slot` of the node, as the forward pass computed it. With a train form these are its outputs.
  Port output(std::size_t slot = 0) const { return {id_, static_cast<std::uint32_t>(slot)}; }
  /// The gradient of the loss with respect to output 0, with the type of output 0.
  Port grad() const { return gradient_; }
  /// True if a trained parameter contributes to data input `input` through nodes with gradient rules. If false, the
  /// rule need not set its gradient.
  bool needs_grad(std::size_t input) const { return needs_gradient(StepContext::input(input)); }
  /// Sets the gradient of data input `i`, with the type of that input. At most one call for each input.
  void set_input_grad(std::size_t i, Port gradient);
  /// Sets the gradient of a trained parameter, with its type. At most one call for each parameter.
  void set_param_grad(std::string_view name, Port gradient);

 protected:
  GradientContext(const StepNode& node, NodeId id, Port gradient) : StepContext(node), id_(id), gradient_(gradient) {}

 private:
  /// True if a trained parameter contributes to `value`.
  virtual bool needs_gradient(Port value) const = 0;
  /// Adds `gradient` to the gradient of the value at input number `input`, which is a data input or a parameter.
  virtual void add_gradient(std::size_t input, Port gradient) = 0;

  NodeId id_;
  Port gradient_;
};

/// The kind of graph in which an operator may occur.
enum class OpLevel {
  kModel,  ///< model graphs and step graphs
  kStep,   ///< only derived step graphs
};

/// What the nodes of an operator do in a graph.
enum class OpRole {
  kCompute,  ///< computes outputs from inputs
  kSource,   ///< names a value from outside the graph: the batch, a state tensor
  kCommit,   ///< writes a state tensor at the end of a step
};

/// The group of an operator, by which mutators without a pattern select and replace nodes. They replace and remove no
/// node of kOther, except that `remove` may remove a dropout.
enum class OpFamily { kOther, kLayer, kNorm, kActivation, kPool, kJoin };

/// How the input sizes of an operator determine the output sizes. Mutators that change the width of a layer read it.
enum class SizeFlow {
  kUnknown,   ///< only shape inference gives the output sizes
  kAny,       ///< the operator accepts any sizes and keeps them
  kChannels,  ///< the operator accepts images with any number of channels and keeps that number
};

/// How the indices along the axes of the inputs become indices of the output.
enum class UnitFlow {
  kNone,       ///< No index of an input is an index of the output.
  kAll,        ///< Every index of every axis of every input is the same index of the output.
  kChannels,   ///< The indices of dimension 1 are kept.
  kDepthwise,  ///< Channel t of the output comes from input channel t / `multiplier`.
  kConcat,     ///< The inputs are concatenated along one axis.
  kSlice,      ///< The output is a part of the input along one axis.
  kTranspose,  ///< The axes are permuted.
  kShuffle,    ///< The channels are permuted.
  kScale,      ///< The channels of input 0 are the last dimension of input 1.
  kReduced,    ///< Some axes are reduced, the others are kept.
};

/// Along which axis each unit of the output reads all units of the input, or all of its group.
enum class MixedAxis {
  kNone,      ///< no axis, or several
  kChannels,  ///< dimension 1
  kLast,      ///< the last dimension
};

/// Which sign the values of an operator's output have.
enum class SignRule {
  kAny,            ///< any sign
  kNeverNegative,  ///< at least 0, always
  kAsInputs        ///< at least 0 if all inputs are
};

/// How the output of an operator follows from its inputs. The transfer of weights and mutators of widths read it.
struct ValueFacts {
  UnitFlow units = UnitFlow::kNone;    ///< How indices of the inputs reach the output.
  MixedAxis mixes = MixedAxis::kNone;  ///< Axis along which a layer reads all units.
  SignRule sign = SignRule::kAny;      ///< Sign of the output.
  bool preserves_zero = false;         ///< True: the output is zero if all inputs are zero.
  bool preserves_mean = false;         ///< True: a unit that is the mean of all units stays the mean.
  bool keeps_nonnegative = false;      ///< True: values of at least zero are the same in the output.
};

/// The forms of an operator in exported files. An operator with empty forms has rules in `io/formats`.
struct ExportForms {
  /// C++ expression of element i with the inputs `$x[i]`, or `$a[i]` and `$b[i]`. If it has none of them, it reads the
  /// element as `v`, and the attributes by name: `$alpha`.
  std::string cpp = {};
  /// Name in ONNX of the operator with the same inputs and attributes. They are those of a pool, or real numbers.
  std::string onnx = {};
};

/// The definition of an operator: attributes, inference of shapes, parameters, cost and gradient.
///
/// Users may add their own definitions to an `OpTable`.
struct OpDef {
  std::string name;                         ///< Identifier in the text form.
  std::string help;                         ///< One sentence for users of study files.
  OpLevel level = OpLevel::kModel;          ///< Kind of graph in which it may occur.
  OpRole role = OpRole::kCompute;           ///< What its nodes do.
  OpFamily family = OpFamily::kOther;       ///< Group for mutators.
  SizeFlow size_flow = SizeFlow::kUnknown;  ///< How input sizes determine output sizes.
  int min_inputs = 1;                       ///< Smallest number of data inputs.
  int max_inputs = 1;                       ///< Largest number of data inputs; -1: no limit.
  bool commutative = false;                 ///< True: the order of the inputs does not change the result.
  bool random = false;                      ///< True: in training it samples random masks (dropout).
  bool is_linear = false;  ///< True: each row of its output is the product of an input row and a matrix.
  /// True: in inference with one input, output 0 has the elements of the input in the same row-major order. Then a
  /// program needs no computation for the node if the values are contiguous in memory.
  bool is_view = false;
  ValueFacts facts;             ///< how the output follows from the inputs
  ExportForms exports;          ///< forms in exported files
  std::vector<AttrSpec> attrs;  ///< attributes, in order of declaration

  /// Returns the types of all outputs, by output number. The inputs and attributes have passed `check_node`. Errors:
  /// kInvalidArgument with the shape that does not fit.
  std::function<Result<std::vector<ValueType>>(const OpArgs&)> infer;
  /// Returns the parameters and buffers, in the order of the inputs of a step node. Empty function: the operator has
  /// none.
  std::function<std::vector<ParamSpec>(const OpArgs&)> params;
  /// Returns the cost of the forward pass for one sample. Empty function: no FLOPs, and the bytes of inputs and
  /// outputs.
  std::function<Cost(const OpArgs&)> cost;
  /// Name of the operator that replaces this one in training; empty: none. It has the same inputs, attributes and
  /// output 0. It may have an attribute "origin" too, which gets the id of the model node. Its further outputs are
  /// values for the gradient rule and for buffer updates. Inference runs the operator itself.
  std::string train_form;
  /// Emits nodes that compute the operator, and returns the port of their result. If set, every step graph has these
  /// nodes instead of the operator.
  std::function<Port(StepContext&)> decompose;
  /// Emits the nodes of the gradient, and sets the gradients of inputs and parameters. Empty function: no gradient
  /// flows through the operator.
  std::function<void(GradientContext&)> gradient;
  /// Buffers that a training step updates: the name of the buffer, and the output number of the train form with its new
  /// value.
  std::vector<std::pair<std::string, std::uint32_t>> buffer_updates;
  /// Step operators that the gradient rule of this operator emits. `training_ops` adds them to the table of step
  /// operators.
  std::vector<OpDef> step_ops;
};

/// A table of operator definitions by name. It is a value: copies are independent, and reading is thread-safe.
class OpTable {
 public:
  /// Adds a definition. Errors: kAlreadyExists if the table has the name; kInvalidArgument for a definition that cannot
  /// work.
  ///
  /// It cannot work with a name of operator or attribute that is no identifier, a missing inference rule, contradictory
  /// input counts, an attribute that is declared twice, or parameters together with a variable number of inputs.
  Result<void> add(OpDef def);
  /// The definition of an operator, or null if the table lacks it. The pointer is valid as long as this table lives.
  const OpDef* find(std::string_view name) const;
  /// The known name that the user most likely meant (`nearest_name`), for error messages; empty if no name is near.
  std::string nearest(std::string_view name) const;
  /// The names of all operators, sorted by bytes.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, OpDef, std::less<>> defs_;
};

/// Makes the table of all built-in operators of model graphs.
OpTable builtin_ops();

/// The number of data inputs of a node, which are the first of its inputs.
///
/// In a model graph all inputs are data. In a step graph the parameters and buffers of the operator follow the data
/// inputs.
std::size_t num_data_inputs(const Node& node, const OpDef& def);

/// Checks the number of data inputs and the attributes of one node against its operator's definition.
///
/// If the operator has parameters, it accepts any number of inputs after the data inputs; `infer_shapes` checks that
/// number. Errors: kNotFound for an unknown operator, with the nearest name; kInvalidArgument for a wrong number of
/// inputs, or an unknown, missing or invalid attribute.
Result<void> check_node(const Node& node, const OpTable& ops);
/// Checks one node against `def`, the definition of its operator in `ops`; null: an unknown operator. Errors: kNotFound
/// for an unknown operator, with the nearest name in `ops`; kInvalidArgument for a wrong number of inputs, or an
/// unknown, missing or invalid attribute.
Result<void> check_node(const Node& node, const OpDef* def, const OpTable& ops);

}  // namespace lanista::graph
