#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lanista::report {

/// A hyper-parameter, or a factor that is divided into up to 64 cells, for a random forest that computes its
/// importance. A point has one cell on each axis, or kNoCell where the axis does not apply.
struct ForestAxis {
  /// A condition for an axis to apply: the point's cell on an earlier axis, which applies itself, is in a set.
  struct Condition {
    std::size_t axis = 0;     ///< Index of the earlier axis.
    std::uint64_t cells = 0;  ///< Set of its cells; bit c is cell c.
  };
  std::vector<double> weights;  ///< [cells]: shares of the axis, positive, with the sum 1.
  bool ordered = true;          ///< True: a cut divides cells into lower and higher ones; false: into any two sets.
  std::vector<Condition> when;  ///< Conditions, of which one must hold; empty: the axis always applies.
};
/// Largest number of cells of an axis.
inline constexpr std::size_t kMaxCells = 64;
/// The cell of a row on an axis that does not apply to it.
inline constexpr std::uint8_t kNoCell = 255;

/// Settings of a forest.
struct ForestOptions {
  std::size_t trees = 64;    ///< Number of trees.
  std::size_t min_leaf = 2;  ///< Least rows of a leaf.
  std::uint64_t seed = 1;    ///< Seed of samples and cuts.
};

/// A share of the variance, from 0 to 1, over the trees of a forest.
struct Share {
  double mean = 0;    ///< Mean over the trees.
  double spread = 0;  ///< Standard deviation over the trees.
};

/// A random forest of regression trees (Breiman 2001) with functional analysis of variance (Hutter, Hoos, Leyton-Brown,
/// ICML'14).
///
/// A tree is constant on boxes. Its averages over all but one or two axes are therefore exact sums over leaves.
/// Averages use the weights of the cells, independently for each axis. A tree cuts a conditional axis only where the
/// axis applies, so predictions do not depend on axes that do not apply.
class Forest {
 public:
  /// Trains a forest. `cells` is [rows, axes], with kNoCell for an axis that does not apply. `response` is [rows] and
  /// finite. Equal inputs give equal forests. Without rows it has no trees. Another size of `cells`, or a condition on
  /// a later axis, is a bug of the caller.
  static Forest grow(std::vector<ForestAxis> axes, std::span<const std::uint8_t> cells,
                     std::span<const double> response, const ForestOptions& options = {});

  std::size_t trees() const { return trees_.size(); }            ///< Number of trees.
  const std::vector<ForestAxis>& axes() const { return axes_; }  ///< Axes of the domain.
  /// Returns the prediction of the tree with index `tree` at a point: one cell for each axis.
  double predict(std::size_t tree, std::span<const std::uint8_t> point) const;
  /// Returns the share of the variance of the rows that is explained by trees that did not train on the row. It is at
  /// most 1 and may be negative. NaN with fewer than four such rows or without variance.
  double explained() const { return explained_; }
  /// Returns the indices of the axes, in decreasing order of the squared error that their cuts removed.
  std::vector<std::size_t> axes_by_gain() const;

  /// Returns the average prediction in each cell of an axis, over all other axes: [cells].
  std::vector<double> marginal(std::size_t axis) const;
  /// Returns the average prediction in each pair of cells of two different axes, over all other axes: [cells of first,
  /// cells of second].
  std::vector<double> marginal(std::size_t first, std::size_t second) const;
  /// Returns the share of the variance of predictions that an axis explains alone, over the trees with a variance above
  /// 0. It is 0 if there is no such tree.
  Share share(std::size_t axis) const;
  /// Returns the share of the variance of predictions that a pair of axes explains in addition to the two alone, over
  /// the trees with a variance above 0. It is 0 if there is no such tree.
  Share share(std::size_t first, std::size_t second) const;

 private:
  struct Node {
    std::size_t axis = 0;
    std::uint64_t left = 0;  ///< Cells of the axis that lead to node `child`; the others lead to the next one.
    std::size_t child = 0;   ///< 0: a leaf.
    double value = 0;        ///< Of a leaf.
  };
  struct Leaf {
    double value = 0, volume = 1;
    std::vector<std::uint64_t> cells;  ///< [axes]: sets of cells that lead here.
    std::vector<double> widths;        ///< [axes]: shares of these sets.
  };
  struct Tree {
    std::vector<Node> nodes;
    std::vector<Leaf> leaves;
    double mean = 0, variance = 0;
    std::vector<std::vector<double>> main_effects;  ///< [axes][cells]: averages; empty without a cut.
    std::vector<double> main_effect_variances;      ///< [axes].
  };
  struct TreeBuilder;

  void compute_averages(Tree& tree) const;
  std::vector<double> pair_means(const Tree& tree, std::size_t first, std::size_t second) const;
  double pair_variance(const Tree& tree, std::size_t first, std::size_t second) const;

  std::vector<ForestAxis> axes_;
  std::vector<Tree> trees_;
  std::vector<double> gain_;
  double offset_ = 0;  ///< The trees predict the response minus this number.
  double explained_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace lanista::report
