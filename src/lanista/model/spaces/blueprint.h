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

// Model spaces with inline choices. A blueprint is a tree of blocks. Its choices are parameters of a search space. With
// a sample of them it expands to a model. These rules hold for every block:
//
// - A block reads the previous value of its chain, or the named values in `from`, and gives one value. `name` gives
//   that value a name. A later block may reuse the name, so a loop can carry values from round to round. A name from
//   inside an option, a branch, a When or a cell is not visible outside. A name from inside a Group is. So is one from
//   inside a Repeat with at least one round.
// - Choices with equal labels are one choice, so their declarations must be equal. In a Repeat with `own` choices, the
//   label "k" becomes "k/1", "k/2", …, one for each round.
// - A choice is active in a sample if one of its blocks is reached: its option is chosen, or the depth suffices.
// - Ids of nodes are reserved by position. Every block, option and round has a range of its own, so two expansions have
//   the same ids for the blocks that both contain.
// - Inputs of joins are repaired by the RepairPolicy. The added nodes have the label `repair`.
namespace lanista::mutate {

struct Block;
/// Blocks in series. An empty chain returns its input, which makes a skip connection.
using Chain = std::vector<Block>;

/// A choice among values, declared where it is used or in Blueprint's list of choices. Equal labels are one choice.
struct ValueChoice {
  std::string label;     ///< name of the choice, which becomes a parameter
  space::Domain domain;  ///< possible values
};

/// A formula over choices and sizes, which gives one value, such as "2 * width", "16 if wide else 8" or "min(k, 5)".
///
/// Operators are those of Python, from weak to strong: `a if c else b`, or, and, not, comparisons, + -, * / // %,
/// unary -, **. Comparisons cannot be chained. Functions are min, max, round, floor and ceil; round takes halves up.
/// Literals are numbers, true, false and 'text'. The result of `/` is real, and so is that of `**` with a negative
/// exponent; all other operators on integers give integers.
///
/// Names are labels of choices, `index` names of repeats, and the words below. Only labels of letters, digits and _ can
/// be read. The value of a layer choice is the name of its option, and that of a repeat its depth.
///
/// - `in`: channels of the first input (C of images, otherwise the last dimension).
/// - `outputs`, `classes`: number of outputs of the model.
/// - `vocab`: number of different tokens of the input; 0: real numbers.
/// - `outer`: in the options of a cell, true if the value that is read is an input of the cell, not a node. In `carry`
///   it is always true.
struct Formula {
  std::string text;  ///< the formula
};

/// The value of an attribute: a constant, a formula, a list of formulas, or a choice that is declared here.
///
/// An integer may replace a list of one element or a real number. The padding "same" keeps the size for an odd window
/// at stride 1.
struct Setting {
  std::variant<graph::AttrValue, Formula, std::vector<Formula>, ValueChoice> value;  ///< one of the four forms

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
/// The attributes of a layer by name. The others have their defaults; those without a default must be given.
using Settings = std::vector<std::pair<std::string, Setting>>;

/// How several values become one: sum, mean, concat along the channels, or product. A single value is not changed.
enum class Join { kSum, kMean, kConcat, kMul };

/// Block: one operator of the table of operators.
struct Layer {
  std::string op;     ///< name of the operator
  Settings attrs;     ///< attributes of the node
  std::string label;  ///< label of the node; may be empty
};

/// One option of a choice or of a cell: a named chain.
struct Option {
  std::string name;  ///< value of the choice that selects this option
  Chain layers;      ///< blocks of the option
};

/// Block: one of several chains. The value of the choice `label` is the name of the selected option.
struct LayerChoice {
  std::string label;            ///< name of the choice
  std::vector<Option> options;  ///< the chains, at least one
};

/// Block: joins all values in `always` and selected values in `from`. It ignores the previous value.
///
/// The value of the choice `label` is the name of one value, "a+b" for several in the order of `from`, or "none". If
/// any subset of two or more values is possible (`min_count` 0 and `most` all), there is a boolean choice "label/name"
/// for each value instead. Otherwise at most 512 subsets are allowed.
struct InputChoice {
  std::string label;                     ///< name of the choice
  std::vector<std::string> from;         ///< names of the values that may be selected
  std::int64_t min_count = 1;            ///< smallest number of selected values; 0 needs a value in `always`
  std::int64_t most = 1;                 ///< largest number of selected values
  Join join = Join::kSum;                ///< how the values become one
  std::vector<std::string> always = {};  ///< names of values that are always joined
};

/// Block: a chain that is repeated in series. The choice `label` is the number of rounds, unless the domain has one
/// value.
struct Repeat {
  std::string label;                      ///< Name of the choice.
  space::Domain depth;                    ///< Number of rounds, integers from 0 to 1000; {3, 3} is fixed.
  Chain layers;                           ///< Blocks of one round.
  bool own = false;                       ///< True: each round has separate choices "k/1", "k/2", ….
  std::string index = {};                 ///< Name of the round number (0, 1, …) in formulas.
  std::vector<ValueChoice> choices = {};  ///< Choices for the formulas in `layers`.
};

/// Block: several chains that read the same value, with their results joined.
struct Parallel {
  std::vector<Chain> branches;  ///< the chains
  Join join = Join::kSum;       ///< how the results become one
};

/// Block: one of two chains. A formula over choices selects it when the blueprint is expanded for a sample.
struct When {
  Formula condition;  ///< a boolean formula
  Chain then;         ///< chain if `condition` is true
  Chain otherwise;    ///< chain if `condition` is false
};

/// Block: a chain that counts as one block, so that it can have a name or a `from`. It changes nothing else.
struct Group {
  Chain layers;  ///< blocks of the group
};

/// Block: a searched cell as in NASNet. Node i = 1, 2, … applies an option of `ops` to each of `inputs` earlier values
/// and sums the results. The result of the cell is the join of its nodes.
///
/// The choices are "label/i.j.from" and "label/i.j.op" for input j = 1, 2, … of node i. With `distinct` there is one
/// choice "label/i.from" with all names ("a+b") instead of several. The names of values are those in `previous`, or
/// "in" if it is empty, and "1", "2", … for nodes.
struct Cell {
  std::string label;                       ///< Prefix of the names of the choices.
  std::int64_t nodes = 4;                  ///< Number of nodes of the cell, 1 to 64.
  std::int64_t inputs = 2;                 ///< Number of inputs of each node, 1 to 16.
  std::vector<Option> ops;                 ///< Operations, of which each input of a node gets one.
  Chain carry;                             ///< Blocks that an input of the cell passes if the cell joins it.
  std::vector<std::string> previous = {};  ///< Named values that nodes may read; empty: the previous value.
  bool distinct = false;                   ///< True: the inputs of a node are different values.
  bool joins_unread_nodes = false;         ///< True: joins the nodes that no other node reads; false: all nodes.
  Join join = Join::kConcat;               ///< How the joined values become one.
  /// True: also joins inputs of the cell. With `joins_unread_nodes` only those that no node reads, otherwise all.
  bool joins_unread_inputs = false;
  std::vector<std::string> gives = {};  ///< If not empty: joins exactly the values with these names, in cell order.
};

/// Block: a function from choices to a chain, for spaces that are not a product of independent choices.
struct Custom {
  std::string name;                          ///< name in messages
  std::vector<space::Parameter> parameters;  ///< choices; their conditions may name these parameters only
  /// Returns the chain for the values of `parameters`, without the inactive ones. The chain must have no choices, and
  /// the function must be pure. Errors: kNotApplicable if the values make no model.
  std::function<Result<Chain>(const space::Sample&)> build;
  std::int64_t slots = 64;         ///< number of ranges of ids; each block of the returned chain takes one
  std::int64_t ids_per_slot = 64;  ///< number of reserved node ids of each block
};

/// One element of a chain: a block of some kind, with the values that it reads and the name of its result.
struct Block {
  std::variant<Layer, LayerChoice, InputChoice, Repeat, Parallel, When, Group, Cell, Custom> what;  ///< The block.
  std::string name = {};               ///< Name of the result; may be empty.
  std::vector<std::string> from = {};  ///< Names of the values to read; empty: the previous value.
  std::int64_t slot = -1;  ///< In the chain of a Custom: number of the range of ids; -1: index in the chain.
};

/// Makes a Layer: one operator with these attributes. `label` is the label of its node.
Block layer(std::string op, Settings attrs = {}, std::string label = {});
/// Makes a LayerChoice: a sample selects one of `options` by its name. `label` names the choice.
Block choice(std::string label, std::vector<Option> options);
/// Makes an InputChoice: a sample selects exactly `choose` of the values named in `from`, which are joined. `label`
/// names the choice.
Block inputs(std::string label, std::vector<std::string> from, std::int64_t choose = 1, Join join = Join::kSum);
/// Makes a Repeat: `layers` several times in series. A sample gives the number of rounds, the choice `label`.
Block repeat(std::string label, space::Domain depth, Chain layers);
/// Makes a Repeat: `layers`, `times` times in series. Formulas read the number of the round by the name `index`.
Block repeat(std::int64_t times, Chain layers, std::string index = {});
/// Makes a Parallel: all branches read the same value, and their results are joined.
Block parallel(std::vector<Chain> branches, Join join = Join::kSum);
/// Makes a When: the chain `then` if the formula `condition`, over the choices of the blueprint, is true for a sample,
/// else `otherwise`, which may be empty.
Block when(std::string condition, Chain then, Chain otherwise = {});
/// Makes a Group: the layers one after the other, as one block to which named() and from() can apply.
Block group(Chain layers);
/// Returns `block` with a name for its result, by which later blocks can read it.
Block named(std::string name, Block block);
/// Returns `block` with the names of the values that it reads. Only a Layer may read more than one.
Block from(std::vector<std::string> names, Block block);
/// Makes a block that adds no node: the value named `of` gets the second name `name`.
Block alias(std::string name, std::string of);
/// Makes a formula from its text, such as formula("2 * width").
Formula formula(std::string text);
/// Makes a choice among listed values, such as pick("k", {3, 5}). A value is an integer, a real, a text or a boolean.
ValueChoice pick(std::string label, std::vector<space::Value> values);
/// Makes a choice among the values of a domain. `label` is its name; equal labels are one choice.
ValueChoice pick(std::string label, space::Domain domain);

/// The input and the outputs of all models of a space.
struct ModelInterface {
  graph::Attrs input;          ///< Attributes of the input node: at least "shape", without the batch.
  std::int64_t outputs = 0;    ///< Number of outputs, or of classes.
  std::int64_t vocab = 0;      ///< Number of different tokens of the input; 0: real numbers.
  std::int64_t positions = 0;  ///< Number of positions with separate outputs; 0: outputs for whole samples.
};
/// Makes the interface for samples of shape `input`, which may have a batch dimension. The other arguments are the
/// fields. With a `vocab` above 0 the input has the dtype "index".
ModelInterface model_interface(const graph::Shape& input, std::int64_t outputs, std::int64_t vocab = 0,
                               std::int64_t positions = 0);

/// A checked blueprint. A value: copies share their data, and const functions are thread-safe.
class Blueprint {
 public:
  /// Checks a tree as far as possible without a sample: labels, domains, names of values, formulas, operators and
  /// attribute names. `choices` are visible to all formulas of the tree, and at least one must read each of them.
  ///
  /// Errors: kInvalidArgument for an invalid or too large tree; kNotFound for an unknown operator. `where` is the path
  /// in the tree, such as "layers[2].choice act.relu[0].relu", or "choices.LABEL".
  static Result<Blueprint> make(const graph::OpTable& ops, Chain layers, std::vector<ValueChoice> choices = {});

  /// The choices of the tree as parameters. Each one follows those on which it depends.
  const std::vector<space::Parameter>& parameters() const;
  /// The first node id after all reserved ranges, which is `next_id` of every model of expand().
  graph::NodeId end() const;

  /// Returns the model of a hyper-parameter sample. It has passed `graph::verify`, and nodes that do not reach the
  /// output are left out.
  ///
  /// Errors: kNotApplicable if the sample makes no model, with the path in `where`; kInvalidArgument if the sample does
  /// not fit parameters(). A sample makes no model if shapes cannot be repaired, an attribute is out of range, the
  /// shape of the output is wrong, no node reads the input, or there are too many nodes. A Custom may refuse it, too.
  Result<graph::Graph> expand(const space::Sample& sample, const graph::OpTable& ops, const ModelInterface& ends,
                              const RepairPolicy& repair = {}) const;

  /// Returns the tree of blocks, as given to make().
  const Chain& layers() const;
  /// The choices that are visible in the whole tree, as given to make().
  const std::vector<ValueChoice>& choices() const;

 private:
  struct Plan;
  explicit Blueprint(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

}  // namespace lanista::mutate
