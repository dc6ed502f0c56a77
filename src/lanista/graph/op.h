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
#include "lanista/graph/graph.h"
#include "lanista/graph/shape.h"

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

/// Through this an operator states its derivative, or the parts it is made of: it names values and emits nodes of
/// the step graph. Ports are ports of the step graph.
class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual OpArgs args() const = 0;                       ///< of the node at hand
  virtual NodeId origin() const = 0;                     ///< its id in the model graph
  virtual Port input(std::size_t i) const = 0;           ///< its i-th data input
  virtual Port param(std::string_view name) const = 0;   ///< a parameter or buffer of its own
  virtual Port output(std::size_t slot = 0) const = 0;   ///< forward values (gradient rules only)
  virtual bool needs_grad(std::size_t input) const = 0;  ///< does anything upstream want it?
  virtual Port grad() const = 0;                         ///< gradient of output 0 (gradient rules only)
  virtual Port emit(std::string op, std::vector<Port> inputs, Attrs attrs = {}) = 0;  ///< port slot 0 of a new node
  virtual void set_input_grad(std::size_t i, Port gradient) = 0;                      ///< at most once per input
  virtual void set_param_grad(std::string_view name, Port gradient) = 0;              ///< at most once per parameter
};

enum class OpLevel {
  kModel,  ///< may stand in a model
  kStep,   ///< exists only in derived step graphs
};

/// Everything the system knows about an operator. An open table: users add their own.
struct OpDef {
  std::string name;
  std::string help;  ///< one sentence
  OpLevel level = OpLevel::kModel;
  int min_inputs = 1;
  int max_inputs = 1;        ///< -1: any number
  bool commutative = false;  ///< the order of inputs does not matter
  bool random = false;       ///< draws counter-based masks in training
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
  std::function<void(StepContext&)> gradient;
  /// Buffers that a training step renews: buffer name and the output slot of the train form that carries its new value.
  std::vector<std::pair<std::string, std::uint32_t>> buffer_updates;
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
