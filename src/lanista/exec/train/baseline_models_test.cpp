// The models of the baselines: logistic regression is at the minimum of its convex objective, and boosted trees are
// those of a plain recursion over sorted values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lanista/base/rng.h"
#include "lanista/exec/train/baseline_linear.h"
#include "lanista/exec/train/baseline_trees.h"

namespace lanista::train {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

struct Sample {
  MatrixXd features, truth;
};

/// Random rows. `values` is the number of different values of a feature; 0: any.
Sample sampled(Rng rng, BoostedTask task, int values) {
  const auto rows = static_cast<Index>(40 + rng.below(120)), width = static_cast<Index>(1 + rng.below(4));
  const auto outputs = static_cast<Index>(task == BoostedTask::kClasses ? 2 + rng.below(3) : 1 + rng.below(3));
  Sample out{MatrixXd::Zero(rows, width), MatrixXd::Zero(rows, outputs)};
  for (Index r = 0; r < rows; ++r) {
    double along = 0;
    for (Index f = 0; f < width; ++f) {
      const double x = values > 0 ? std::floor(rng.uniform(0, values)) / 4 - 1 : rng.normal();
      out.features(r, f) = x;
      along += f % 2 == 0 ? x : x * x;
    }
    const double place = along + rng.normal() / 2;
    for (Index k = 0; k < outputs; ++k) {
      if (task == BoostedTask::kNumbers) out.truth(r, k) = place * static_cast<double>(k + 1) + rng.normal();
      if (task == BoostedTask::kLabels) out.truth(r, k) = place > static_cast<double>(k) ? 1 : 0;
    }
    if (task == BoostedTask::kClasses) {
      out.truth(r, std::clamp<Index>(static_cast<Index>(std::floor(place + 1)), 0, outputs - 1)) = 1;
    }
  }
  return out;
}

/// Probabilities of a row of scores.
std::vector<double> shares(const std::vector<double>& scores, BoostedTask task) {
  std::vector<double> out;
  double sum = 0;
  for (const double z : scores) sum += std::exp(z);
  for (const double z : scores)
    out.push_back(task == BoostedTask::kClasses ? std::exp(z) / sum : 1 / (1 + std::exp(-z)));
  return out;
}

TEST(LogisticModel, IsAtTheMinimum) {
  Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    const BoostedTask task = i % 2 == 0 ? BoostedTask::kClasses : BoostedTask::kLabels;
    const Sample sample = sampled(rng.split(i), task, 0);

    const LinearModel model = logistic_model(sample.features, sample.truth, task == BoostedTask::kLabels, 500);

    const Index width = sample.features.cols(), outputs = sample.truth.cols();
    // The slope of the objective for each weight, and in the last row for each offset.
    MatrixXd slope = MatrixXd::Zero(width + 1, outputs);
    for (Index r = 0; r < sample.features.rows(); ++r) {
      std::vector<double> scores;
      for (Index k = 0; k < outputs; ++k) {
        double z = model.offset[k];
        for (Index f = 0; f < width; ++f) z += sample.features(r, f) * model.weights(f, k);
        scores.push_back(z);
      }
      const std::vector<double> p = shares(scores, task);
      for (Index k = 0; k < outputs; ++k) {
        const double off = p[static_cast<std::size_t>(k)] - sample.truth(r, k);
        for (Index f = 0; f < width; ++f) slope(f, k) += off * sample.features(r, f);
        slope(width, k) += off;
      }
    }
    // For two classes w and -w: half the square of 2w has the slope 2w for each.
    slope.topRows(width) += (task == BoostedTask::kClasses && outputs == 2 ? 2 : 1) * model.weights;
    EXPECT_LT(slope.cwiseAbs().maxCoeff(), 2e-3) << "case " << i;
    EXPECT_GT(model.weights.cwiseAbs().maxCoeff(), 0.05) << "case " << i;
  }
}

/// A tree by recursion: all limits between neighbouring values are tried.
struct PlainTree {
  double value = 0, limit = 0;
  Index feature = -1;
  std::vector<PlainTree> parts = {};

  double at(const MatrixXd& features, Index row) const {
    return feature < 0 ? value : parts[features(row, feature) <= limit ? 0 : 1].at(features, row);
  }
};

PlainTree plain_tree(const MatrixXd& features, const std::vector<double>& slopes, const std::vector<double>& curves,
                     const std::vector<Index>& rows, int depth, double shrinkage) {
  const auto sum = [](const std::vector<double>& of, const std::vector<Index>& some) {
    double out = 0;
    for (const Index r : some) out += of[static_cast<std::size_t>(r)];
    return out;
  };
  const auto gain = [&](const std::vector<Index>& some) {
    const double g = sum(slopes, some);
    return g * g / (sum(curves, some) + 1);
  };
  PlainTree out{.value = -shrinkage * sum(slopes, rows) / (sum(curves, rows) + 1)};
  if (depth == 0) return out;
  double best = 1e-9;
  std::vector<Index> left, right;
  for (Index f = 0; f < features.cols(); ++f) {
    std::set<double> values;
    for (Index r = 0; r < features.rows(); ++r) values.insert(features(r, f));
    for (auto it = values.begin(); std::next(it) != values.end(); ++it) {
      const double limit = (*it + *std::next(it)) / 2;
      std::vector<Index> low, high;
      for (const Index r : rows) (features(r, f) <= limit ? low : high).push_back(r);
      if (low.size() < 5 || high.size() < 5) continue;
      const double gained = gain(low) + gain(high) - gain(rows);
      if (gained > best * (1 + 1e-9)) {
        best = gained;
        out.feature = f;
        out.limit = limit;
        left = low;
        right = high;
      }
    }
  }
  if (out.feature >= 0) {
    out.parts = {plain_tree(features, slopes, curves, left, depth - 1, shrinkage),
                 plain_tree(features, slopes, curves, right, depth - 1, shrinkage)};
  }
  return out;
}

/// Scores [rows, outputs] by boosting plain trees.
MatrixXd plain_boosting(const Sample& sample, BoostedTask task, int rounds, double shrinkage) {
  const Index rows = sample.features.rows(), outputs = sample.truth.cols();
  MatrixXd scores(rows, outputs);
  for (Index k = 0; k < outputs; ++k) {
    double share = 0;
    for (Index r = 0; r < rows; ++r) share += sample.truth(r, k) / static_cast<double>(rows);
    const double least = 0.5 / static_cast<double>(rows);
    if (task != BoostedTask::kNumbers) share = std::min(std::max(share, least), 1 - least);
    for (Index r = 0; r < rows; ++r) {
      scores(r, k) = task == BoostedTask::kNumbers   ? share
                     : task == BoostedTask::kClasses ? std::log(share)
                                                     : std::log(share) - std::log(1 - share);
    }
  }
  std::vector<Index> all;
  for (Index r = 0; r < rows; ++r) all.push_back(r);
  for (int round = 0; round < rounds; ++round) {
    const MatrixXd before = scores;
    for (Index k = task == BoostedTask::kClasses && outputs == 2 ? 1 : 0; k < outputs; ++k) {
      std::vector<double> slopes, curves;
      for (Index r = 0; r < rows; ++r) {
        std::vector<double> z;
        for (Index j = 0; j < outputs; ++j) z.push_back(before(r, j));
        const double p = task == BoostedTask::kNumbers ? z[static_cast<std::size_t>(k)]
                                                       : shares(z, task)[static_cast<std::size_t>(k)];
        slopes.push_back(p - sample.truth(r, k));
        curves.push_back(task == BoostedTask::kNumbers ? 1 : p * (1 - p));
      }
      const PlainTree tree = plain_tree(sample.features, slopes, curves, all, 3, shrinkage);
      for (Index r = 0; r < rows; ++r) scores(r, k) += tree.at(sample.features, r);
    }
  }
  return scores;
}

TEST(BoostedTrees, AreThoseOfAPlainRecursion) {
  Rng rng(6);
  for (int i = 0; i < 45; ++i) {
    const auto task = static_cast<BoostedTask>(i % 3);
    const Sample sample = sampled(rng.split(i), task, 9);

    const MatrixXd found = boosted_trees(sample.features, sample.truth, task, 4, 0.3).predict(sample.features);

    EXPECT_LT((found - plain_boosting(sample, task, 4, 0.3)).cwiseAbs().maxCoeff(), 1e-9) << "case " << i;
  }
}

TEST(BoostedTrees, HaveAtMost64BinsOfEqualSize) {
  Rng rng(7);
  Sample sample{MatrixXd::Zero(1000, 1), MatrixXd::Zero(1000, 1)};
  for (Index r = 0; r < 1000; ++r) {
    sample.features(r, 0) = std::exp(3 * rng.normal());
    sample.truth(r, 0) = std::log(sample.features(r, 0));
  }

  const BoostedTrees trees = boosted_trees(sample.features, sample.truth, BoostedTask::kNumbers, 200, 0.3);

  std::set<double> limits;
  for (const auto& round : trees.trees) {
    for (const auto& node : round[0]) {
      if (node.feature >= 0) limits.insert(node.limit);
    }
  }
  EXPECT_LE(limits.size(), kMaxBoostedBins - 1);
  EXPECT_GT(limits.size(), 50U);
  const MatrixXd off = trees.predict(sample.features) - sample.truth;
  EXPECT_LT(std::sqrt(off.squaredNorm() / 1000), 0.35);  // a bin at the end is wide; the deviation of the truth is 3
}

TEST(BoostedTrees, AreConstantWithoutFeaturesThatVary) {
  const MatrixXd features = MatrixXd::Ones(20, 2), truth = Eigen::VectorXd::LinSpaced(20, 0, 19);
  const BoostedTrees trees = boosted_trees(features, truth, BoostedTask::kNumbers, 5, 0.3);
  EXPECT_NEAR(trees.predict(features)(3, 0), 9.5, 1e-12);
}

}  // namespace
}  // namespace lanista::train
