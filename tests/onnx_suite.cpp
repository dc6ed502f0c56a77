// Random, mutated and published models in ONNX: each is exported, read, and run here. Models and results are written
// for tests/readers/onnx_suite.py, which runs them with onnxruntime.
//
//   onnx_suite FILE RANDOM MUTATED SAMPLES [FIRST]     number of models of each kind; random ones from number FIRST on
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "export_cases.h"
#include "lanista/base/check.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/text.h"

namespace lanista {
namespace {

using testing::ExportCase;

struct Tally {
  std::int64_t models = 0, ill_conditioned = 0, same_bits = 0, failed = 0;
  double worst = 0;  ///< largest error of models that are not ill-conditioned
  std::map<std::string, std::int64_t> refused;
};

/// Appends a record: the length of the header, the header, the model, x in single and y in double precision.
void append(std::ofstream& file, const ExportCase& one, const std::string& onnx) {
  const std::string header = nlohmann::json{
      {"name", one.name},
      {"onnx", onnx.size()},
      {"x", one.x.shape},
      {"y", one.shape},
      {"tolerance", std::isfinite(one.tolerance) ? one.tolerance : -1},
      {"ill_conditioned",
       one.is_ill_conditioned}}.dump();
  const auto size = static_cast<std::uint32_t>(header.size());
  file.write(reinterpret_cast<const char*>(&size), sizeof size);
  file << header << onnx;
  file.write(reinterpret_cast<const char*>(one.x.bytes.data()), static_cast<std::streamsize>(one.x.bytes.size()));
  file.write(reinterpret_cast<const char*>(one.y.data()), static_cast<std::streamsize>(one.y.size() * sizeof(double)));
}

Result<void> check(const ExportCase& one, std::ofstream& file, Tally& tally) {
  ++tally.models;
  tally.ill_conditioned += one.is_ill_conditioned ? 1 : 0;
  const auto exported = formats::to_onnx(one.graph, one.weights, {});
  if (!exported) {
    if (exported.error().code != Code::kUnimplemented) return exported.error();
    ++tally.refused[exported.error().message];
    return {};
  }
  const std::string bytes = formats::encode_onnx(*exported);
  append(file, one, bytes);
  LANISTA_ASSIGN(const auto decoded, formats::decode_onnx(bytes));
  LANISTA_ASSIGN(const auto back, formats::from_onnx(decoded));

  const auto ours = testing::computed(one.graph, one.weights, one.x, Precision::kFloat32);
  const auto theirs = testing::computed(back.graph, back.weights, one.x, Precision::kFloat32);
  if (theirs.size() != ours.size()) {
    return Error{Code::kInternal, "the imported model has another number of outputs", ""};
  }
  tally.same_bits += testing::distance(theirs, ours) == 0 ? 1 : 0;
  const double away = testing::distance(theirs, one.y);
  if (!(away <= one.tolerance)) {
    return Error{
        Code::kInternal,
        "the imported model differs by " + std::to_string(away) + ", allowed is " + std::to_string(one.tolerance), ""};
  }
  if (!one.is_ill_conditioned) tally.worst = std::max(tally.worst, away);
  return {};
}

void run(const ExportCase& one, std::ofstream& file, Tally& tally) {
  const auto checked = check(one, file, tally);
  if (checked) return;
  ++tally.failed;
  std::cout << "FAILED: " << one.name << ": " << checked.error().text() << "\n"
            << graph::to_text(one.graph) << std::flush;
}

int run_all(const std::string& path, const std::vector<std::int64_t>& counts) {
  std::ofstream file(path, std::ios::binary);
  Tally tally;
  for (std::int64_t i = 0; i < counts[0]; ++i) {
    run(testing::random_case(static_cast<std::uint64_t>(counts[3] + i)), file, tally);
  }
  for (const ExportCase& one : testing::mutated_cases(static_cast<std::uint64_t>(counts[1]))) run(one, file, tally);
  for (const ExportCase& one : testing::published_cases(static_cast<std::uint64_t>(counts[2]))) run(one, file, tally);
  LANISTA_CHECK(file.flush().good(), "cannot write " + path);
  for (const auto& [why, count] : tally.refused) std::cout << "refused: " << count << "  " << why << "\n";
  std::printf(
      "%lld models exported and imported: %lld with the same bits, largest difference %.2g; "
      "%lld are ill-conditioned; %lld failed\n",
      static_cast<long long>(tally.models), static_cast<long long>(tally.same_bits), tally.worst,
      static_cast<long long>(tally.ill_conditioned), static_cast<long long>(tally.failed));
  return tally.failed == 0 && tally.models > 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::cerr << "usage: onnx_suite FILE RANDOM MUTATED SAMPLES [FIRST]\n";
    return 2;
  }
  std::vector<std::int64_t> counts;
  for (int i = 2; i < argc; ++i) counts.push_back(std::atoll(argv[i]));
  counts.resize(4, 0);
  return lanista::run_all(argv[1], counts);
}
