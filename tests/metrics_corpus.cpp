// Draws predictions with everything that is awkward for a metric, and writes them with what we say of them, one JSON
// object a line, for readers/metrics_oracle.py. usage: metrics_corpus FILE CASES

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/record_fields.h"
#include "lanista/exec/train/evaluation.h"

namespace {

using namespace lanista;
using nlohmann::json;

struct Case {
  std::int64_t classes = 0;  // 0: numbers, or labels
  bool multilabel = false;
  std::int64_t width = 1;
  std::size_t rows = 1;
  std::vector<double> scores;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  bool plain = false;  // probabilities of ordinary size, so that rounding them to doubles loses nothing
};

std::size_t some_rows(Rng& rng) { return rng.bernoulli(0.3) ? 1 + rng.below(8) : 1 + rng.below(500); }

void draw_labels(Case& drawn, Rng& rng) {
  const auto classes = static_cast<std::uint64_t>(drawn.classes);
  const auto kind = rng.below(5);
  const auto only = rng.below(classes), missing = rng.below(classes);
  const double share = rng.uniform();
  for (std::size_t i = 0; i < drawn.rows; ++i) {
    std::uint64_t label = rng.below(classes);
    if (kind == 0) label = only;                                       // one class
    if (kind == 1 && label == missing) label = (label + 1) % classes;  // one class less
    if (kind == 2 && rng.uniform() < share) label = only;              // one in excess
    drawn.labels.push_back(static_cast<std::int32_t>(label));
  }
}

// Sums of exponentials in another order round otherwise, so ties must be ties to every reader: equal rows, rows apart
// by an exact number, and of two classes any coarse numbers.
void draw_logits(Case& drawn, Rng& rng) {
  const auto width = static_cast<std::size_t>(drawn.width);
  const auto kind = rng.below(5);
  drawn.plain = kind <= 1;
  const double size = kind == 2 ? 1000 : rng.uniform(0.1, 4), skill = rng.uniform(-0.5, 3);
  for (std::size_t i = 0; i < drawn.rows; ++i) {
    if (kind == 3 && i > 0 && rng.bernoulli(0.6)) {
      const std::size_t like = rng.below(i);
      const double apart = static_cast<double>(rng.between(-3, 3));
      for (std::size_t k = 0; k < width; ++k) drawn.scores.push_back(drawn.scores[like * width + k] + apart);
      continue;
    }
    for (std::size_t k = 0; k < width; ++k) {
      double logit = size * (rng.normal() + (drawn.labels[i] == static_cast<std::int32_t>(k) ? skill : 0));
      if (kind == 3) logit = static_cast<double>(static_cast<std::int64_t>(logit * 64)) / 64;
      if (kind == 4) logit = width == 2 ? static_cast<double>(rng.between(-2, 2)) : 0;
      drawn.scores.push_back(logit);
    }
  }
}

Case draw_classes(Rng& rng) {
  Case drawn;
  drawn.classes = drawn.width = rng.bernoulli(0.4) ? 2 : rng.between(3, 12);
  drawn.rows = some_rows(rng);
  draw_labels(drawn, rng);
  draw_logits(drawn, rng);
  return drawn;
}

Case draw_numbers(Rng& rng) {
  Case drawn;
  drawn.width = rng.bernoulli(0.6) ? 1 : rng.between(2, 4);
  drawn.rows = some_rows(rng);
  const auto kind = rng.below(5);
  const double center = rng.bernoulli(0.5) ? 0 : 1000 * rng.normal(), size = rng.uniform(0.01, 50);
  for (std::size_t i = 0; i < drawn.rows * static_cast<std::size_t>(drawn.width); ++i) {
    double target = center + size * rng.normal();
    if (kind == 0) target = center;                                   // constant
    if (kind == 1) target = static_cast<double>(rng.between(-2, 2));  // equal ones, zeros
    const auto stored = static_cast<float>(target);
    drawn.targets.push_back(stored);
    double error = size * rng.normal() * rng.uniform();
    if (kind == 2 && rng.bernoulli(0.02)) error *= 1e6;
    if (kind == 3 || (kind == 0 && center > 0)) error = 0;  // all right
    drawn.scores.push_back(static_cast<double>(stored) - error);
  }
  return drawn;
}

// Labels that all rows have, or none; logits that tie, and those that are far out.
Case draw_of_labels(Rng& rng) {
  Case drawn;
  drawn.multilabel = true;
  drawn.width = rng.between(1, 6);
  drawn.rows = some_rows(rng);
  const auto kind = rng.below(4);
  const double size = kind == 0 ? 500 : rng.uniform(0.1, 4), skill = rng.uniform(-0.5, 3);
  std::vector<double> shares;
  for (std::int64_t k = 0; k < drawn.width; ++k) shares.push_back(rng.bernoulli(0.1) ? 0 : rng.bernoulli(0.1) ? 1 : rng.uniform());
  for (std::size_t i = 0; i < drawn.rows; ++i) {
    for (const double share : shares) {
      const bool has = rng.uniform() < share;
      drawn.targets.push_back(has ? 1.0F : 0.0F);
      const double logit = size * (rng.normal() + (has ? skill : 0));
      drawn.scores.push_back(kind == 1 ? static_cast<double>(static_cast<std::int64_t>(logit)) : logit);
    }
  }
  return drawn;
}

std::string loss_of(const Case& drawn) { return drawn.classes > 0 ? "cross_entropy" : drawn.multilabel ? "bce" : "mse"; }

std::map<std::string, double> measured(const Case& drawn, Rng& rng) {
  std::vector<std::string> metrics =
      study::suiting_metrics(drawn.multilabel ? study::Targets::multilabel() : study::Targets(drawn.classes));
  if (drawn.multilabel) {
    // All that there are.
  } else if (drawn.classes > 0) {
    metrics.push_back("top" + std::to_string(rng.between(2, drawn.classes)));
  } else {
    metrics.push_back("quantile" + std::to_string(rng.between(1, 99)));
  }
  const train::Evaluation evaluation(loss_of(drawn), metrics, drawn.width);
  nn::HostMetrics host(evaluation.asked(), drawn.width, kernels::best_isa());
  nn::MetricSums sums;
  const auto width = static_cast<std::size_t>(drawn.width);
  for (std::size_t at = 0, size = 0; at < drawn.rows; at += size) {
    size = std::min<std::size_t>(1 + rng.below(64), drawn.rows - at);
    const auto scores = std::span(drawn.scores).subspan(at * width, size * width);
    if (drawn.classes > 0) {
      host.add(scores, std::span(drawn.labels).subspan(at, size), {}, sums);
    } else {
      host.add(scores, {}, std::span(drawn.targets).subspan(at * width, size * width), sums);
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
    const Case drawn = i % 4 == 3 ? draw_of_labels(rng) : i % 4 == 2 ? draw_numbers(rng) : draw_classes(rng);
    json line{{"case", i},
              {"classes", drawn.classes},
              {"multilabel", drawn.multilabel},
              {"width", drawn.width},
              {"plain", drawn.plain},
              {"scores", drawn.scores},
              {"labels", drawn.labels},
              {"targets", std::vector<double>(drawn.targets.begin(), drawn.targets.end())},
              {"metrics", study::fields::metrics_json(measured(drawn, rng))}};
    file << line.dump() << "\n";
  }
  file.close();
  return file ? 0 : 1;
}
