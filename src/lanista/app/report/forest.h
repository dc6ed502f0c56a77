#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lanista::report {

/// A dimension of the box that a forest is a function on: up to 64 cells, each with its share of the dimension.
struct ForestAxis {
  /// Where it means anything: where the axis `axis`, which stands before this one and means something there, is in one
  /// of `cells` (bit c is cell c).
  struct Condition {
    std::size_t axis = 0;
    std::uint64_t cells = 0;
  };
  std::vector<double> weights;  ///< of the cells: positive, together 1
  bool ordered = true;          ///< a cut divides cells into lower and higher ones; otherwise into any two sets
  std::vector<Condition> when;  ///< one of them must hold; empty: it means something everywhere
};
inline constexpr std::size_t kMaxCells = 64;
/// The cell of a row that has none on an axis.
inline constexpr std::uint8_t kNoCell = 255;

struct ForestOptions {
  std::size_t trees = 64;
  std::size_t min_leaf = 2;  ///< rows of a leaf at least
  std::uint64_t seed = 1;
};

/// A share and how far the trees' own lie apart (standard deviation).
struct Share {
  double mean = 0, spread = 0;
};

/// A random forest of regression trees (Breiman 2001) over a box of cells, and its functional analysis of variance
/// (Hutter, Hoos, Leyton-Brown, ICML'14): a tree is constant on boxes, so that its averages over all but one or two
/// axes are sums over leaves, exact and cheap. The measure is that of the axes' weights, independent of each other.
///
/// A tree cuts a conditional axis only inside a box in which it means something everywhere, so the forest is a function
/// on the whole box that does not depend on what means nothing.
class Forest {
 public:
  /// `cells`: [rows, axes], kNoCell where a row has none; `response`: [rows], finite. Same input, same forest.
  static Forest grow(std::vector<ForestAxis> axes, std::span<const std::uint8_t> cells,
                     std::span<const double> response, const ForestOptions& options = {});

  std::size_t trees() const { return trees_.size(); }
  const std::vector<ForestAxis>& axes() const { return axes_; }
  /// The average of the trees at a point, [axes]; and one tree's.
  double predict(std::span<const std::uint8_t> point) const;
  double predict(std::size_t tree, std::span<const std::uint8_t> point) const;
  /// Share of the rows' variance that predictions of the trees that did not see a row explain, at most 1; NaN where it
  /// cannot be told (too few rows, no variance).
  double explained() const { return explained_; }
  /// Indices of the axes, those first whose cuts reduced the squared error most.
  std::vector<std::size_t> axes_by_gain() const;

  /// Average prediction in each cell of an axis, over the measure of all others.
  std::vector<double> marginal(std::size_t axis) const;
  /// The same of every pair of their cells, [cells of first, cells of second]; first and second differ.
  std::vector<double> marginal(std::size_t first, std::size_t second) const;
  /// The share of an axis alone in a tree's variance, averaged over the trees that have any.
  Share share(std::size_t axis) const;
  /// What a pair of axes has beyond its two alone.
  Share share(std::size_t first, std::size_t second) const;

 private:
  struct Node {
    std::size_t axis = 0;
    std::uint64_t left = 0;  ///< cells of the axis that go to the node `child`, the others to the next one
    std::size_t child = 0;   ///< 0: a leaf
    double value = 0;        ///< of a leaf
  };
  struct Leaf {
    double value = 0, volume = 1;
    std::vector<std::uint64_t> cells;  ///< [axes] that lead here
    std::vector<double> widths;        ///< [axes]: their share of the axis
  };
  struct Tree {
    std::vector<Node> nodes;
    std::vector<Leaf> leaves;
    double mean = 0, variance = 0;
    std::vector<std::vector<double>> main_effects;  ///< [axes][cells]: averages; empty for an axis that no cut uses
    std::vector<double> main_effect_variances;      ///< [axes]
  };
  struct TreeBuilder;

  void compute_averages(Tree& tree) const;
  std::vector<double> pair_means(const Tree& tree, std::size_t first, std::size_t second) const;
  double pair_variance(const Tree& tree, std::size_t first, std::size_t second) const;

  std::vector<ForestAxis> axes_;
  std::vector<Tree> trees_;
  std::vector<double> gain_;
  double offset_ = 0;  ///< trees are of the response less this
  double explained_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace lanista::report
