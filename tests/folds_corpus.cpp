// Makes folds of random rows, and writes rows and folds, one JSON object a line, for readers/folds_oracle.py.
// usage: folds_corpus FILE CASES

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/io/data/fold_assignment.h"

namespace {

using namespace lanista;
using nlohmann::json;

std::int64_t below(Rng& rng, std::int64_t count) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
}

json random_case(Rng rng) {
  const std::int64_t rows = 12 + below(rng, rng.bernoulli(0.3) ? 20 : 300), classes = 2 + below(rng, 4);
  const std::int64_t folds = 2 + below(rng, 9), repetition = below(rng, 4), groups = 2 + below(rng, rows / 2);
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> group_of;
  std::vector<double> times;
  data::FoldInput input;
  const bool has_test = rng.bernoulli(0.5), has_ties = rng.bernoulli(0.5);
  for (std::int64_t row = 0; row < rows; ++row) {
    labels.push_back(static_cast<std::int32_t>(below(rng, classes)));
    group_of.push_back(below(rng, groups));
    times.push_back(has_ties ? static_cast<double>(below(rng, rows / 2)) : rng.uniform());
    if (!has_test || !rng.bernoulli(0.2)) input.rows.push_back(row);
  }
  constexpr const char* kKinds[] = {"rows", "classes", "groups", "grouped classes", "times", "blocks"};
  const std::string kind = kKinds[below(rng, 6)];
  if (kind == "classes" || kind == "grouped classes") {
    input.labels = labels;
    input.classes = classes;
  }
  if (kind == "groups" || kind == "grouped classes") input.groups = group_of;
  if (kind == "times") input.times = times;
  input.is_sequential = kind == "blocks";
  json out{{"kind", kind},   {"rows", input.rows}, {"labels", labels},         {"groups", group_of},
           {"times", times}, {"folds", folds},     {"repetition", repetition}, {"ties", has_ties}};
  const auto assignment = data::make_folds(input, folds, repetition);
  if (!assignment) {
    out["refused"] = assignment.error().message;
    return out;
  }
  for (std::size_t fold = 0; fold < assignment->folds.size(); ++fold) {
    out["trainings"].push_back({{"train", assignment->train_rows(fold)}, {"validation", assignment->folds[fold]}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: folds_corpus FILE CASES\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  const Rng root(20);
  const std::uint64_t cases = std::stoull(argv[2]);
  for (std::uint64_t number = 0; number < cases; ++number) out << random_case(root.split(number)).dump() << "\n";
  return out.flush() ? 0 : 1;
}
