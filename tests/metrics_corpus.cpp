// Writes random predictions that are difficult for metrics, with our values of all metrics, one JSON object a line, for
// readers/metrics_oracle.py. usage: metrics_corpus FILE CASES

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/record_fields.h"

namespace {

using namespace lanista;
using nlohmann::json;

struct Case {
  std::int64_t classes = 0;  // 0: regression or labels
  bool multilabel = false;
  std::int64_t width = 1;
  std::size_t rows = 1;
  std::vector<double> scores;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  bool plain = false;  // no tiny probabilities, so that their doubles are exact enough
};

std::size_t some_rows(Rng& rng) { return rng.bernoulli(0.3) ? 1 + rng.below(8) : 1 + rng.below(500); }

void sample_labels(Case& sampled_case, Rng& rng) {
  const auto classes = static_cast<std::uint64_t>(sampled_case.classes);
  const auto kind = rng.below(5);
  const auto only = rng.below(classes), missing = rng.below(classes);
  const double share = rng.uniform();
  for (std::size_t i = 0; i < sampled_case.rows; ++i) {
    std::uint64_t label = rng.below(classes);
    if (kind == 0) label = only;                                       // one class
    if (kind == 1 && label == missing) label = (label + 1) % classes;  // a missing class
    if (kind == 2 && rng.uniform() < share) label = only;              // a frequent class
    sampled_case.labels.push_back(static_cast<std::int32_t>(label));
  }
}

// Samples logits with ties. A sum of exponentials depends on its order, so a tie must be exact for each reader. Tied
// rows are therefore equal, or differ by an exact number; with two classes, coarse numbers are enough.
void sample_logits(Case& sampled_case, Rng& rng) {
  const auto width = static_cast<std::size_t>(sampled_case.width);
  const auto kind = rng.below(5);
  sampled_case.plain = kind <= 1;
  const double size = kind == 2 ? 1000 : rng.uniform(0.1, 4), skill = rng.uniform(-0.5, 3);
  for (std::size_t i = 0; i < sampled_case.rows; ++i) {
    if (kind == 3 && i > 0 && rng.bernoulli(0.6)) {
      const std::size_t like = rng.below(i);
      const double apart = static_cast<double>(rng.between(-3, 3));
      for (std::size_t k = 0; k < width; ++k)
        sampled_case.scores.push_back(sampled_case.scores[like * width + k] + apart);
      continue;
    }
    for (std::size_t k = 0; k < width; ++k) {
      double logit = size * (rng.normal() + (sampled_case.labels[i] == static_cast<std::int32_t>(k) ? skill : 0));
      if (kind == 3) logit = static_cast<double>(static_cast<std::int64_t>(logit * 64)) / 64;
      if (kind == 4) logit = width == 2 ? static_cast<double>(rng.between(-2, 2)) : 0;
      sampled_case.scores.push_back(logit);
    }
  }
}

Case sample_classes(Rng& rng) {
  Case sampled_case;
  sampled_case.classes = sampled_case.width = rng.bernoulli(0.4) ? 2 : rng.between(3, 12);
  sampled_case.rows = some_rows(rng);
  sample_labels(sampled_case, rng);
  sample_logits(sampled_case, rng);
  return sampled_case;
}

Case sample_numbers(Rng& rng) {
  Case sampled_case;
  sampled_case.width = rng.bernoulli(0.6) ? 1 : rng.between(2, 4);
  sampled_case.rows = some_rows(rng);
  const auto kind = rng.below(5);
  const double center = rng.bernoulli(0.5) ? 0 : 1000 * rng.normal(), size = rng.uniform(0.01, 50);
  for (std::size_t i = 0; i < sampled_case.rows * static_cast<std::size_t>(sampled_case.width); ++i) {
    double target = center + size * rng.normal();
    if (kind == 0) target = center;                                   // constant
    if (kind == 1) target = static_cast<double>(rng.between(-2, 2));  // equal targets, zeros
    const auto stored = static_cast<float>(target);
    sampled_case.targets.push_back(stored);
    double error = size * rng.normal() * rng.uniform();
    if (kind == 2 && rng.bernoulli(0.02)) error *= 1e6;
    if (kind == 3 || (kind == 0 && center > 0)) error = 0;  // no error
    sampled_case.scores.push_back(static_cast<double>(stored) - error);
  }
  return sampled_case;
}

// Samples labels, of which some are in all rows or in none, and logits with ties and extreme values.
Case sample_label_case(Rng& rng) {
  Case sampled_case;
  sampled_case.multilabel = true;
  sampled_case.width = rng.between(1, 6);
  sampled_case.rows = some_rows(rng);
  const auto kind = rng.below(4);
  const double size = kind == 0 ? 500 : rng.uniform(0.1, 4), skill = rng.uniform(-0.5, 3);
  std::vector<double> shares;
  for (std::int64_t k = 0; k < sampled_case.width; ++k)
    shares.push_back(rng.bernoulli(0.1) ? 0 : rng.bernoulli(0.1) ? 1 : rng.uniform());
  for (std::size_t i = 0; i < sampled_case.rows; ++i) {
    for (const double share : shares) {
      const bool has = rng.uniform() < share;
      sampled_case.targets.push_back(has ? 1.0F : 0.0F);
      const double logit = size * (rng.normal() + (has ? skill : 0));
      sampled_case.scores.push_back(kind == 1 ? static_cast<double>(static_cast<std::int64_t>(logit)) : logit);
    }
  }
  return sampled_case;
}

std::string loss_of(const Case& sampled_case) {
  return sampled_case.classes > 0 ? "cross_entropy" : sampled_case.multilabel ? "bce" : "mse";
}

std::map<std::string, double> measured(const Case& sampled_case, Rng& rng) {
  std::vector<std::string> metrics = study::applicable_metrics(
      sampled_case.multilabel ? study::Targets::multilabel() : study::Targets(sampled_case.classes));
  if (sampled_case.multilabel) {
    // All metrics of the task.
  } else if (sampled_case.classes > 0) {
    metrics.push_back("top" + std::to_string(rng.between(2, sampled_case.classes)));
  } else {
    metrics.push_back("quantile" + std::to_string(rng.between(1, 99)));
  }
  const train::Evaluation evaluation(loss_of(sampled_case), metrics, sampled_case.width);
  program::HostMetrics host(evaluation.requested(), sampled_case.width, kernels::best_isa());
  program::MetricSums sums;
  const auto width = static_cast<std::size_t>(sampled_case.width);
  for (std::size_t at = 0, size = 0; at < sampled_case.rows; at += size) {
    size = std::min<std::size_t>(1 + rng.below(64), sampled_case.rows - at);
    const auto scores = std::span(sampled_case.scores).subspan(at * width, size * width);
    if (sampled_case.classes > 0) {
      host.add(scores, std::span(sampled_case.labels).subspan(at, size), {}, sums);
    } else {
      host.add(scores, {}, std::span(sampled_case.targets).subspan(at * width, size * width), sums);
    }
  }
  return evaluation.values(sums, "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: metrics_corpus FILE CASES\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  for (std::uint64_t i = 0; i < std::stoull(argv[2]); ++i) {
    Rng rng = Rng(20).split(i);
    const Case sampled_case = i % 4 == 3   ? sample_label_case(rng)
                              : i % 4 == 2 ? sample_numbers(rng)
                                           : sample_classes(rng);
    json line{{"case", i},
              {"classes", sampled_case.classes},
              {"multilabel", sampled_case.multilabel},
              {"width", sampled_case.width},
              {"plain", sampled_case.plain},
              {"scores", sampled_case.scores},
              {"labels", sampled_case.labels},
              {"targets", std::vector<double>(sampled_case.targets.begin(), sampled_case.targets.end())},
              {"metrics", study::fields::metrics_json(measured(sampled_case, rng))}};
    file << line.dump() << "\n";
  }
  file.close();
  return file ? 0 : 1;
}
