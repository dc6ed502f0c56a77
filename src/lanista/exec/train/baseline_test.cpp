// The baselines against their definition, computed in another way.
#include "lanista/exec/train/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/exec/train/baseline_linear.h"

namespace lanista::train {
namespace {

using data::Part;
using Matrix = std::vector<std::vector<long double>>;

struct Case {
  std::int64_t width = 1, classes = 0, targets = 1;
  std::int64_t rows = 120;
  std::string how = "raw";  ///< its targets
  bool multilabel = false;  ///< and they are labels
};

data::Dataset sampled_set(Rng rng, const Case& of) {
  data::RawData raw;
  raw.spec.features.dims = {of.width};
  raw.spec.classes = of.classes;
  raw.spec.target_size = of.classes > 0 ? 1 : of.targets;
  raw.spec.multilabel = of.multilabel;
  std::vector<double> direction;
  for (std::int64_t f = 0; f < of.width; ++f) direction.push_back(rng.normal());
  for (std::int64_t row = 0; row < of.rows; ++row) {
    double along = 0;
    for (std::int64_t f = 0; f < of.width; ++f) {
      const double x = rng.normal() * static_cast<double>(f + 1);
      raw.features.push_back(static_cast<float>(x));
      along += x * direction[static_cast<std::size_t>(f)];
    }
    if (of.classes > 0) {
      const double place = along + rng.normal() * 2;
      raw.labels.push_back(static_cast<std::int32_t>(
          std::min<double>(static_cast<double>(of.classes - 1), std::max(0.0, std::floor(place + 1)))));
    } else {
      for (std::int64_t t = 0; t < of.targets; ++t) {
        const double target = along * static_cast<double>(t + 1) + rng.normal();
        raw.targets.push_back(of.multilabel ? (target > 1 ? 1.0F : 0.0F) : static_cast<float>(target));
      }
    }
  }
  data::Split split;
  for (std::int64_t row = 0; row < of.rows; ++row)
    split[row % 4 < 2 ? 0 : static_cast<std::size_t>(row % 4 - 1)].push_back(row);
  auto set = data::Dataset::make(std::move(raw), std::move(split), "auto", of.how);
  EXPECT_TRUE(set.ok()) << set.error().text();
  return *std::move(set);
}

std::vector<float> features_of(const data::Dataset& set, std::int64_t row) {
  std::vector<float> out(static_cast<std::size_t>(set.spec().features.elements_per_sample()));
  set.gather_features(std::vector{row}, out);
  return out;
}

/// What a row is to be: its targets, or zeros and a one.
std::vector<double> answer_of(const data::Dataset& set, std::int64_t row) {
  if (set.spec().classes > 0) {
    std::vector<std::int32_t> label(1);
    set.gather_labels(std::vector{row}, label);
    std::vector<double> out(static_cast<std::size_t>(set.spec().classes));
    out[static_cast<std::size_t>(label[0])] = 1;
    return out;
  }
  std::vector<float> targets(static_cast<std::size_t>(set.spec().target_size));
  set.gather_raw_targets(std::vector{row}, targets);
  return {targets.begin(), targets.end()};
}

/// Solves a x = b by elimination with pivots.
Matrix solve(Matrix a, Matrix b) {
  const std::size_t n = a.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < n; ++r) {
      if (std::fabs(a[r][i]) > std::fabs(a[pivot][i])) pivot = r;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const long double factor = a[r][i] / a[i][i];
      for (std::size_t c = 0; c < n; ++c) a[r][c] -= factor * a[i][c];
      for (long double& x : b[r]) x -= factor * b[i][static_cast<std::size_t>(&x - b[r].data())];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (long double& x : b[i]) x /= a[i][i];
  }
  return b;
}

/// Weights, and the offset in the last row: least squares over features and a one, where the ridge spares the one.
Matrix least_squares(const data::Dataset& set) {
  const std::size_t width = features_of(set, 0).size(), outputs = answer_of(set, 0).size();
  Matrix a(width + 1, std::vector<long double>(width + 1)), b(width + 1, std::vector<long double>(outputs));
  std::vector<long double> sums(width), squares(width);
  for (const std::int64_t row : set.rows(Part::kTrain)) {
    std::vector<float> x = features_of(set, row);
    for (std::size_t i = 0; i < width; ++i) {
      sums[i] += x[i];
      squares[i] += static_cast<long double>(x[i]) * x[i];
    }
    x.push_back(1);
    const auto y = answer_of(set, row);
    for (std::size_t i = 0; i <= width; ++i) {
      for (std::size_t j = 0; j <= width; ++j) a[i][j] += static_cast<long double>(x[i]) * x[j];
      for (std::size_t k = 0; k < outputs; ++k) b[i][k] += static_cast<long double>(x[i]) * y[k];
    }
  }
  const auto n = static_cast<long double>(set.rows(Part::kTrain).size());
  long double spread = 0;
  for (std::size_t i = 0; i < width; ++i) spread += squares[i] - sums[i] * sums[i] / n;
  for (std::size_t i = 0; i < width; ++i) a[i][i] += spread / static_cast<long double>(width) / 1000;
  return solve(std::move(a), std::move(b));
}

std::vector<double> predicted(const Matrix& model, const std::vector<float>& x) {
  std::vector<double> out;
  for (std::size_t k = 0; k < model[0].size(); ++k) {
    long double sum = model[x.size()][k];
    for (std::size_t i = 0; i < x.size(); ++i) sum += model[i][k] * x[i];
    out.push_back(static_cast<double>(sum));
  }
  return out;
}

/// The logits of a row by the logistic regression of the training part. baseline_models_test.cpp checks the model.
std::function<std::vector<double>(std::int64_t)> logistic(const data::Dataset& set) {
  const auto& train = set.rows(Part::kTrain);
  const auto width = static_cast<Eigen::Index>(features_of(set, 0).size());
  const auto outputs = static_cast<Eigen::Index>(answer_of(set, 0).size());
  Eigen::MatrixXd features(std::ssize(train), width), truth(std::ssize(train), outputs);
  for (Eigen::Index r = 0; r < features.rows(); ++r) {
    const std::int64_t row = train[static_cast<std::size_t>(r)];
    for (Eigen::Index f = 0; f < width; ++f)
      features(r, f) = double{features_of(set, row)[static_cast<std::size_t>(f)]};
    for (Eigen::Index k = 0; k < outputs; ++k) truth(r, k) = answer_of(set, row)[static_cast<std::size_t>(k)];
  }
  const LinearModel model = logistic_model(features, truth, set.spec().multilabel, 200);
  return [&set, model](std::int64_t row) {
    const std::vector<float> x = features_of(set, row);
    std::vector<double> out;
    for (Eigen::Index k = 0; k < model.offset.size(); ++k) {
      double z = model.offset[k];
      for (std::size_t f = 0; f < x.size(); ++f) z += double{x[f]} * model.weights(static_cast<Eigen::Index>(f), k);
      out.push_back(z);
    }
    return out;
  };
}

double cross_entropy(const std::vector<double>& logits, const std::vector<double>& answer, double scale) {
  double sum = 0, own = 0;
  const double largest = *std::ranges::max_element(logits);
  for (std::size_t k = 0; k < logits.size(); ++k) {
    sum += std::exp(scale * (logits[k] - largest));
    own += answer[k] * scale * (logits[k] - largest);
  }
  return std::log(sum) - own;
}

double mean_over(const data::Dataset& set, Part part, const std::function<double(std::int64_t)>& of) {
  double sum = 0;
  for (const std::int64_t row : set.rows(part)) sum += of(row);
  return sum / static_cast<double>(set.rows(part).size());
}

TEST(Baselines, OfNumbersAreTheMeanAndLeastSquares) {
  Rng rng(1);
  for (int i = 0; i < 20; ++i) {
    const data::Dataset set =
        sampled_set(rng.split(i), {.width = 1 + static_cast<std::int64_t>(rng.below(6)), .targets = 1 + i % 3});
    const auto found = baselines(set, "mse", {"mae"});
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[2].name, "trees");
    std::vector<double> mean(static_cast<std::size_t>(set.spec().target_size));
    for (const std::int64_t row : set.rows(Part::kTrain)) {
      for (std::size_t k = 0; k < mean.size(); ++k)
        mean[k] += answer_of(set, row)[k] / static_cast<double>(set.rows(Part::kTrain).size());
    }
    const Matrix linear = least_squares(set);
    const auto error = [&](const std::vector<double>& prediction, std::int64_t row) {
      double sum = 0;
      for (std::size_t k = 0; k < prediction.size(); ++k) sum += std::fabs(prediction[k] - answer_of(set, row)[k]);
      return sum / static_cast<double>(prediction.size());
    };
    for (const auto& [part, prefix] : {std::pair(Part::kValidation, "val_"), {Part::kTest, "test_"}}) {
      const std::string name = std::string(prefix) + "mae";
      EXPECT_EQ(found[0].name, "constant");
      EXPECT_NEAR(found[0].metrics.at(name), mean_over(set, part, [&](auto row) { return error(mean, row); }), 1e-10);
      EXPECT_EQ(found[1].name, "linear");
      EXPECT_NEAR(found[1].metrics.at(name),
                  mean_over(set, part, [&](auto row) { return error(predicted(linear, features_of(set, row)), row); }),
                  1e-10);
    }
  }
}

TEST(Baselines, OfClassesAreFrequenciesAndLogisticRegression) {
  Rng rng(2);
  for (int i = 0; i < 10; ++i) {
    const data::Dataset set =
        sampled_set(rng.split(i), {.width = 1 + static_cast<std::int64_t>(rng.below(6)), .classes = 2 + i % 4});
    const auto found = baselines(set, "cross_entropy", {"accuracy"});
    ASSERT_EQ(found.size(), 3U);

    std::vector<double> share(static_cast<std::size_t>(set.spec().classes));
    for (const std::int64_t row : set.rows(Part::kTrain)) {
      for (std::size_t k = 0; k < share.size(); ++k) share[k] += answer_of(set, row)[k];
    }
    const double rows = static_cast<double>(set.rows(Part::kTrain).size());
    std::vector<double> logits;
    for (const double s : share) logits.push_back(std::log(std::max(s, 0.5) / rows));
    const auto loss = [&](std::int64_t row) { return cross_entropy(logits, answer_of(set, row), 1); };
    EXPECT_NEAR(found[0].metrics.at("val_loss"), mean_over(set, Part::kValidation, loss), 1e-12);
    const auto most = std::ranges::max_element(share) - share.begin();
    const auto right = [&](std::int64_t row) { return answer_of(set, row)[static_cast<std::size_t>(most)]; };
    EXPECT_NEAR(found[0].metrics.at("test_accuracy"), mean_over(set, Part::kTest, right), 1e-12);

    const auto logits_of = logistic(set);
    const auto loss_of = [&](std::int64_t row) { return cross_entropy(logits_of(row), answer_of(set, row), 1); };
    EXPECT_NEAR(found[1].metrics.at("val_loss"), mean_over(set, Part::kValidation, loss_of), 1e-12);
    const auto hit = [&](std::int64_t row) {
      const auto prediction = logits_of(row);
      return answer_of(set, row)[static_cast<std::size_t>(std::ranges::max_element(prediction) - prediction.begin())];
    };
    EXPECT_NEAR(found[1].metrics.at("test_accuracy"), mean_over(set, Part::kTest, hit), 1e-12);
  }
}

TEST(Baselines, OfLabelsAreFrequenciesAndLogisticRegression) {
  Rng rng(4);
  for (int i = 0; i < 10; ++i) {
    const data::Dataset set = sampled_set(
        rng.split(i), {.width = 1 + static_cast<std::int64_t>(rng.below(4)), .targets = 1 + i % 3, .multilabel = true});
    const auto found = baselines(set, "bce", {"accuracy"});
    ASSERT_EQ(found.size(), 3U);
    // The mean over labels of log(1 + e^-z), z on the side of the truth.
    const auto loss = [&](const std::vector<double>& logits, std::int64_t row) {
      const auto truth = answer_of(set, row);
      double sum = 0;
      for (std::size_t k = 0; k < truth.size(); ++k)
        sum += std::log1p(std::exp(truth[k] == 1 ? -logits[k] : logits[k]));
      return sum / static_cast<double>(truth.size());
    };
    std::vector<double> odds(static_cast<std::size_t>(set.spec().target_size));
    const double rows = static_cast<double>(set.rows(Part::kTrain).size());
    for (const std::int64_t row : set.rows(Part::kTrain)) {
      for (std::size_t k = 0; k < odds.size(); ++k) odds[k] += answer_of(set, row)[k];
    }
    for (double& share : odds) share = std::log(share / (rows - share));
    EXPECT_NEAR(found[0].metrics.at("val_loss"),
                mean_over(set, Part::kValidation, [&](auto row) { return loss(odds, row); }), 1e-12);

    const auto logits_of = logistic(set);
    EXPECT_NEAR(found[1].metrics.at("test_loss"),
                mean_over(set, Part::kTest, [&](auto row) { return loss(logits_of(row), row); }), 1e-12);
  }
}

TEST(Baselines, OmitTheLinearModelWhenItDoesNotFit) {
  EXPECT_EQ(baselines(sampled_set(Rng(3), {.width = kMaxFeatures + 1, .rows = 16}), "mse", {}).size(), 1U);
  EXPECT_EQ(baselines(sampled_set(Rng(3), {.width = kMaxFeatures, .rows = 16}), "mse", {}).size(), 3U);
}

TEST(Baselines, OfEqualTargetsAreRight) {
  const auto r2_by = [](std::int64_t rules) {
    data::RawData raw;
    raw.spec.features.dims = {1};
    raw.spec.rules = rules;
    data::Split split;
    for (std::int64_t row = 0; row < 200; ++row) {
      raw.features.push_back(static_cast<float>(row % 7));
      raw.targets.push_back(5.5F);
      split[row % 4 < 2 ? 0 : static_cast<std::size_t>(row % 4 - 1)].push_back(row);
    }
    const auto set = data::Dataset::make(std::move(raw), std::move(split), "auto", "auto");
    return baselines(*set, "mse", {"r2"}).front().metrics.at("val_r2");
  };
  EXPECT_EQ(r2_by(study::kLatestRules), 1);
  EXPECT_EQ(r2_by(study::kFirstRules), 0);
}

// As trials are: the loss in deviations, all else in the targets' own unit.
TEST(Baselines, OfStandardisedTargetsHaveTheirUnitInTheLossAlone) {
  const Case raw{.width = 3};
  Case standard = raw;
  standard.how = "standardize";
  const data::Dataset one = sampled_set(Rng(8), raw), other = sampled_set(Rng(8), standard);
  const double scale = other.spec().target_normalization->scale[0];
  const auto plain = baselines(one, "mse", {"mae", "r2"}), seen = baselines(other, "mse", {"mae", "r2"});
  ASSERT_EQ(seen.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto& [name, value] : plain[i].metrics) {
      const double wanted = name.ends_with("loss") ? value / (scale * scale) : value;
      EXPECT_NEAR(seen[i].metrics.at(name), wanted, 1e-9 * (1 + std::abs(wanted))) << name;
    }
  }
}

}  // namespace
}  // namespace lanista::train
