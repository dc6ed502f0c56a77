#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"

// Models as the search holds thousands of them: what nodes are compared by is kept once and numbered, a model is a few
// flat arrays (some 30 bytes a node).
namespace lanista::zoo {

/// What a node is compared by.
struct Signature {
  std::string kind;
  std::vector<std::vector<std::int64_t>> shapes;
  std::int64_t params = 0;
  std::uint32_t kind_number = 0;  ///< equal for equal kinds of one table
  auto operator<=>(const Signature&) const = default;
};

/// Elements that nodes of two signatures have in common: products of the smaller dimensions. 0 if kinds differ.
std::int64_t shape_overlap(const Signature& parent, const Signature& child);
/// What a pair of such nodes counts, in [-1, 1]: see pair_score.
double signature_score(const Signature& parent, const Signature& child);

/// Signatures, numbered from 0 in the order in which they came.
class Signatures {
 public:
  /// The number of a signature, a new one if it is not there yet. O(log size).
  std::uint32_t intern(const std::string& kind, const std::vector<std::vector<std::int64_t>>& shapes);
  std::size_t size() const { return all_.size(); }
  const Signature& operator[](std::uint32_t number) const { return all_[number]; }
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// The number of a kind, kNone where no signature has it.
  std::uint32_t kind_number(const std::string& kind) const;

 private:
  std::vector<Signature> all_;
  std::map<std::pair<std::string, std::vector<std::vector<std::int64_t>>>, std::uint32_t> numbers_;
  std::map<std::string, std::uint32_t> kinds_;
};

/// A MatchModel over a table of signatures.
struct PackedModel {
  std::vector<std::uint32_t> signatures;  ///< one a node, as all arrays but `inputs`
  std::vector<graph::NodeId> ids;
  std::vector<std::uint64_t> computes;
  std::vector<std::uint32_t> begins;  ///< node k reads inputs[begins[k], begins[k + 1]); one more than nodes
  std::vector<std::uint32_t> inputs;  ///< places of nodes
  std::int64_t params = 0;
  Digest hash;
  struct ParamSignature {
    std::uint32_t signature, count;
  };
  std::vector<ParamSignature> param_signatures;  ///< signatures with parameters and how many nodes have them; by kind, then number

  std::size_t size() const { return ids.size(); }
  std::span<const std::uint32_t> inputs_of(std::size_t node) const {
    return std::span(inputs).subspan(begins[node], begins[node + 1] - begins[node]);
  }
};

/// The model over `table`, which takes up what it does not have yet.
PackedModel pack_model(const MatchModel& model, Signatures& table);
/// Fills `param_signatures` and `params` from the rest.
void count_param_signatures(PackedModel& model, const Signatures& table);

/// What every signature of a child has in common with every one of a table of parents. A value.
class PairTable {
 public:
  PairTable(const Signatures& parents, const Signatures& children);
  double score(std::uint32_t parent, std::uint32_t child) const { return scores_[parent * columns_ + child]; }
  std::int64_t overlap(std::uint32_t parent, std::uint32_t child) const { return overlaps_[parent * columns_ + child]; }
  /// score(parent, 0), score(parent, 1), ...
  const double* scores_of(std::uint32_t parent) const { return scores_.data() + parent * columns_; }
  bool same_kind(std::uint32_t parent, std::uint32_t child) const {
    return parent_kinds_[parent] == child_kinds_[child];
  }
  /// Of the child's signature in the parents' table of kinds; Signatures::kNone where no parent has it.
  std::uint32_t kind_of_child(std::uint32_t child) const { return child_kinds_[child]; }
  std::uint32_t kind_of_parent(std::uint32_t parent) const { return parent_kinds_[parent]; }

 private:
  std::size_t columns_;
  std::vector<double> scores_;
  std::vector<std::int64_t> overlaps_;
  std::vector<std::uint32_t> parent_kinds_, child_kinds_;
};

/// Never less than the elements that a match of the two has in common: of each kind no more than the child's nodes can
/// take nor than the parent's can give, each node at its best. O(holders of one kind, squared).
std::int64_t overlap_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table);
/// Never less than the similarity that a match of the two reaches.
double similarity_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table);

}  // namespace lanista::zoo
