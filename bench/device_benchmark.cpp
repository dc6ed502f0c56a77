#include "bench/device_benchmark.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <ostream>
#include <utility>

#include "bench/arms.h"
#include "bench/case_files.h"
#include "bench/cell_population.h"
#include "bench/lane_time_slices.h"
#include "lanista/exec/backends/device.h"

namespace lanista::bench {
namespace {

constexpr int kAgreementSteps = 20;
// Relative tolerance of losses over these steps. A rounding may move a value across a kink of a model, so one model in
// ten may have ten times that difference.
constexpr double kTolerance = 1e-4, kAllowedOutliers = 0.1;
constexpr std::int64_t kChunkSteps = 50;
constexpr double kBytesOfParameter = 20;       // weight and momentum are read and written, the gradient moves once
constexpr double kMaxPopulationSeconds = 0.5;  // seconds of a chunk above which no longer chunk is timed

using Batch = std::shared_ptr<const CaseBatch>;
using Losses = std::vector<double>;  // [step, model]

struct Device {
  std::string name;
  const program::Backend* backend = nullptr;
};

/// Models of one structure as lanes of one program.
class Lanes final : public Population {
 public:
  explicit Lanes(LanistaProgram program) : program_(std::move(program)) {}
  std::int64_t models() const override { return program_.lanes(); }
  std::vector<double> step() override {
    const auto losses = program_.step();
    return {losses.begin(), losses.end()};
  }
  void run(std::int64_t steps) override { program_.run(steps); }
  std::int64_t bytes() const override { return program_.bytes(); }
  double compile_seconds() const override { return program_.compile_seconds(); }

 private:
  LanistaProgram program_;
};

/// Compiles the models of a case on a device.
using MakePopulation = std::function<Result<std::unique_ptr<Population>>(const program::Backend&)>;

/// The models of one case on a device. After the first failure they are not run again.
struct ComparedDevice {
  std::string name;
  bool to_the_bit = false;  ///< true if its losses must have the bits of the CPU
  std::unique_ptr<Population> population;
  std::string failure;  ///< reason of the failure; empty: none

  /// Runs `call` unless the device has failed. An exception is a failure.
  template <class Call>
  void guarded(const Call& call) {
    if (!failure.empty()) return;
    try {
      call();
    } catch (const std::exception& e) {
      failure = e.what();
    }
  }
  /// Seconds of a chunk with `chunks` times kChunkSteps steps.
  double chunk_seconds(std::int64_t chunks) {
    const double begin = now_seconds();
    guarded([&] { population->run(chunks * kChunkSteps); });
    return now_seconds() - begin;
  }
};

/// The losses of kAgreementSteps steps.
Losses losses_of(const std::function<std::vector<double>()>& step) {
  Losses out;
  for (int i = 0; i < kAgreementSteps; ++i) {
    const auto losses = step();
    out.insert(out.end(), losses.begin(), losses.end());
  }
  return out;
}

/// The losses of the lanista kernels for `models` models as lanes.
Result<Losses> reference_losses(const Case& c, std::int64_t models, const Batch& batch) {
  LANISTA_ASSIGN(auto program,
                 LanistaProgram::make(c, {.lanes = models, .threads = static_cast<int>(host_cores())}, batch));
  return losses_of([&] {
    const auto losses = program.step();
    return std::vector<double>(losses.begin(), losses.end());
  });
}

/// The losses of one program for each model.
Losses reference_losses(std::vector<LanistaProgram>& programs) {
  return losses_of([&] {
    std::vector<double> losses;
    for (LanistaProgram& program : programs) losses.push_back(program.step().front());
    return losses;
  });
}

/// The largest relative distance of each model from `reference`, which has the losses of `models` models or more.
std::vector<double> distances_of(const Losses& theirs, std::size_t lanes, const Losses& reference, std::size_t models) {
  std::vector<double> largest(lanes);
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double ours = reference[i / lanes * models + i % lanes];
    const double distance = theirs[i] == ours ? 0 : std::abs(theirs[i] - ours) / std::abs(ours);
    if (!(distance <= largest[i % lanes])) largest[i % lanes] = distance;
  }
  return largest;
}

/// The reason why distances are too large; empty if they are not.
std::string disagreement(const std::vector<double>& distances, double allowed) {
  const auto beyond = [&](double limit) {
    return std::ranges::count_if(distances, [&](double each) { return !(each <= limit); });
  };
  const auto outliers = static_cast<double>(beyond(allowed));
  if (outliers <= kAllowedOutliers * static_cast<double>(distances.size()) && beyond(10 * allowed) == 0) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "losses of %.0f of %zu models differ by more than %g (relative) from those of the lanista kernels",
                outliers, distances.size(), allowed);
  return text;
}

/// Runs the first steps on a device and returns the largest relative distance from `reference`. If it is too large, the
/// device has failed.
double compare(ComparedDevice& device, const Losses& reference, std::size_t models) {
  double largest = 0;
  device.guarded([&] {
    const auto lanes = static_cast<std::size_t>(device.population->models());
    const auto distances = distances_of(losses_of([&] { return device.population->step(); }), lanes, reference, models);
    largest = *std::ranges::max_element(distances);
    device.failure = disagreement(distances, device.to_the_bit ? 0 : kTolerance);
  });
  return largest;
}

/// Benchmark `gpu`: opens devices, runs cases, prints rows.
class DeviceBenchmark {
 public:
  DeviceBenchmark(const BenchRequest& request, std::ostream& out)
      : request_(request), out_(out), repeats_(request.repeats > 0 ? request.repeats : 5) {}

  /// Opens a device, or prints why it is skipped.
  void open(const OpenDevice& open, const std::string& name) {
    const auto backend = open(name);
    if (backend.ok()) {
      devices_.push_back({name, *backend});
    } else {
      report_missing("all", name, "skipped", backend.error().text());
    }
  }

  /// Runs a case for each number of models.
  Result<void> run_case(const Case& c, std::span<const std::int64_t> lanes) {
    const std::int64_t most = *std::ranges::max_element(lanes);
    const auto batch = std::make_shared<CaseBatch>(c);
    LANISTA_ASSIGN(const Losses reference, reference_losses(c, most, batch));
    for (const std::int64_t models : lanes) {
      LANISTA_TRY(run_lanes(c, models, batch, reference, static_cast<std::size_t>(most)));
    }
    return {};
  }

  /// Runs the case cells-N.
  Result<void> run_cells(std::int64_t count) {
    const std::string name = "cells-" + std::to_string(count);
    const std::vector<Cell> cells = random_cells(count);
    const auto batch = std::make_shared<CaseBatch>(cell_case(cells.front()));
    LANISTA_ASSIGN(std::vector<LanistaProgram> programs, cells_on_host(cells, batch));
    const Losses reference = reference_losses(programs);
    auto devices = compared_devices(name, reference, cells.size(),
                                    [&](const program::Backend& backend) { return cells_on(backend, cells, batch); });
    time(name, count, work_per_core(programs, host_cores()), devices);
    StepInput mean;
    for (const LanistaProgram& program : programs) {
      mean.flops += program.step_work().flops / static_cast<double>(count);
      mean.state_bytes += program.step_work().state_bytes / static_cast<double>(count);
    }
    print_limit(name, mean);
    return {};
  }

  /// Returns kInternal with all failures, if there is one.
  Result<void> end() const {
    if (failures_.empty()) return {};
    return Error{Code::kInternal, failures_, ""};
  }

 private:
  BenchRow row(const std::string& name, const std::string& arm, const std::string& unit, double value) const {
    return {request_.name, name, arm, unit, value, 0, 1};
  }
  void print(const BenchRow& row) {
    bench::print(row, request_.json, out_);
    out_ << std::flush;
  }
  void report_missing(const std::string& name, const std::string& arm, const std::string& status,
                      const std::string& reason) {
    print_missing(row(name, arm, "", 0), status, reason, request_.json, out_);
    out_ << std::flush;
    if (status == "failed") failures_ += (failures_.empty() ? "" : "; ") + name + ", " + arm + ": " + reason;
  }

  // The devices on which the case compiles and agrees with the reference.
  std::vector<std::unique_ptr<ComparedDevice>> compared_devices(const std::string& name, const Losses& reference,
                                                                std::size_t most, const MakePopulation& make) {
    std::vector<std::unique_ptr<ComparedDevice>> out;
    for (const Device& device : devices_) {
      std::unique_ptr<Population> population;
      try {
        auto made = make(*device.backend);
        if (!made.ok()) {
          report_missing(name, device.name, made.error().code == Code::kInternal ? "failed" : "skipped",
                         made.error().text());
          continue;
        }
        population = *std::move(made);
      } catch (const std::exception& e) {
        report_missing(name, device.name, "failed", e.what());
        continue;
      }
      const bool to_the_bit = device.backend->numeric_class() == program::cpu_backend().numeric_class();
      out.push_back(std::make_unique<ComparedDevice>(device.name, to_the_bit, std::move(population), std::string()));
      const double distance = compare(*out.back(), reference, most);
      print(row(name, device.name + "-distance", "ppm", 1e6 * distance));
      if (drop_failed(name, *out.back())) out.pop_back();
    }
    return out;
  }

  // Prints a failure. Returns true if the device has failed.
  bool drop_failed(const std::string& name, const ComparedDevice& device) {
    if (!device.failure.empty()) report_missing(name, device.name, "failed", device.failure);
    return !device.failure.empty();
  }

  Result<void> run_lanes(const Case& c, std::int64_t models, const Batch& batch, const Losses& reference,
                         std::size_t most) {
    const std::string name = c.name + "/" + std::to_string(models);
    LANISTA_ASSIGN(auto workers, LaneTimeSlices::share(c, models, host_cores(), batch));
    auto devices = compared_devices(
        name, reference, most, [&](const program::Backend& backend) -> Result<std::unique_ptr<Population>> {
          LANISTA_ASSIGN(auto program, LanistaProgram::make(c, {.lanes = models, .backend = &backend}, batch));
          return std::unique_ptr<Population>(std::make_unique<Lanes>(std::move(program)));
        });
    time(name, models, work_per_core(workers), devices);
    print_limit(name, workers.front().program().step_work());
    return {};
  }

  // Times all arms of a case.
  void time(const std::string& name, std::int64_t models, std::vector<RepeatedWork> own_works,
            const std::vector<std::unique_ptr<ComparedDevice>>& devices) {
    std::vector<Arm> arms{timed("own", std::move(own_works))};
    for (const auto& device : devices) {
      arms.push_back(timed(device->name, {{[each = device.get()] { each->chunk_seconds(1); },
                                           static_cast<double>(models * kChunkSteps)}}));
    }
    const auto values = run_rounds(arms, repeats_);
    print(summary(request_.name, name, "own", "us/step", values[0]));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (drop_failed(name, *devices[i])) continue;
      print(summary(request_.name, name, devices[i]->name, "us/step", values[i + 1]));
      const auto is_own = [](const std::string& arm) { return arm == "own"; };
      for (const BenchRow& each : compare_to_best(request_.name, name, "own", devices[i]->name, arms, values, is_own))
        print(each);
      print_costs(name, *devices[i]);
    }
  }

  // Prints the time of a step, the memory and the compile time of a device.
  void print_costs(const std::string& name, ComparedDevice& device) {
    std::vector<double> steps;
    for (int round = 0; round < repeats_; ++round) {
      const double one = device.chunk_seconds(1);
      if (one > kMaxPopulationSeconds) break;
      steps.push_back(1e6 * (device.chunk_seconds(3) - one) / (2.0 * kChunkSteps));
    }
    if (drop_failed(name, device)) return;
    if (!steps.empty()) print(summary(request_.name, name, device.name + "-step", "us", steps));
    print(row(name, device.name + "-bytes", "bytes", static_cast<double>(device.population->bytes())));
    print(row(name, device.name + "-plan", "ms", 1e3 * device.population->compile_seconds()));
  }

  void print_limit(const std::string& name, const StepInput& work) {
    const double arithmetic = work.flops / (1e6 * request_.peak_tflops);
    const double parameters = work.state_bytes / (2 * sizeof(float));
    print(row(name, "limit", "us/step",
              std::max(arithmetic, kBytesOfParameter * parameters / (1e3 * request_.bandwidth_gbs))));
  }

  const BenchRequest& request_;
  std::ostream& out_;
  int repeats_;
  std::vector<Device> devices_;
  std::string failures_;
};

// Removes "cells-N" from the names of cases and returns N. 0 if it is not among them, kMaxCells if there are no names.
Result<std::int64_t> cells_among(std::vector<std::string>& names) {
  if (names.empty()) return kMaxCells;
  const auto found = std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("cells-"); });
  if (found == names.end()) return 0;
  const std::string name = *found, digits = name.substr(6);
  names.erase(found);
  const bool is_number = !digits.empty() && digits.size() <= 2 &&
                         std::ranges::all_of(digits, [](char digit) { return digit >= '0' && digit <= '9'; });
  const std::int64_t count = is_number ? std::stoll(digits) : 0;
  if (count >= 1 && count <= kMaxCells) return count;
  return Error{Code::kNotFound, "there is no case '" + name + "'; allowed are cells-1 to cells-64", "--case"};
}

}  // namespace

Result<void> benchmark_devices(const BenchRequest& request, const OpenDevice& open, std::ostream& out) {
  std::vector<std::string> names = request.cases;
  LANISTA_ASSIGN(const std::int64_t cells, cells_among(names));
  std::vector<Case> cases;
  if (!names.empty() || request.cases.empty()) {
    LANISTA_ASSIGN(cases, training_cases(names));
  }
  const std::vector<std::int64_t> lanes =
      request.lanes.empty() ? std::vector<std::int64_t>{1, 16, 64, 256} : request.lanes;
  if (!request.write.empty()) {
    return write_case_files(cases, std::min<std::int64_t>(64, *std::ranges::max_element(lanes)), kAgreementSteps,
                            cells > 0 ? random_cells(cells) : std::vector<Cell>(), request.write);
  }
  DeviceBenchmark benchmark(request, out);
  for (const std::string& name : request.devices.empty() ? std::vector<std::string>{"torch:cuda:0"} : request.devices) {
    benchmark.open(open, name);
  }
  for (const Case& c : cases) LANISTA_TRY(benchmark.run_case(c, lanes));
  if (cells > 0) LANISTA_TRY(benchmark.run_cells(cells));
  return benchmark.end();
}

Result<void> gpu(const BenchRequest& request, std::ostream& out) {
  return benchmark_devices(
      request, [](const std::string& name) { return device::open(name); }, out);
}

}  // namespace lanista::bench
