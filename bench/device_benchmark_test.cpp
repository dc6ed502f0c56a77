#include "bench/device_benchmark.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/cell_population.h"
#include "bench/lanista_program.h"
#include "lanista/exec/backends/device.h"
#include "lanista/model/graph/text.h"

namespace lanista::bench {
namespace {

using nlohmann::json;

/// The CPU backend in double precision, with the given numeric class. Its losses differ in the last bits. Five lanes
/// are too many. Seven lanes throw at once, and three lanes throw after the comparison of losses.
class DifferentBitsBackend final : public program::Backend {
 public:
  explicit DifferentBitsBackend(std::string numeric_class) : class_(std::move(numeric_class)) {}
  std::string_view name() const override { return "other"; }
  std::string_view numeric_class() const override { return class_; }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    if (options.lanes == 7) throw std::runtime_error("the driver is gone");
    if (options.lanes > 4) return Error{Code::kResourceExhausted, "four lanes are the most", ""};
    program::ProgramOptions wide = options;
    wide.precision = Precision::kFloat64;
    if (options.lanes == 3) {
      wide.before_commit = [done = std::make_shared<std::atomic<int>>(0)](std::int64_t) {
        if (++*done > 3 * 20) throw std::runtime_error("the card is gone");
      };
    }
    return program::cpu_backend().compile(train, infer, wide);
  }

 private:
  std::string class_;
};

struct BenchOutput {
  Result<void> done;
  std::map<std::string, json> rows;  // by "CASE ARM"
};

// Runs the benchmark and parses its rows.
BenchOutput benchmark(const BenchRequest& request, const OpenDevice& open) {
  std::ostringstream out;
  BenchOutput seen{benchmark_devices(request, open, out), {}};
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    seen.rows[row["case"].get<std::string>() + " " + row["arm"].get<std::string>()] = row;
  }
  return seen;
}

BenchRequest request_of(std::vector<std::string> devices, std::vector<std::int64_t> lanes) {
  BenchRequest request;
  request.name = "gpu";
  request.repeats = 1;
  request.json = true;
  request.cases = {"mlp-64"};
  request.lanes = std::move(lanes);
  request.devices = std::move(devices);
  return request;
}

TEST(DeviceBenchmark, TimesDevicesAndCpuKernels) {
  const auto seen = benchmark(request_of({"same"}, {1, 3}), [](const std::string&) { return &program::cpu_backend(); });

  ASSERT_TRUE(seen.done.ok()) << seen.done.error().text();
  for (const std::string name : {"mlp-64/1 ", "mlp-64/3 "}) {
    for (const std::string arm : {"own", "same", "own/same", "own/same-low", "same-step", "same-bytes", "limit"}) {
      ASSERT_TRUE(seen.rows.contains(name + arm)) << name + arm;
      EXPECT_GT(seen.rows.at(name + arm)["value"], 0) << name + arm;
    }
    EXPECT_EQ(seen.rows.at(name + "same-distance")["value"], 0);
  }
}

// The model 64-64-10 has 4,810 parameters. A step has 32 samples, and no gradient of the input.
TEST(DeviceBenchmark, PrintsDeviceLimit) {
  BenchRequest request = request_of({}, {1});
  const auto limit = [&] {
    return benchmark(request,
                     [](const std::string&) {
                       return Error{Code::kUnavailable, "none", ""};
                     })
        .rows.at("mlp-64/1 limit")["value"]
        .get<double>();
  };
  const double flops = 2.0 * 32 * (2 * 64 * 64 + 3 * 64 * 10);

  request.peak_tflops = 1e-3, request.bandwidth_gbs = 1e9;
  EXPECT_NEAR(limit(), flops / 1e3, 1e-9 * flops);
  request.peak_tflops = 1e9, request.bandwidth_gbs = 2;
  EXPECT_NEAR(limit(), 20.0 * 4810 / 2e3, 1e-9);
}

TEST(DeviceBenchmark, SkipsUnavailableDevicesWithReason) {
  const DifferentBitsBackend other("other-1");
  const auto seen =
      benchmark(request_of({"none", "small"}, {4, 5}), [&](const std::string& name) -> Result<const program::Backend*> {
        if (name == "none") return Error{Code::kUnavailable, "no such card", ""};
        return &other;
      });

  ASSERT_TRUE(seen.done.ok()) << seen.done.error().text();
  EXPECT_EQ(seen.rows.at("all none")["status"], "skipped");
  EXPECT_NE(seen.rows.at("all none")["reason"].get<std::string>().find("no such card"), std::string::npos);
  EXPECT_EQ(seen.rows.at("mlp-64/5 small")["status"], "skipped");
  EXPECT_TRUE(seen.rows.at("mlp-64/4 small").contains("value"));
  EXPECT_TRUE(seen.rows.at("mlp-64/5 own").contains("value"));
}

TEST(DeviceBenchmark, RequiresEqualBitsWithinNumericClassOnly) {
  const DifferentBitsBackend other_class("other-1"), cpu_class(std::string(program::cpu_backend().numeric_class()));

  const auto close_result = benchmark(request_of({"d"}, {2}), [&](const std::string&) { return &other_class; });
  EXPECT_TRUE(close_result.done.ok());
  const double distance = close_result.rows.at("mlp-64/2 d-distance")["value"];
  EXPECT_GT(distance, 0);
  EXPECT_LT(distance, 10);

  const auto distant_result = benchmark(request_of({"d"}, {2}), [&](const std::string&) { return &cpu_class; });
  ASSERT_FALSE(distant_result.done.ok());
  EXPECT_EQ(distant_result.done.error().code, Code::kInternal);
  EXPECT_EQ(distant_result.rows.at("mlp-64/2 d")["status"], "failed");
  EXPECT_TRUE(distant_result.rows.contains("mlp-64/2 own"));
}

TEST(DeviceBenchmark, ContinuesAfterDeviceErrorAndFailsAtEnd) {
  const DifferentBitsBackend other("other-1");
  const auto seen =
      benchmark(request_of({"d", "same"}, {7, 3, 2}), [&](const std::string& name) -> Result<const program::Backend*> {
        return name == "d" ? &other : &program::cpu_backend();
      });

  ASSERT_FALSE(seen.done.ok());
  EXPECT_NE(seen.done.error().message.find("the driver is gone"), std::string::npos);
  EXPECT_EQ(seen.rows.at("mlp-64/7 d")["status"], "failed");
  EXPECT_TRUE(seen.rows.at("mlp-64/7 same").contains("value"));
  EXPECT_TRUE(seen.rows.contains("mlp-64/3 d-distance"));
  EXPECT_EQ(seen.rows.at("mlp-64/3 d")["reason"], "the card is gone");
  EXPECT_FALSE(seen.rows.contains("mlp-64/3 own/d"));
  EXPECT_TRUE(seen.rows.at("mlp-64/2 d").contains("value"));
}

TEST(DeviceBenchmark, CompilesProgramForEachDifferentCell) {
  BenchRequest request = request_of({"same"}, {1});
  request.cases = {"cells-3"};
  const auto seen = benchmark(request, [](const std::string&) { return &program::cpu_backend(); });

  ASSERT_TRUE(seen.done.ok()) << seen.done.error().text();
  EXPECT_EQ(seen.rows.at("cells-3 same-distance")["value"], 0);
  for (const std::string arm : {"own", "same", "own/same", "same-bytes", "same-plan", "limit"}) {
    EXPECT_GT(seen.rows.at("cells-3 " + arm)["value"], 0) << arm;
  }

  for (const std::string name : {"cells-0", "cells-65", "cells-", "cells-many"}) {
    request.cases = {name};
    const auto refused = benchmark(request, {});
    ASSERT_FALSE(refused.done.ok()) << name;
    EXPECT_EQ(refused.done.error().code, Code::kNotFound);
    EXPECT_NE(refused.done.error().message.find("cells-1 to cells-64"), std::string::npos);
  }
}

TEST(Cells, BlockLaunchHasLossesOfCpuKernels) {
  const auto blocks = device::open("block:host");
  if (!blocks) GTEST_SKIP() << blocks.error().text();
  const std::vector<Cell> cells = random_cells(3);
  const auto batch = std::make_shared<CaseBatch>(cell_case(cells[0]));
  auto population = cells_on(**blocks, cells, batch);
  auto own = cells_on_host(cells, batch);
  ASSERT_TRUE(population.ok() && own.ok());
  for (int step = 0; step < 3; ++step) {
    std::vector<double> expected;
    for (LanistaProgram& program : *own) expected.push_back(program.step().front());
    EXPECT_EQ((*population)->step(), expected) << step;
  }
}

TEST(Cells, AreDistinctModels) {
  const std::vector<Cell> cells = random_cells(kMaxCells);
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  std::set<std::string> steps;
  for (const Cell& cell : cells) {
    const auto train = autodiff::derive_training_step(cell_case(cell).model, {}, ops);
    ASSERT_TRUE(train.ok());
    steps.insert(graph::to_text(train->graph));
  }
  EXPECT_EQ(steps.size(), cells.size());
  const std::vector<Cell> few = random_cells(3);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].ops, cells[i].ops);
}

// The array `name` of a case file.
std::vector<float> array_of(const std::string& folder, const json& of, const std::string& name) {
  for (const json& each : of["arrays"]) {
    if (each["name"] != name) continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : each["shape"]) elements *= size;
    std::vector<float> out(static_cast<std::size_t>(elements));
    std::ifstream file(folder + "/" + of["file"].get<std::string>(), std::ios::binary);
    file.seekg(each["offset"].get<std::int64_t>() * 4);
    file.read(reinterpret_cast<char*>(out.data()), elements * 4);
    EXPECT_TRUE(file.good()) << name;
    return out;
  }
  ADD_FAILURE() << "no array " << name;
  return {};
}

TEST(CaseFiles, ContainStartWeightsAndLosses) {
  const auto folder = std::filesystem::temp_directory_path() / ("lanista-cases-" + std::to_string(::getpid()));
  BenchRequest request = request_of({}, {3});
  request.cases = {"cnn-digits", "cells-2"};
  request.write = folder.string();

  const auto seen = benchmark(request, [](const std::string&) { return &program::cpu_backend(); });

  ASSERT_TRUE(seen.done.ok()) << seen.done.error().text();
  EXPECT_TRUE(seen.rows.empty());
  const json index = json::parse(std::ifstream(folder / "cases.json"));
  ASSERT_EQ(index["cases"].size(), 2U);
  const json& cells_entry = index["cases"][1];
  EXPECT_EQ(cells_entry["name"], "cells-2");
  ASSERT_EQ(cells_entry["cells"].size(), 2U);
  EXPECT_EQ(cells_entry["cells"][1].size(), 6U);
  auto second = LanistaProgram::make(cell_case(random_cells(2)[1]), {.first = 1},
                                     std::make_shared<CaseBatch>(cell_case(random_cells(1)[0])));
  ASSERT_TRUE(second.ok());
  for (const Tensor& tensor : second->weights(0).trained) {
    const auto expected = elements_of<float>(tensor);
    EXPECT_EQ(array_of(request.write, cells_entry, "1/trained/" + tensor.name),
              std::vector<float>(expected.begin(), expected.end()));
  }
  const auto losses_of_cells = array_of(request.write, cells_entry, "losses");
  EXPECT_EQ(losses_of_cells.at(1), static_cast<float>(second->step().front()));
  EXPECT_EQ(losses_of_cells.at(3), static_cast<float>(second->step().front()));
  const json& of = index["cases"][0];
  const Case c = training_cases(std::vector<std::string>{"cnn-digits"})->front();
  const CaseBatch batch(c);
  EXPECT_EQ(array_of(request.write, of, "features"), batch.features());
  EXPECT_EQ(array_of(request.write, of, "labels"), std::vector<float>(batch.labels().begin(), batch.labels().end()));
  auto program = LanistaProgram::make(c, 3, 1);
  ASSERT_TRUE(program.ok());
  std::vector<float> rates, losses;
  for (std::int64_t lane = 0; lane < 3; ++lane) rates.push_back(static_cast<float>(program->rate(lane)));
  EXPECT_EQ(array_of(request.write, of, "rates"), rates);
  const StartWeights last = program->weights(2);
  for (const Tensor& tensor : last.trained) {
    const auto all = array_of(request.write, of, "trained/" + tensor.name);
    const auto expected = elements_of<float>(tensor);
    ASSERT_EQ(all.size(), 3 * expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.end() - static_cast<std::ptrdiff_t>(expected.size())));
  }
  for (int step = 0; step < 20; ++step) {
    for (const double loss : program->step()) losses.push_back(static_cast<float>(loss));
  }
  EXPECT_EQ(array_of(request.write, of, "losses"), losses);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lanista::bench
