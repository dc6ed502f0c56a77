// Random, mutated and published models as C++ source: many at a time become one program, which is compiled, run, and
// compared with what lanista computes in double precision.
//
//   cpp_suite FOLDER RANDOM MUTATED SAMPLES [FIRST]     how many of each kind; random models from number FIRST on
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "export_cases.h"
#include "lanista/base/check.h"
#include "lanista/formats/cpp_source.h"
#include "lanista/graph/text.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using testing::ExportCase;

constexpr std::size_t kModelsAUnit = 40;  // starting the compiler takes longer than one model

constexpr std::string_view kDriverHead = R"(#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

template <class F>
void run(F predict, std::size_t in, std::size_t out) {
  std::vector<float> x(in), y(out);
  for (int sample = 0; sample < 3; ++sample) {
    if (std::fread(x.data(), sizeof(float), in, stdin) != in) return;
    predict(x.data(), y.data());
    std::fwrite(y.data(), sizeof(float), out, stdout);
  }
}
)";

struct Tally {
  std::int64_t models = 0, ill_conditioned = 0, failed = 0;
  double worst = 0;  ///< of the models that are not ill conditioned
};

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  LANISTA_CHECK(file.flush().good(), "cannot write " + path.string());
}

bool succeeds(const fs::path& folder, const std::string& command) {
  return std::system(("cd '" + folder.string() + "' && " + command).c_str()) == 0;
}

void tell(const ExportCase& one, const std::string& why, Tally& tally) {
  ++tally.failed;
  std::cout << "FAILED: " << one.name << ": " << why << "\n" << graph::to_text(one.graph);
}

/// The cases that have a form in C++, as sources in the folder beside a driver and its input.
std::vector<const ExportCase*> write_unit(const fs::path& folder, const std::vector<ExportCase>& cases, Tally& tally) {
  std::vector<const ExportCase*> written;
  std::string driver(kDriverHead), calls, x;
  for (const ExportCase& one : cases) {
    const auto source = formats::to_cpp(one.graph, one.weights);
    if (!source) {
      tell(one, source.error().text(), tally);
      continue;
    }
    const std::string model = "m" + std::to_string(written.size());
    write(folder / (model + ".inc"), *source);
    driver += "namespace " + model + " {\n#include \"" + model + ".inc\"\n}\n";
    calls +=
        "  run(" + model + "::model::predict, " + model + "::model::input_size, " + model + "::model::output_size);\n";
    x.append(reinterpret_cast<const char*>(one.x.bytes.data()), one.x.bytes.size());
    written.push_back(&one);
  }
  write(folder / "driver.cpp", driver + "int main() {\n" + calls + "}\n");
  write(folder / "x", x);
  return written;
}

void run_unit(const fs::path& folder, const std::vector<ExportCase>& cases, Tally& tally) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  tally.models += static_cast<std::int64_t>(cases.size());
  const auto written = write_unit(folder, cases, tally);
  const std::string compiler = LANISTA_TEST_CXX;
  LANISTA_CHECK(succeeds(folder, "'" + compiler + "' -std=c++17 -O1 -Wall -Wextra -Werror driver.cpp -o driver"),
                "the sources do not compile");
  LANISTA_CHECK(succeeds(folder, "./driver < x > y"), "the program fails");
  std::ostringstream bytes;
  bytes << std::ifstream(folder / "y", std::ios::binary).rdbuf();
  const std::string all = bytes.str();
  std::vector<float> seen(all.size() / sizeof(float));
  std::memcpy(seen.data(), all.data(), seen.size() * sizeof(float));

  std::size_t at = 0;
  for (const ExportCase* one : written) {
    LANISTA_CHECK(at + one->y.size() <= seen.size(), "the program ends early");
    const auto begin = seen.begin() + static_cast<std::ptrdiff_t>(at);
    const double away = testing::distance({begin, begin + static_cast<std::ptrdiff_t>(one->y.size())}, one->y);
    at += one->y.size();
    if (!(away <= one->tolerance)) {
      tell(*one, "is " + std::to_string(away) + " away, allowed is " + std::to_string(one->tolerance), tally);
    }
    tally.ill_conditioned += one->is_ill_conditioned ? 1 : 0;
    if (!one->is_ill_conditioned) tally.worst = std::max(tally.worst, away);
  }
  LANISTA_CHECK(at == seen.size(), "the program says more than it should");
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
  std::printf("%lld models in C++: largest difference %.2g; %lld are ill conditioned; %lld failed\n",
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
