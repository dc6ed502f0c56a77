#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/attr.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/shape.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/model/space/domain.h"

// Model spaces with inline choices. A blueprint is a tree of blocks; its choices are parameters of a search space, and
// with a sample of them it expands to a model. Rules that hold for every block:
//
// - A block reads the value before it in its chain, or the named values in `from`, and gives one value; `name` gives
//   that value a name. A name may be given again (a loop carries values from round to round); names given inside an
//   option, a branch or a cell end with it.
// - Equal label, equal choice: what is declared under one label must be declared alike. In a Repeat with choices `own`
//   the label "k" becomes "k/1", "k/2", …, one a round.
// - A choice exists in a sample where one of its places is reached (the option is taken, the depth suffices).
// - Ids of nodes are reserved by position: every block, option and round has a range of its own, so two expansions
//   share the ids of what they share, whatever else was chosen.
// - Inputs of joins are made to fit as the RepairPolicy says; such nodes are labelled `repair`.
namespace lanista::mutate {

struct Block;
/// Blocks one behind the other; an empty chain gives what it was given (a skip).
using Chain = std::vector<Block>;

/// A choice among values, declared where it is used or in a list of choices.
struct ValueChoice {
  std::string label;
  space::Domain domain;
};

/// A text like "2 * width", "16 if wide else 8", "min(k, 5)". Operators as in Python, from weak to strong: `a if c else
/// b`, or, and, not, comparisons, + -, * / // %, unary -, **; functions min, max, round, floor, ceil; numbers, true,
/// false, 'text'. `/` of whole numbers is real, everything else on whole numbers whole. Names are labels of choices (a
/// layer choice is the name of its option, a repeat its depth), rounds of repeats, and
///   in                  channels of the first input (images: C, else the last dimension)
///   outputs, classes    what the model must give
///   vocab               how many tokens its input tells apart; 0: it reads real numbers
///   outer               in the options of a cell: whether the value read is one of the cell's `previous`
struct Formula {
  std::string text;
};

/// What an attribute is set to: a value, a formula, a list of formulas, or a choice declared on the spot. A whole
/// number stands for a list of one; "same" as the padding of a window means that an odd window keeps the size (stride
/// 1).
struct Setting {
  std::variant<graph::AttrValue, Formula, std::vector<Formula>, ValueChoice> value;

  Setting(bool v) : value(graph::AttrValue(v)) {}
  Setting(int v) : value(graph::AttrValue(std::int64_t{v})) {}
  Setting(std::int64_t v) : value(graph::AttrValue(v)) {}
  Setting(double v) : value(graph::AttrValue(v)) {}
  Setting(const char* v) : value(graph::AttrValue(std::string(v))) {}
  Setting(std::string v) : value(graph::AttrValue(std::move(v))) {}
  Setting(std::vector<std::int64_t> v) : value(graph::AttrValue(std::move(v))) {}
  Setting(graph::AttrValue v) : value(std::move(v)) {}
  Setting(Formula v) : value(std::move(v)) {}
  Setting(std::vector<Formula> v) : value(std::move(v)) {}
  Setting(ValueChoice v) : value(std::move(v)) {}
};
using Settings = std::vector<std::pair<std::string, Setting>>;

/// How several values become one. One value alone is itself. Concat is along the channels.
enum class Join { kSum, kMean, kConcat, kMul };

/// An operator of the table.
struct Layer {
  std::string op;
  Settings attrs;
  std::string label;  ///< of the node
};

struct Option {
  std::string name;
  Chain layers;
};

/// One of several chains. Parameter: `label`, the option's name.
struct LayerChoice {
  std::string label;
  std::vector<Option> options;
};

/// Some of the named values, joined, after those in `always`. Parameter: `label`, for one value its name, for several
/// "a+b" in the order of `from`, for none "none"; where any subset will do (min_count 0, most all), a bool "label/name" a
/// value.
struct InputChoice {
  std::string label;
  std::vector<std::string> from;
  std::int64_t min_count = 1, most = 1;  ///< how many; min_count 0 only next to `always`
  Join join = Join::kSum;
  std::vector<std::string> always = {};
};

/// A chain several times. Parameter: `label`, the depth, unless there is only one.
struct Repeat {
  std::string label;
  space::Domain depth;  ///< whole numbers from 0 on: {3, 3} is a fixed number
  Chain layers;
  bool own = false;                       ///< the choices declared inside are each round's own
  std::string index = {};                 ///< name under which formulas see the round: 0, 1, …
  std::vector<ValueChoice> choices = {};  ///< declared inside (for formulas)
};

/// Branches that read the same value, joined.
struct Parallel {
  std::vector<Chain> branches;
  Join join = Join::kSum;
};

/// One of two chains, by a formula over what was chosen.
struct When {
  Formula condition;
  Chain then, otherwise;
};

/// Chains inside a block, for a name or a `from` of their own.
struct Group {
  Chain layers;
};

/// A cell of the NASNet kind. Node i = 1, 2, … reads `inputs` earlier values, each through an operator of its own, and
/// sums them. Parameters: "label/i.j.from" and "label/i.j.op", j = 1, 2, …; with `distinct` inputs "label/i.from" (the
/// names, "a+b") instead of the former. Values are called by the names in `previous`, nodes "1", "2", ….
struct Cell {
  std::string label;
  std::int64_t nodes = 4, inputs = 2;
  std::vector<Option> ops;
  Chain carry;                             ///< what a value in `previous` goes through to be joined
  std::vector<std::string> previous = {};  ///< named values; empty: the value before
  bool distinct = false;
  bool joins_unread_nodes = false;  ///< join the nodes that no other reads; else all
  Join join = Join::kConcat;
  bool joins_unread_inputs = false;            ///< of `joins_unread_nodes`: and the values in `previous` that no node reads
  std::vector<std::string> gives = {};  ///< join just these by name, in the cell's order, whatever reads them
};

/// Code of yours between choices and chain, for cells that are no product of choices. Must be a pure function.
struct Custom {
  std::string name;                          ///< for messages
  std::vector<space::Parameter> parameters;  ///< names are labels; conditions among these only
  /// The chain for the values of `parameters`; no choices in it. kNotApplicable: the sample is no model.
  std::function<Result<Chain>(const space::Sample&)> build;
  std::int64_t slots = 64;         ///< blocks the chain may have
  std::int64_t ids_per_slot = 64;  ///< ids each of them may use
};

struct Block {
  std::variant<Layer, LayerChoice, InputChoice, Repeat, Parallel, When, Group, Cell, Custom> what;
  std::string name = {};               ///< of the value this block gives
  std::vector<std::string> from = {};  ///< named values to read, instead of the one before; several for a Layer only
  std::int64_t slot = -1;  ///< in a Custom's chain: the place its ids come from; -1: its number in the chain
};

// Short ways to write blocks. All may be followed by named() and from().
Block layer(std::string op, Settings attrs = {}, std::string label = {});
Block choice(std::string label, std::vector<Option> options);
Block inputs(std::string label, std::vector<std::string> from, std::int64_t choose = 1, Join join = Join::kSum);
Block repeat(std::string label, space::Domain depth, Chain layers);
Block repeat(std::int64_t times, Chain layers, std::string index = {});  ///< a fixed number
Block parallel(std::vector<Chain> branches, Join join = Join::kSum);
Block when(std::string condition, Chain then, Chain otherwise = {});
Block group(Chain layers);
Block named(std::string name, Block block);                             ///< the block's value gets a name
Block from(std::vector<std::string> names, Block block);                ///< the block reads these
Block alias(std::string name, std::string of);                          ///< `name` is now the value `of`
Formula formula(std::string text);                                      ///< formula("2 * width")
ValueChoice pick(std::string label, std::vector<space::Value> values);  ///< pick("k", {3, 5}): int, double, text, bool
ValueChoice pick(std::string label, space::Domain domain);

/// What a model stands between: the attributes of its input (at least "shape", without the batch), the number of its
/// outputs, where it reads tokens, of how many kinds, and at how many positions it gives those outputs (0: once).
struct ModelInterface {
  graph::Attrs input;
  std::int64_t outputs = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;
};
ModelInterface model_interface(const graph::Shape& input, std::int64_t outputs, std::int64_t vocab = 0, std::int64_t positions = 0);

/// A checked space of models. A value that many threads may read; copies share.
class Blueprint {
 public:
  /// Checks all that does not depend on a sample: labels, domains, names of values, formulas, operators and the names
  /// of their attributes. `choices` are declared for everywhere. Errors: kInvalidArgument, kNotFound; `where` is the
  /// place in the tree ("layers[2].choice act.relu[0]").
  static Result<Blueprint> make(const graph::OpTable& ops, Chain layers, std::vector<ValueChoice> choices = {});

  /// The choices, each behind those its conditions name.
  const std::vector<space::Parameter>& parameters() const;
  /// The first id behind all reserved ranges: `next_id` of every expansion.
  graph::NodeId end() const;

  /// The model of a sample; it verifies. Values that nobody reads are left out. Errors: kNotApplicable if the sample
  /// makes no model (shapes that no repair fits, an attribute out of bounds, another number of outputs than wanted, the
  /// input is not read), with the place in `where`; kInvalidArgument if the sample is not one of parameters().
  Result<graph::Graph> expand(const space::Sample& sample, const graph::OpTable& ops, const ModelInterface& ends,
                              const RepairPolicy& repair = {}) const;

  /// The tree it was made from.
  const Chain& layers() const;
  const std::vector<ValueChoice>& choices() const;

 private:
  struct Plan;
  explicit Blueprint(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

}  // namespace lanista::mutate
