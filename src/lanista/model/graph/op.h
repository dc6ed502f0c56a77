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

/// Who may write an attribute: fixed by the model's author, changed by mutators, or computed from inputs.
/// Derived ones (input channels, features) are never stored; they only appear in shape tables.
enum class AttrRole { kStatic, kTunable, kDerived };

/// One attribute an operator understands.
struct AttrSpec {
  std::string name;
  AttrRole role = AttrRole::kStatic;
  AttrValue default_value;           ///< its alternative is the attribute's type
  bool required = false;             ///< no default: must be written
  std::int64_t min = 0;              ///< lower bound of integers and of the elements of integer lists
  std::vector<std::string> allowed;  ///< for strings: the possible values
  std::string help;
  bool per_lane = false;  ///< a number that every lane of a program may set for itself (dropout's p)
};

/// How a parameter or buffer starts. kUniformFanIn: uniform in ±1/sqrt(fan_in). kNormal: around zero with `deviation`.
/// kSinusoid, of a table [positions, features]: the waves of Vaswani et al. (2017), section 3.5.
enum class Init { kZeros, kOnes, kUniformFanIn, kNormal, kSinusoid };

/// A tensor that belongs to an operator: trained (parameter) or only carried along (buffer).
struct ParamSpec {
  std::string name;  ///< "weight", "bias", "running_mean"
  Shape shape;       ///< canonical (PyTorch, ONNX) order, no batch: linear [out, in], conv [out, in/groups, kh, kw]
  bool trained = true;
  Init init = Init::kZeros;
  std::int64_t fan_in = 0;
  double deviation = 1;
};

/// Per sample, multiplications and additions counted separately (a fused multiply-add is two).
struct Cost {
  double flops = 0;
  double bytes = 0;  ///< activations and parameters read and written once
  Cost& operator+=(const Cost& o) {
    flops += o.flops;
    bytes += o.bytes;
    return *this;
  }
};

/// What the rules of an operator look at: types of its data inputs and its attributes (see attr_or).
struct OpArgs {
  std::span<const ValueType> inputs;
  const Attrs& attrs;
  const struct OpDef& def;

  /// The attribute or its default; asking for the wrong type is a bug (attributes are checked before rules run).
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& list(std::string_view name) const;
  /// [a, b] from an attribute that is a list of one or two integers.
  std::pair<std::int64_t, std::int64_t> pair(std::string_view name) const;
};

/// The node of a step graph whose definition is being asked: ports are ports of the step graph.
struct StepNode {
  OpArgs args;
  NodeId origin;                      ///< the model's node
  std::span<const Port> inputs;       ///< data, then parameters and buffers
  std::span<const ParamSpec> params;  ///< what stands behind the data inputs
};

/// Emits nodes of a step graph on behalf of a node of the model: the parts that it is made of, or what computes its
/// gradient.
class StepContext {
 public:
  virtual ~StepContext() = default;
  const OpArgs& args() const { return node_.args; }
  NodeId origin() const { return node_.origin; }
  Port input(std::size_t i) const;          ///< its i-th data input
  Port param(std::string_view name) const;  ///< a parameter or buffer of its own
  /// Port slot 0 of a new node.
  virtual Port emit(std::string op, std::vector<Port> inputs, Attrs attrs = {}) = 0;

 protected:
  explicit StepContext(const StepNode& node) : node_(node) {}
  /// The input number of a parameter; a name that the operator lacks is a bug.
  std::size_t param_input(std::string_view name) const;
  const StepNode& node() const { return node_; }

 private:
  StepNode node_;
};

/// States the gradients of a node of the forward pass.
class GradientContext : public StepContext {
 public:
  Port output(std::size_t slot = 0) const { return {id_, static_cast<std::uint32_t>(slot)}; }  ///< forward values
  Port grad() const { return gradient_; }                                                      ///< of output 0
  bool needs_grad(std::size_t input) const { return needs_gradient(StepContext::input(input)); }  ///< does anything upstream?
  void set_input_grad(std::size_t i, Port gradient);                                     ///< at most once per input
  void set_param_grad(std::string_view name, Port gradient);  ///< at most once per trained parameter

 protected:
  GradientContext(const StepNode& node, NodeId id, Port gradient) : StepContext(node), id_(id), gradient_(gradient) {}

 private:
  virtual bool needs_gradient(Port value) const = 0;
  /// `gradient` is a summand of the gradient of whatever comes at an input, data or parameter.
  virtual void add_gradient(std::size_t input, Port gradient) = 0;

  NodeId id_;
  Port gradient_;
};

enum class OpLevel {
  kModel,  ///< may stand in a model
  kStep,   ///< exists only in derived step graphs
};

/// What a node is there for.
enum class OpRole {
  kCompute,
  kSource,  ///< names a value that comes from elsewhere: the batch, the state
  kCommit,  ///< writes the state, at the end of a step
};

/// What mutators may do with an operator; those of kOther they leave alone.
enum class OpFamily { kOther, kLayer, kNorm, kActivation, kPool, kJoin };

/// How the sizes of an operator's input reach its output, for who changes a width.
enum class SizeFlow {
  kUnknown,   ///< only inference tells
  kAny,       ///< every size passes as it is, and any is taken
  kChannels,  ///< images keep their channels, however many
};

/// Everything the system knows about an operator. An open table: users add their own.
struct OpDef {
  std::string name;
  std::string help;  ///< one sentence
  OpLevel level = OpLevel::kModel;
  OpRole role = OpRole::kCompute;
  OpFamily family = OpFamily::kOther;
  SizeFlow size_flow = SizeFlow::kUnknown;
  int min_inputs = 1;
  int max_inputs = 1;        ///< -1: any number
  bool commutative = false;  ///< the order of inputs does not matter
  bool random = false;       ///< draws counter-based masks in training; its train form does
  /// With one input and in inference, output 0 has the input's elements in the same row-major order: where they lie so
  /// in memory too, nothing is computed.
  bool is_view = false;
  std::vector<AttrSpec> attrs;

  /// Types of all outputs, or kInvalidArgument saying what does not fit. Arity and attributes are already checked.
  std::function<Result<std::vector<ValueType>>(const OpArgs&)> infer;
  /// Parameters and buffers; empty function: none.
  std::function<std::vector<ParamSpec>(const OpArgs&)> params;
  /// Cost of the forward computation; empty: only traffic of inputs and outputs.
  std::function<Cost(const OpArgs&)> cost;
  /// If set, training uses this operator instead (same inputs and attributes; output 0 means the same, further
  /// outputs are what the gradient rule needs). In inference the operator itself runs.
  std::string train_form;
  /// If set, the operator is lowered to parts in every step graph: emits them, returns the port of the result.
  std::function<Port(StepContext&)> decompose;
  /// States the gradients of inputs and parameters; empty: no gradient flows through.
  std::function<void(GradientContext&)> gradient;
  /// Buffers that a training step renews: buffer name and the output slot of the train form that carries its new value.
  std::vector<std::pair<std::string, std::uint32_t>> buffer_updates;
  /// Operators of step graphs that come with it: what its gradient rule emits and no other operator's does.
  std::vector<OpDef> step_ops;
};

/// The operators a program knows, by name. A value; pass it around.
class OpTable {
 public:
  /// Errors: kAlreadyExists; kInvalidArgument for a definition that cannot work (name that the text form cannot hold,
  /// no inference rule, parameters together with a variable number of inputs).
  Result<void> add(OpDef def);
  const OpDef* find(std::string_view name) const;
  /// The nearest known name, for messages; empty if nothing is near.
  std::string nearest(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, OpDef, std::less<>> defs_;
};

/// All operators of model graphs that lanista ships.
OpTable builtin_ops();

/// How many of the node's inputs, counted from the first, are data. In a model all of them are; in a step graph the
/// parameters and buffers of the operator follow.
std::size_t num_data_inputs(const Node& node, const OpDef& def);

/// Checks arity and attributes of one node against its definition and fills nothing in. Inputs behind the data inputs
/// are accepted where the operator has parameters (infer_shapes knows how many there must be). Errors:
/// kInvalidArgument, kNotFound (unknown operator, with the nearest name).
Result<void> check_node(const Node& node, const OpTable& ops);
/// The same for who has looked the operator up; `def` is null if the table does not know it.
Result<void> check_node(const Node& node, const OpDef* def, const OpTable& ops);

}  // namespace lanista::graph
