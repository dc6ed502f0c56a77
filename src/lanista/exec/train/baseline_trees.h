#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace lanista::train {

/// What boosted trees predict: numbers (squared error), one class a row (softmax) or labels (a sigmoid each).
enum class BoostedTask { kNumbers, kClasses, kLabels };

/// Gradient-boosted trees of depth three on histograms (Friedman, 2001), a baseline for tables.
struct BoostedTrees {
  /// A split of a tree, or a leaf.
  struct Node {
    Eigen::Index feature = -1;  ///< -1: a leaf.
    double limit = 0;           ///< Rows with a feature up to it go to `left`, others to left + 1.
    std::size_t left = 0;       ///< Index in the tree.
    double value = 0;           ///< What a leaf adds to the score.
  };
  using Tree = std::vector<Node>;  ///< The first node is the root.

  Eigen::VectorXd offset;                ///< [outputs]
  std::vector<std::vector<Tree>> trees;  ///< By round, then by output. For two classes: those of the second class only.

  /// Returns numbers or logits [rows, outputs] for features [rows, features].
  Eigen::MatrixXd predict(const Eigen::MatrixXd& features) const;
};

/// Fits `rounds` trees an output to features [rows, features] and `truth` [rows, outputs], which has numbers, or zeros
/// and ones. `shrinkage` scales each tree. A leaf has at least kLeastLeafRows rows and the value of a Newton step with
/// an L2 penalty of one. It needs about rows x features x rounds x outputs x 3 operations.
BoostedTrees boosted_trees(const Eigen::MatrixXd& features, const Eigen::MatrixXd& truth, BoostedTask task,
                           std::int64_t rounds, double shrinkage);

inline constexpr int kBoostedDepth = 3;             ///< Splits from the root to a leaf.
inline constexpr std::int32_t kLeastLeafRows = 5;   ///< Fewest rows of a leaf.
inline constexpr std::size_t kMaxBoostedBins = 64;  ///< Most bins of a feature.

}  // namespace lanista::train
