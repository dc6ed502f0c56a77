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

// What a blueprint is turned into once: formulas read, ids reserved, labels resolved.
namespace lanista::mutate {

// Bounds on what a blueprint may ask for.
inline constexpr std::size_t kMaxBlockDepth = 64;  ///< of blocks in blocks
inline constexpr std::size_t kMaxBlocks = 100'000;
inline constexpr std::size_t kMaxSteps = 1'000'000;  ///< of a walk through all rounds
inline constexpr std::size_t kMaxParameters = 10'000;
inline constexpr std::int64_t kMaxRounds = 1'000;
inline constexpr std::size_t kMaxModelNodes = graph::kMaxTextNodes - 2;  ///< between input and output
inline constexpr std::size_t kMaxSubsets = 512;
inline constexpr std::size_t kMaxValues = 200'000;  ///< of all choices, as often as they are written
inline constexpr std::int64_t kMaxCellNodes = 64, kMaxCellInputs = 16;

/// How much a chain expands to: nodes, and blocks in all rounds. Beyond all bounds it stays at a large number.
struct ExpansionSize {
  std::int64_t nodes = 0, steps = 0;

  ExpansionSize& operator+=(const ExpansionSize& other);
  friend ExpansionSize operator+(ExpansionSize a, const ExpansionSize& b) { return a += b; }
};
ExpansionSize operator*(std::int64_t rounds, const ExpansionSize& one);

struct PlannedBlock;
struct PlannedChain {
  std::vector<PlannedBlock> steps;
  std::int64_t ids = 0;  ///< reserved for it
  ExpansionSize min_extent;          ///< of all samples
};
/// The least of several chains.
ExpansionSize min_extent_of(const std::vector<PlannedChain>& chains);
/// What is beyond the bounds of a model, if anything is.
std::optional<std::string> size_limit_error(const ExpansionSize& extent);
/// What the chain expands to, or less where conditions or functions decide. Takes no longer than the text is, but for
/// rounds with choices of their own.
ExpansionSize extent_of(const PlannedChain& root, const space::Sample& sample);

/// A formula with the places of the labels it reads: how many enclosing rounds their names carry.
struct PlannedFormula {
  Expression expression;
  std::map<std::string, std::size_t> level;
};

/// An attribute: a value, or formulas (one, or a list's).
struct PlannedSetting {
  std::string name;
  std::optional<graph::AttrValue> value;
  std::vector<PlannedFormula> formulas;
  bool is_list = false;
};

/// A choice that a block declares. `inner`: of a Custom's, on others of it.
struct DeclaredChoice {
  std::string label;
  space::Domain domain;
  std::vector<space::Parameter::Condition> inner = {};
};
/// The choices that a block itself declares for where it stands.
std::vector<DeclaredChoice> declared_by(const Block& block);
/// Labels and domains that hold for an own repeat's rounds or, at the top, everywhere.
using Labels = std::map<std::string, std::pair<space::Domain, std::string>>;  ///< domain, place

/// A block with what is known of it before any sample. Points into the blueprint's tree.
struct PlannedBlock {
  const Block* block = nullptr;
  std::string place;
  std::int64_t ids = 0;
  ExpansionSize min_extent;
  std::vector<PlannedChain> chains;      ///< options, branches, the body
  std::vector<PlannedSetting> settings;  ///< of a Layer
  std::optional<PlannedFormula> condition;
  Labels own;  ///< declared in the rounds of a repeat with choices of their own
};

/// The rounds a repeat may have, ascending.
std::vector<std::int64_t> rounds_of(const Repeat& repeat);

/// What a cell calls its inputs.
std::vector<std::string> cell_inputs(const Cell& cell);
/// Whether inputs of a cell may be among the values that it joins.
bool can_output_inputs(const Cell& cell);
/// "label/2.1.op"
std::string cell_label(const Cell& cell, std::int64_t node, std::int64_t input, const char* what);

/// All ways to take `min_count` to `most` of `count` things, in order of size, then of members.
std::vector<std::vector<std::size_t>> subsets(std::size_t count, std::int64_t min_count, std::int64_t most);
/// "a+b"; "none" for nothing.
std::string subset_text(const std::vector<std::size_t>& members, const std::vector<std::string>& names);
/// Whether an input choice asks of each value on its own.
bool is_any_subset(const InputChoice& choice);

/// Ids that joining `n` values takes: repairs of each, what a mean needs, the join.
constexpr std::int64_t join_ids(std::size_t n) { return 4 * static_cast<std::int64_t>(n) + 2; }

struct Blueprint::Plan {
  Chain layers;
  std::vector<ValueChoice> choices;
  PlannedChain root;
  std::vector<space::Parameter> parameters;
  std::int64_t end = 0;
};

/// Where a chain stands.
struct ChainScope {
  std::vector<const Labels*> levels;  ///< what is declared around it, from the outside in; empty: no choices allowed
  std::set<std::string> names;        ///< of values before it
  std::set<std::string> indices;      ///< of rounds around it
};
/// Plans a chain. Errors: as Blueprint::make.
Result<PlannedChain> plan_chain(const graph::OpTable& ops, const Chain& chain, const ChainScope& around,
                                const std::string& place);
/// What is declared in the chain outside of own repeats. Errors: kInvalidArgument if equal labels differ.
Result<void> collect_labels(const Chain& chain, const std::string& place, Labels& out);
/// The place of block number `i`: "layers[2].choice act".
std::string block_path(const std::string& chain, std::size_t i, const Block& block);

/// The parameters of a planned tree with their conditions, parents first. Errors: kInvalidArgument (a choice inside
/// itself, a declared one that nothing reads).
Result<std::vector<space::Parameter>> collect_parameters(const PlannedChain& root, const Labels& global,
                                                         const std::vector<ValueChoice>& choices);

}  // namespace lanista::mutate
