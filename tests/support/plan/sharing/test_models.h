#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::fuse::testing {

/// The built-in operators, made once.
const graph::OpTable& ops();

/// The model of a text; a text that does not parse fails the test by throwing.
graph::Graph parsed(const std::string& text);

/// input[8] - linear `width` - relu - linear 3 - output.
graph::Graph mlp(std::int64_t width = 16);

/// input[1,8,8] - conv2d 4 - relu - conv2d 4 - relu - flatten - linear `width` - relu - linear 3 - output.
graph::Graph backbone_with_head(std::int64_t width = 8);

/// Trial `trial` with a pipeline of read and normalize, ten microseconds a sample.
FusionMember member(std::uint32_t trial, graph::Graph model);

/// A random population: two to twelve variants of a few models, grown by mutations, with batch sizes, optimisers,
/// streams and frozen prefixes at random.
std::vector<FusionMember> population(Rng& rng, const graph::OpTable& ops);

/// How many nodes merge_equal saves among these members.
std::size_t nodes_saved(const std::vector<FusionMember>& members);

/// Every operator costs what `Roofline` says, merging lanes costs `penalty` times as much.
class PenaltyCost final : public CostModel {
 public:
  explicit PenaltyCost(double penalty) : penalty_(penalty) {}
  double op_us(std::span<const OperatorWork* const> lanes, OpForm form) const override;
  double copy_us(double bytes) const override { return plain_.copy_us(bytes); }
  double store_us(double bytes) const override { return plain_.store_us(bytes); }
  double load_us(double bytes) const override { return plain_.load_us(bytes); }

 private:
  RooflineCost plain_;
  double penalty_;
};

}  // namespace lanista::fuse::testing
