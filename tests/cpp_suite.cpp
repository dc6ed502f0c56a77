// Random, mutated and published models as C++ source. Programs of many models are compiled and run, and their results
// are compared with those of lanista in double precision.
//
//   cpp_suite FOLDER RANDOM MUTATED SAMPLES [FIRST]     number of models of each kind; random ones from number FIRST on
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "export_cases.h"
#include "lanista/base/check.h"
#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/model/graph/text.h"
#include "support/engine/local/cpp_program.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using testing::ExportCase;

constexpr std::size_t kModelsAUnit = 40;  // the start of the compiler is slower than one model

struct Tally {
  std::int64_t models = 0, ill_conditioned = 0, failed = 0;
  double worst = 0;  ///< largest error of models that are not ill-conditioned
};

void report_failure(const ExportCase& one, const std::string& why, Tally& tally) {
  ++tally.failed;
  std::cout << "FAILED: " << one.name << ": " << why << "\n" << graph::to_text(one.graph);
}

void run_unit(const fs::path& folder, const std::vector<ExportCase>& cases, Tally& tally) {
  tally.models += static_cast<std::int64_t>(cases.size());
  std::vector<const ExportCase*> written;  // models that can be written as C++
  std::vector<std::string> sources;
  std::string x;
  for (const ExportCase& one : cases) {
    auto source = formats::to_cpp(one.graph, one.weights);
    if (!source) {
      report_failure(one, source.error().text(), tally);
      continue;
    }
    written.push_back(&one);
    sources.push_back(*std::move(source));
    x.append(reinterpret_cast<const char*>(one.x.bytes.data()), one.x.bytes.size());
  }
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::vector<float> seen = runtime::testing::predictions(folder, sources, x);

  std::size_t at = 0;
  for (const ExportCase* one : written) {
    LANISTA_CHECK(at + one->y.size() <= seen.size(), "the program ends early");
    const auto begin = seen.begin() + static_cast<std::ptrdiff_t>(at);
    const double away = testing::distance({begin, begin + static_cast<std::ptrdiff_t>(one->y.size())}, one->y);
    at += one->y.size();
    if (!(away <= one->tolerance)) {
      report_failure(*one, "differs by " + std::to_string(away) + ", allowed is " + std::to_string(one->tolerance),
                     tally);
    }
    tally.ill_conditioned += one->is_ill_conditioned ? 1 : 0;
    if (!one->is_ill_conditioned) tally.worst = std::max(tally.worst, away);
  }
  LANISTA_CHECK(at == seen.size(), "the program prints too many numbers");
  fs::remove_all(folder);
}

int run_all(const fs::path& folder, const std::vector<std::int64_t>& counts) {
  Tally tally;
  std::vector<ExportCase> unit;
  const auto add = [&](ExportCase one) {
    unit.push_back(std::move(one));
    if (unit.size() < kModelsAUnit) return;
    run_unit(folder, unit, tally);
    unit.clear();
  };
  for (std::int64_t i = 0; i < counts[0]; ++i) add(testing::random_case(static_cast<std::uint64_t>(counts[3] + i)));
  for (ExportCase& one : testing::mutated_cases(static_cast<std::uint64_t>(counts[1]))) add(std::move(one));
  for (ExportCase& one : testing::published_cases(static_cast<std::uint64_t>(counts[2]))) add(std::move(one));
  if (!unit.empty()) run_unit(folder, unit, tally);
  std::printf("%lld models in C++: largest difference %.2g; %lld are ill-conditioned; %lld failed\n",
              static_cast<long long>(tally.models), tally.worst, static_cast<long long>(tally.ill_conditioned),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 && tally.models > 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::cerr << "usage: cpp_suite FOLDER RANDOM MUTATED SAMPLES [FIRST]\n";
    return 2;
  }
  std::vector<std::int64_t> counts;
  for (int i = 2; i < argc; ++i) counts.push_back(std::atoll(argv[i]));
  counts.resize(4, 0);
  return lanista::run_all(argv[1], counts);
}
