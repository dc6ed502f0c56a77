#include "lanista/exec/train/baseline_linear.h"

#include <Eigen/Cholesky>
#include <vector>

#include "lanista/search/math/lbfgs.h"

namespace lanista::train {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRidge = 1e-3;

/// Replaces logits by the sum of their cross-entropy, and by its gradient: probabilities less the truth.
double cross_entropy(MatrixXd& logits, const MatrixXd& truth, bool multilabel) {
  if (multilabel) {
    // log(1 + e^z) - y z, without overflow.
    const Eigen::ArrayXXd e = (-logits.array().abs()).exp();
    const double loss = (logits.array().max(0) + (1 + e).log() - truth.array() * logits.array()).sum();
    logits = ((logits.array() >= 0).select(1 / (1 + e), e / (1 + e)) - truth.array()).matrix();
    return loss;
  }
  const VectorXd largest = logits.rowwise().maxCoeff();
  logits.colwise() -= largest;
  double loss = -(truth.array() * logits.array()).sum();
  logits = logits.array().exp().matrix();
  const VectorXd sums = logits.rowwise().sum();
  loss += sums.array().log().sum();
  logits.array().colwise() /= sums.array();
  logits -= truth;
  return loss;
}

}  // namespace

MatrixXd LinearModel::predict(const MatrixXd& features, Index rows) const {
  MatrixXd out = offset.transpose().replicate(rows, 1);
  if (weights.size() > 0) out.noalias() += features * weights;
  return out;
}

LinearModel ridge_model(const MatrixXd& features, const MatrixXd& targets) {
  const Index width = features.cols();
  const VectorXd center = features.colwise().mean().transpose();
  const MatrixXd centered = features.rowwise() - center.transpose();
  MatrixXd gram = MatrixXd::Zero(width, width);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(centered.transpose());
  const double ridge = kRidge * gram.trace() / static_cast<double>(width);
  gram.diagonal().array() += ridge > 0 ? ridge : 1.0;
  LinearModel model;
  model.weights = gram.selfadjointView<Eigen::Lower>().llt().solve(centered.transpose() * targets);
  model.offset = targets.colwise().mean().transpose() - model.weights.transpose() * center;
  return model;
}

LinearModel logistic_model(const MatrixXd& features, const MatrixXd& truth, bool multilabel, std::int64_t iterations) {
  const Index width = features.cols(), outputs = truth.cols(), all = width * outputs;
  const VectorXd center = features.colwise().mean().transpose();
  const MatrixXd centered = features.rowwise() - center.transpose();
  // With two classes only the difference of their weights counts. This penalty is half the square of the difference.
  const double penalty = !multilabel && outputs == 2 ? 2 : 1;
  // The parameters are the weights [features, outputs] and the offsets of centred features.
  const auto objective = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    const Eigen::Map<const MatrixXd> weights(x.data(), width, outputs);
    const Eigen::Map<const VectorXd> offset(x.data() + all, outputs);
    MatrixXd logits = centered * weights;
    logits.rowwise() += offset.transpose();
    const double loss = cross_entropy(logits, truth, multilabel);
    Eigen::Map<MatrixXd>(gradient.data(), width, outputs) = centered.transpose() * logits + penalty * weights;
    Eigen::Map<VectorXd>(gradient.data() + all, outputs) = logits.colwise().sum().transpose();
    return loss + penalty * weights.squaredNorm() / 2;
  };
  const std::vector<double> zeros(static_cast<std::size_t>(all + outputs));
  const std::vector<double> found = search::minimize_lbfgs(objective, zeros, iterations);
  LinearModel model;
  model.weights = Eigen::Map<const MatrixXd>(found.data(), width, outputs);
  model.offset = Eigen::Map<const VectorXd>(found.data() + all, outputs) - model.weights.transpose() * center;
  return model;
}

}  // namespace lanista::train
