#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"

// Compact models for a search over thousands of parents: about 30 bytes a node. A table numbers the distinct signatures
// of nodes.
namespace lanista::zoo {

/// The compared properties of a node. They are equal for nodes of one kind with equal shapes of parameters.
struct Signature {
  std::string kind;                               ///< kind of the nodes (MatchModel::Node::kind)
  std::vector<std::vector<std::int64_t>> shapes;  ///< shapes of parameters and buffers
  std::int64_t params = 0;                        ///< number of elements of parameters and buffers
  std::uint32_t kind_number = 0;                  ///< number of the kind in the table, from 0
  auto operator<=>(const Signature&) const = default;
};

/// The number of parameter elements that nodes of two signatures have in common. For each tensor it is the product of
/// the smaller sizes, dimension by dimension; 0 if the ranks differ. It is 0 for nodes of different kinds.
std::int64_t shape_overlap(const Signature& parent, const Signature& child);
/// The score of a pair of nodes of two signatures, in [-1, 1]: shape_overlap() divided by the parameter elements of the
/// child's node, or by 1.2 times those of the parent's node if they are more. A quotient of at most 0.3, and nodes of
/// different kinds, give -1. Two nodes of one kind without parameters give 1.
double signature_score(const Signature& parent, const Signature& child);

/// A table of distinct signatures, numbered from 0 in order of insertion. A signature is the kind of a node (operator
/// and the attributes that decide the use of weights) with the shapes of its parameters and buffers. Kinds are numbered
/// likewise.
class Signatures {
 public:
  /// Returns the number of a signature. A new signature is added to the table. O(log size).
  std::uint32_t intern(const std::string& kind, const std::vector<std::vector<std::int64_t>>& shapes);
  /// The number of signatures in the table.
  std::size_t size() const { return all_.size(); }
  /// The signature with a number below size(). The reference is valid until the next intern().
  const Signature& operator[](std::uint32_t number) const { return all_[number]; }
  /// The number that stands for a kind that the table lacks.
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// The number of a kind, or kNone if no signature of the table has it.
  std::uint32_t kind_number(const std::string& kind) const;

 private:
  std::vector<Signature> all_;
  std::map<std::pair<std::string, std::vector<std::vector<std::int64_t>>>, std::uint32_t> numbers_;
  std::map<std::string, std::uint32_t> kinds_;
};

/// A MatchModel as flat arrays, which refers to a table of signatures by number.
struct PackedModel {
  std::vector<std::uint32_t> signatures;  ///< Signature number of each node.
  std::vector<graph::NodeId> ids;         ///< Id of each node.
  std::vector<std::uint64_t> computes;    ///< MatchModel::Node::computes of each node.
  std::vector<std::uint32_t> begins;      ///< Index in `inputs` of each node's first input; then the end.
  std::vector<std::uint32_t> inputs;      ///< Indices of the nodes that are read, node by node.
  std::int64_t params = 0;                ///< Number of elements of all parameters and buffers.
  Digest hash;                            ///< Graph hash.
  /// A signature (kind and parameter shapes of a node) with at least one parameter, and the number of nodes of the
  /// model that have it. Bounds of a match are computed from these.
  struct ParamSignature {
    std::uint32_t signature, count;  ///< signature number, number of nodes
  };
  std::vector<ParamSignature> param_signatures;  ///< sorted by kind number, then signature number

  /// The number of nodes.
  std::size_t size() const { return ids.size(); }
  /// The indices of the nodes that a node reads, in order of its inputs.
  std::span<const std::uint32_t> inputs_of(std::size_t node) const {
    return std::span(inputs).subspan(begins[node], begins[node + 1] - begins[node]);
  }
};

/// Packs a model. New signatures are added to `table`.
PackedModel pack_model(const MatchModel& model, Signatures& table);
/// Computes two fields of a model from its signatures: `param_signatures`, each signature with parameters and the
/// number of nodes that have it, and `params`, the number of all parameter elements.
void count_param_signatures(PackedModel& model, const Signatures& table);

/// A table of scores and overlaps of every parent signature with every child signature. A value. Arguments are
/// signature numbers.
class PairTable {
 public:
  /// Compares every signature of `parents` with every one of `children`.
  PairTable(const Signatures& parents, const Signatures& children);
  /// The score of a pair: signature_score().
  double score(std::uint32_t parent, std::uint32_t child) const { return scores_[parent * columns_ + child]; }
  /// The common elements of a pair: shape_overlap().
  std::int64_t overlap(std::uint32_t parent, std::uint32_t child) const { return overlaps_[parent * columns_ + child]; }
  /// The scores of one parent signature with all child signatures, as an array by child number. It lives as long as the
  /// table.
  const double* scores_of(std::uint32_t parent) const { return scores_.data() + parent * columns_; }
  /// True if two signatures are of the same kind.
  bool same_kind(std::uint32_t parent, std::uint32_t child) const {
    return parent_kinds_[parent] == child_kinds_[child];
  }
  /// The number that the kind of a child signature has in the table of the parents, or Signatures::kNone if no parent
  /// has it.
  std::uint32_t kind_of_child(std::uint32_t child) const { return child_kinds_[child]; }
  /// The number of the kind of a parent signature. Layers of one kind have the same operator and the same attributes
  /// that decide the use of weights; only shapes may differ.
  std::uint32_t kind_of_parent(std::uint32_t parent) const { return parent_kinds_[parent]; }

 private:
  std::size_t columns_;
  std::vector<double> scores_;
  std::vector<std::int64_t> overlaps_;
  std::vector<std::uint32_t> parent_kinds_, child_kinds_;
};

/// An upper bound of `Match::overlap` over all possible pairs of two models.
///
/// For each kind it adds up the best overlap of each node of the child, and likewise of each node of the parent, and
/// counts the smaller sum. O(signatures of one kind, squared).
std::int64_t overlap_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table);
/// An upper bound of `Match::sim` over all possible pairs of two models; 1 for equal graph hashes, 0 without
/// parameters.
double similarity_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table);

}  // namespace lanista::zoo
