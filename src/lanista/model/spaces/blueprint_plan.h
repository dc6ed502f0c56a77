#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/spaces/blueprint.h"
#include "lanista/model/spaces/formula.h"

// The plan of a blueprint, made once: parsed formulas, reserved ids and resolved labels.
namespace lanista::mutate {

// Limits of a blueprint.

inline constexpr std::size_t kMaxBlockDepth = 64;                        ///< Nesting of blocks.
inline constexpr std::size_t kMaxBlocks = 100'000;                       ///< Blocks of a tree.
inline constexpr std::size_t kMaxSteps = 1'000'000;                      ///< Blocks in all rounds of an expansion.
inline constexpr std::size_t kMaxParameters = 10'000;                    ///< Choices.
inline constexpr std::int64_t kMaxRounds = 1'000;                        ///< Rounds of one repeat.
inline constexpr std::size_t kMaxModelNodes = graph::kMaxTextNodes - 2;  ///< Nodes between input and output.
inline constexpr std::size_t kMaxSubsets = 512;     ///< Subsets of one input choice or one node of a cell.
inline constexpr std::size_t kMaxValues = 200'000;  ///< Values of all declarations of choices.
inline constexpr std::int64_t kMaxCellNodes = 64, kMaxCellInputs = 16;  ///< Nodes of a cell, inputs of a node.

/// The size of an expanded chain. Sizes saturate at 2^40, which is above every limit.
struct ExpansionSize {
  std::int64_t nodes = 0;  ///< number of nodes of the model
  std::int64_t steps = 0;  ///< number of blocks, counted once for each round

  ExpansionSize& operator+=(const ExpansionSize& other);
  friend ExpansionSize operator+(ExpansionSize a, const ExpansionSize& b) { return a += b; }
};
/// Returns the size of `rounds` rounds, at most kMaxCellNodes * kMaxCellInputs of them, of one size each.
ExpansionSize operator*(std::int64_t rounds, const ExpansionSize& one);

struct PlannedBlock;
/// A chain with its reserved node ids.
struct PlannedChain {
  std::vector<PlannedBlock> steps;  ///< blocks of the chain
  std::int64_t ids = 0;             ///< number of reserved node ids
  ExpansionSize min_extent;         ///< smallest size over all samples
};
/// The smallest nodes and the smallest steps of several chains, which may be of two different chains. Zero for no
/// chain.
ExpansionSize min_extent_of(const std::vector<PlannedChain>& chains);
/// The message for a size that exceeds the limits of a model; no value for a size within the limits.
std::optional<std::string> size_limit_error(const ExpansionSize& extent);
/// The size of a chain for a hyper-parameter sample, as a lower bound.
///
/// Where formulas select blocks, the smallest alternative counts. Blocks that a Custom builds count as none. So do the
/// nodes of joins and repairs, except the sum in each node of a cell.
/// O(blocks of the tree), plus the rounds of repeats with choices of their own.
ExpansionSize extent_of(const PlannedChain& root, const space::Sample& sample);

/// A parsed formula with the parameters that its labels mean.
struct PlannedFormula {
  Expression expression;  ///< parsed formula
  /// By label: number of rounds of enclosing repeats in the name of its parameter, such as 2 for "k/1/2".
  std::map<std::string, std::size_t> level;
};

/// The value of an attribute before a sample is known: a constant, one formula, a list of formulas, or a choice that
/// the layer declares, which has neither value nor formulas.
struct PlannedSetting {
  std::string name;                       ///< name of the attribute
  std::optional<graph::AttrValue> value;  ///< constant; absent: formulas or a choice
  std::vector<PlannedFormula> formulas;   ///< formulas; empty for a constant or a choice
  bool is_list = false;                   ///< true: the formulas are the elements of a list
};

/// A choice that a block declares.
struct DeclaredChoice {
  std::string label;                                    ///< name of the choice
  space::Domain domain;                                 ///< possible values
  std::vector<space::Parameter::Condition> inner = {};  ///< conditions on other choices of the same Custom block
};
/// Returns the choices that a block itself declares, in order, without those of the blocks inside it. Repeat::choices
/// are not among them, nor the depth of a Repeat with one possible depth.
std::vector<DeclaredChoice> declared_by(const Block& block);
/// By label, the domain of a choice and the path of its declaration, for one scope. Planning checks with it that equal
/// labels have equal domains. A scope is the whole tree, or the rounds of a repeat with `own`.
using Labels = std::map<std::string, std::pair<space::Domain, std::string>>;

/// A block with everything that does not depend on a sample. It points into the tree of the blueprint.
struct PlannedBlock {
  const Block* block = nullptr;  ///< The block.
  std::string place;             ///< Path in the tree.
  std::int64_t ids = 0;          ///< Number of reserved node ids.
  ExpansionSize min_extent;      ///< Smallest size over all samples.
  /// Chains of the options or branches; one chain for all rounds of a Repeat; then and otherwise of a When. Of a Cell:
  /// its ops, then `carry`. Empty for a Layer, an InputChoice and a Custom.
  std::vector<PlannedChain> chains;
  std::vector<PlannedSetting> settings;     ///< Attributes of a Layer.
  std::optional<PlannedFormula> condition;  ///< Condition of a When.
  Labels own;                               ///< Choices in each round of a Repeat with `own`.
};

/// The possible numbers of rounds of a repeat, ascending: the integers of its domain, at most kMaxRounds + 2 of them.
/// Empty for an invalid or continuous domain.
std::vector<std::int64_t> rounds_of(const Repeat& repeat);

/// The names of the values that a cell reads: `previous`, or the one name "in" if it is empty.
std::vector<std::string> cell_inputs(const Cell& cell);
/// True if a cell may join values that it reads, and not only its nodes.
bool can_output_inputs(const Cell& cell);
/// The label of a choice of a cell, such as "label/2.1.op", or "label/2.from" if `input` is 0. `node` and `input` count
/// from 1; `what` is "op" or "from".
std::string cell_label(const Cell& cell, std::int64_t node, std::int64_t input, const char* what);

/// The subsets of `min_count` to `most` of `count` elements, as indices: first by size, then by members. It returns the
/// first kMaxSubsets + 1 if there are more.
std::vector<std::vector<std::size_t>> subsets(std::size_t count, std::int64_t min_count, std::int64_t most);
/// A subset as the value of a parameter: the names of its members joined by "+", or "none".
std::string subset_text(const std::vector<std::size_t>& members, const std::vector<std::string>& names);
/// True if an input choice allows any subset of two or more values, so that it has a boolean parameter for each value.
bool is_any_subset(const InputChoice& choice);

/// The number of reserved ids for a join of `n` values, 4 n + 2: repairs of each value, nodes of a mean, and the join.
constexpr std::int64_t join_ids(std::size_t n) { return 4 * static_cast<std::int64_t>(n) + 2; }

/// The data of a blueprint, made once by Blueprint::make().
struct Blueprint::Plan {
  Chain layers;                              ///< tree of blocks
  std::vector<ValueChoice> choices;          ///< choices of the whole tree
  PlannedChain root;                         ///< the tree with the names and reserved node ids of its blocks
  std::vector<space::Parameter> parameters;  ///< all choices, each after those on which it depends
  std::int64_t end = 0;                      ///< first node id after the reserved ones
};

/// The names that are visible at the start of a chain.
struct ChainScope {
  std::vector<const Labels*> levels;  ///< enclosing scopes of labels, outermost first; empty: no choices allowed
  std::set<std::string> names;        ///< names of earlier values
  std::set<std::string> indices;      ///< index names of enclosing repeats
};
/// Plans a chain, which must live as long as the result, because the plan points into it. `around` has the visible
/// names, and `place` is the path for errors. Errors: kInvalidArgument (an invalid or too large tree), kNotFound (an
/// unknown operator).
Result<PlannedChain> plan_chain(const graph::OpTable& ops, const Chain& chain, const ChainScope& around,
                                const std::string& place);
/// Adds the choices of a chain to `out`, with those of the blocks inside it, except in repeats with `own`. Errors:
/// kInvalidArgument if choices with equal labels have different domains, blocks are nested too deep, or there are more
/// than kMaxValues values.
Result<void> collect_labels(const Chain& chain, const std::string& place, Labels& out);
/// The path of block number `i` (from 0) of a chain with path `chain`, such as "layers[2].choice act", or
/// "layers[2].relu" for a Layer.
std::string block_path(const std::string& chain, std::size_t i, const Block& block);

/// Returns the parameters of a planned tree with their conditions. Each one follows those on which it depends.
/// Errors: kInvalidArgument for a choice that depends on itself, one of `choices` that no block uses, or more than
/// kMaxParameters choices or kMaxSteps blocks.
Result<std::vector<space::Parameter>> collect_parameters(const PlannedChain& root, const Labels& global,
                                                         const std::vector<ValueChoice>& choices);

}  // namespace lanista::mutate
