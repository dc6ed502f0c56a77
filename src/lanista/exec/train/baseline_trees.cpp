#include "lanista/exec/train/baseline_trees.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanista::train {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kPenalty = 1;

/// The bins of one feature: bin i has the values up to limits[i], the last one all larger ones.
struct Bins {
  std::vector<double> limits;
  std::vector<std::uint8_t> of_row;
};

/// Bins at equal shares of the rows. Each limit lies halfway between two neighbouring values.
Bins bins_of(const Eigen::Ref<const VectorXd>& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  Bins out;
  const std::size_t n = sorted.size();
  std::vector<double> different = sorted;
  different.erase(std::ranges::unique(different).begin(), different.end());
  const bool few = different.size() <= kMaxBoostedBins;
  const std::size_t cuts = few ? different.size() - 1 : kMaxBoostedBins - 1;
  for (std::size_t i = 0; i < cuts; ++i) {
    const double below = few ? different[i] : sorted[(i + 1) * n / kMaxBoostedBins - 1];
    const auto above = std::ranges::upper_bound(different, below);
    if (above == different.end()) break;
    const double limit = below + (*above - below) / 2;
    if (out.limits.empty() || limit > out.limits.back()) out.limits.push_back(limit);
  }
  for (const double x : values) {
    out.of_row.push_back(static_cast<std::uint8_t>(std::ranges::lower_bound(out.limits, x) - out.limits.begin()));
  }
  return out;
}

/// Sums over rows of the first and second derivative of the loss.
struct Sums {
  double slope = 0, curve = 0;
  std::int32_t rows = 0;

  Sums& operator+=(const Sums& other) {
    slope += other.slope;
    curve += other.curve;
    rows += other.rows;
    return *this;
  }
  friend Sums operator-(Sums a, const Sums& b) {
    a.slope -= b.slope;
    a.curve -= b.curve;
    a.rows -= b.rows;
    return a;
  }
  double gain() const { return slope * slope / (curve + kPenalty); }
  double step() const { return -slope / (curve + kPenalty); }
};

/// The best split of a node.
struct Cut {
  double gain = 0;
  Index feature = -1;
  std::size_t bin = 0;
};

class Grower {
 public:
  Grower(const MatrixXd& features, double shrinkage) : shrinkage_(shrinkage) {
    for (Index f = 0; f < features.cols(); ++f) bins_.push_back(bins_of(features.col(f)));
  }

  /// Grows a tree for these derivatives of the rows, and adds its values to `scores`.
  BoostedTrees::Tree grow(const ArrayXd& slopes, const ArrayXd& curves, Eigen::Ref<VectorXd> scores) {
    const auto rows = static_cast<std::size_t>(slopes.size());
    BoostedTrees::Tree tree(1);
    std::vector<std::size_t> node_of(rows, 0);
    std::vector<Sums> sums(1);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto i = static_cast<Index>(row);
      sums[0] += {slopes[i], curves[i], 1};
    }
    std::size_t level_begin = 0;
    for (int depth = 0; depth < kBoostedDepth; ++depth) {
      const std::size_t level_end = tree.size();
      split_level(level_begin, slopes, curves, node_of, tree, sums);
      if (tree.size() == level_end) break;
      level_begin = level_end;
      for (std::size_t row = 0; row < rows; ++row) {
        const BoostedTrees::Node& node = tree[node_of[row]];
        if (node.feature < 0) continue;
        const Bins& bins = bins_[static_cast<std::size_t>(node.feature)];
        const auto bin = static_cast<std::size_t>(bins.of_row[row]);
        node_of[row] = node.left + (bin < bins.limits.size() && bins.limits[bin] <= node.limit ? 0 : 1);
      }
    }
    for (std::size_t i = 0; i < tree.size(); ++i) tree[i].value = shrinkage_ * sums[i].step();
    for (std::size_t row = 0; row < rows; ++row) scores[static_cast<Index>(row)] += tree[node_of[row]].value;
    return tree;
  }

 private:
  /// Splits the nodes of the last level, which begin at `level_begin`, where that lowers the loss.
  void split_level(std::size_t level_begin, const ArrayXd& slopes, const ArrayXd& curves,
                   const std::vector<std::size_t>& node_of, BoostedTrees::Tree& tree, std::vector<Sums>& sums) {
    const std::size_t nodes = tree.size() - level_begin, rows = node_of.size();
    std::vector<Cut> best(nodes);
    std::vector<Sums> left_of(nodes);
    std::vector<Sums> histogram(nodes * kMaxBoostedBins);
    for (std::size_t f = 0; f < bins_.size(); ++f) {
      const Bins& bins = bins_[f];
      if (bins.limits.empty()) continue;
      std::ranges::fill(histogram, Sums{});
      for (std::size_t row = 0; row < rows; ++row) {
        if (node_of[row] < level_begin) continue;
        const auto i = static_cast<Index>(row);
        histogram[(node_of[row] - level_begin) * kMaxBoostedBins + bins.of_row[row]] += {slopes[i], curves[i], 1};
      }
      for (std::size_t n = 0; n < nodes; ++n) {
        const Sums all = sums[level_begin + n];
        Sums left;
        for (std::size_t bin = 0; bin < bins.limits.size(); ++bin) {
          left += histogram[n * kMaxBoostedBins + bin];
          const Sums right = all - left;
          if (left.rows < kLeastLeafRows) continue;
          if (right.rows < kLeastLeafRows) break;
          const double gain = left.gain() + right.gain() - all.gain();
          if (gain > best[n].gain * (1 + 1e-9) + 1e-12) {
            best[n] = {gain, static_cast<Index>(f), bin};
            left_of[n] = left;
          }
        }
      }
    }
    for (std::size_t n = 0; n < nodes; ++n) {
      if (best[n].feature < 0) continue;
      BoostedTrees::Node& node = tree[level_begin + n];
      node.feature = best[n].feature;
      node.limit = bins_[static_cast<std::size_t>(best[n].feature)].limits[best[n].bin];
      node.left = tree.size();
      const Sums right = sums[level_begin + n] - left_of[n];
      sums.push_back(left_of[n]);
      sums.push_back(right);
      tree.resize(tree.size() + 2);
    }
  }

  double shrinkage_;
  std::vector<Bins> bins_;
};

/// The constant scores with the least loss. A class or label without rows, or with all of them, counts half a row.
VectorXd first_scores(const MatrixXd& truth, BoostedTask task) {
  const VectorXd mean = truth.colwise().mean().transpose();
  if (task == BoostedTask::kNumbers) return mean;
  const double least = 0.5 / static_cast<double>(truth.rows());
  const ArrayXd share = mean.array().max(least).min(1 - least);
  VectorXd out = share.log().matrix();
  if (task == BoostedTask::kLabels) out.array() -= (1 - share).log();
  return out;
}

/// Probabilities of scores [rows, outputs].
MatrixXd probabilities(const MatrixXd& scores, BoostedTask task) {
  if (task == BoostedTask::kLabels) return (1 / (1 + (-scores.array()).exp())).matrix();
  MatrixXd out = scores.colwise() - scores.rowwise().maxCoeff();
  out = out.array().exp().matrix();
  const VectorXd sums = out.rowwise().sum();
  out.array().colwise() /= sums.array();
  return out;
}

}  // namespace

MatrixXd BoostedTrees::predict(const MatrixXd& features) const {
  MatrixXd out = offset.transpose().replicate(features.rows(), 1);
  for (const std::vector<Tree>& round : trees) {
    const auto first = static_cast<std::size_t>(out.cols()) - round.size();
    for (std::size_t k = 0; k < round.size(); ++k) {
      for (Index row = 0; row < features.rows(); ++row) {
        std::size_t at = 0;
        while (round[k][at].feature >= 0) {
          at = round[k][at].left + (features(row, round[k][at].feature) <= round[k][at].limit ? 0 : 1);
        }
        out(row, static_cast<Index>(first + k)) += round[k][at].value;
      }
    }
  }
  return out;
}

BoostedTrees boosted_trees(const MatrixXd& features, const MatrixXd& truth, BoostedTask task, std::int64_t rounds,
                           double shrinkage) {
  BoostedTrees out;
  out.offset = first_scores(truth, task);
  MatrixXd scores = out.offset.transpose().replicate(features.rows(), 1);
  Grower grower(features, shrinkage);
  // The difference of the scores of two classes is all that matters.
  const Index first = task == BoostedTask::kClasses && truth.cols() == 2 ? 1 : 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    MatrixXd slopes = (task == BoostedTask::kNumbers ? scores : probabilities(scores, task)) - truth;
    MatrixXd curves = MatrixXd::Ones(scores.rows(), scores.cols());
    if (task != BoostedTask::kNumbers) {
      const Eigen::ArrayXXd p = slopes.array() + truth.array();
      curves = (p * (1 - p)).matrix();
    }
    std::vector<BoostedTrees::Tree>& trees = out.trees.emplace_back();
    for (Index k = first; k < truth.cols(); ++k) {
      trees.push_back(grower.grow(slopes.col(k).array(), curves.col(k).array(), scores.col(k)));
    }
  }
  return out;
}

}  // namespace lanista::train
