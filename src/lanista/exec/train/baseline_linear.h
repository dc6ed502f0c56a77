#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace lanista::train {

/// A linear model: features times weights plus offset. Without weights it is the offset.
struct LinearModel {
  Eigen::MatrixXd weights;  ///< [features, outputs], or empty
  Eigen::VectorXd offset;   ///< [outputs]

  /// Returns the predictions [rows, outputs] for features [rows, features]; without weights `features` may be empty.
  Eigen::MatrixXd predict(const Eigen::MatrixXd& features, Eigen::Index rows) const;
};

/// Ridge regression of targets [rows, outputs] on features [rows, features]. The ridge is a thousandth of the mean,
/// over features, of the sum of squared deviations from their mean; 1 if no feature varies. The offset has no penalty.
LinearModel ridge_model(const Eigen::MatrixXd& features, const Eigen::MatrixXd& targets);

/// Logistic regression: the least sum over rows of the cross-entropy plus half the sum of squared weights; for two
/// classes, of the squared differences of their weights (C = 1 in scikit-learn). `truth` [rows, outputs] has zeros and
/// ones: one class a row (softmax), or with `multilabel` any labels (a sigmoid each). The offset has no penalty. It
/// does at most `iterations` iterations of L-BFGS.
LinearModel logistic_model(const Eigen::MatrixXd& features, const Eigen::MatrixXd& truth, bool multilabel,
                           std::int64_t iterations);

}  // namespace lanista::train
