#include <algorithm>
#include <charconv>
#include <ostream>

#include "bench/arms.h"
#include "bench/fluid.h"
#include "lanista/base/csv.h"
#include "lanista/base/file_system.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/decision_builder.h"
#include "lanista/plan/elastic/elastic.h"
#include "lanista/plan/elastic/first_come.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::bench {
namespace {

using plan::Arrival;
using plan::Prediction;

constexpr std::size_t kBarrier = 50;
constexpr double kSteps = 1000;  // steps of each model; only ratios are printed

// The number in a cell, in (least, most]. Errors: kDataLoss.
Result<double> number_at(const formats::CsvTable& table, std::size_t row, std::size_t column, double least,
                         double most) {
  const std::string_view cell = table.cell(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !(value > least && value <= most)) {
    return Error{Code::kDataLoss,
                 "profile " + std::to_string(row + 1) + ": " + table.header()[column] + " is '" + std::string(cell) +
                     "'; it must be a number above " + std::to_string(least) +
                     (most < 1e300 ? " and up to " + std::to_string(most) : ""),
                 ""};
  }
  return value;
}

// The trials of a table of profiles.
Result<std::vector<Prediction>> read_profiles(std::string_view text) {
  LANISTA_ASSIGN(const formats::CsvTable table, formats::parse_csv(text));
  std::vector<std::size_t> columns;
  for (const char* name : {"step_seconds_median", "gpu_utilisation_mean", "peak_memory_fraction"}) {
    const auto found = std::ranges::find(table.header(), name);
    if (found == table.header().end())
      return Error{Code::kNotFound, std::string("the table has no column ") + name, ""};
    columns.push_back(static_cast<std::size_t>(found - table.header().begin()));
  }
  std::vector<Prediction> trials;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    LANISTA_ASSIGN(const double seconds, number_at(table, row, columns[0], 0, 1e300));
    LANISTA_ASSIGN(const double busy, number_at(table, row, columns[1], 0, 1));
    LANISTA_ASSIGN(const double memory, number_at(table, row, columns[2], 0, 1));
    // Widths above one were not measured, so each trial has one worker.
    Prediction trial = plan::prediction_of(seconds, 0, busy, memory, seconds * kSteps * 0.01);
    trial.steps = kSteps;
    trials.push_back(trial);
  }
  if (trials.empty()) return Error{Code::kDataLoss, "the table has no rows", ""};
  return trials;
}

/// Places each trial, in order, on the first worker with enough memory and free time.
class Greedy : public plan::Policy {
 public:
  std::string_view name() const override { return "greedy"; }
  plan::Decision decide(const plan::SchedulerState& situation) const override {
    plan::DecisionBuilder board(situation);
    for (std::size_t i = 0; i < situation.tasks.size(); ++i) {
      if (!board.placement(i).waits()) continue;
      for (std::int32_t worker = 0; worker < board.num_workers(); ++worker) {
        const double busy = board.load(worker).busy + situation.tasks[i].expected.busy;
        if (!board.can_join(i, worker) || (board.load(worker).count > 0 && busy > 1)) continue;
        board.join(i, worker);
        break;
      }
    }
    board.rebalance_parts();
    return std::move(board).decision();
  }
};

/// Groups of trials one after the other.
class Barriers : public plan::TrialSource {
 public:
  Barriers(const std::vector<Prediction>& trials, std::size_t size) : trials_(trials), size_(size) {}
  std::vector<Arrival> next(std::span<const plan::TrialEnd>, std::size_t waiting, std::size_t running) override {
    std::vector<Arrival> requested;
    if (waiting + running > 0) return requested;
    for (; at_ < trials_.size() && requested.size() < size_; ++at_) {
      requested.push_back({static_cast<std::int64_t>(at_), trials_[at_], trials_[at_], {}});
    }
    return requested;
  }

 private:
  const std::vector<Prediction>& trials_;
  std::size_t size_, at_ = 0;
};

}  // namespace

Result<void> profiles(const BenchRequest& request, std::ostream& out) {
  if (request.file.empty()) {
    return Error{
        Code::kInvalidArgument,
        "profiles needs a table: --file mnasnet.csv (step_seconds_median, gpu_utilisation_mean, peak_memory_fraction)",
        ""};
  }
  LANISTA_ASSIGN(const std::string text, real_file_system().read(request.file, 0));
  const auto read = read_profiles(text);
  if (!read) return Error{read.error().code, read.error().message, request.file};
  const std::vector<Prediction>& trials = *read;
  std::vector<std::unique_ptr<plan::Policy>> policies;
  policies.push_back(plan::first_come());
  policies.push_back(std::make_unique<Greedy>());
  policies.push_back(plan::elastic());
  for (const double interference : {0.0, 0.02}) {
    plan::Cluster cluster;
    cluster.workers = 4;
    cluster.shares = 8;
    cluster.widest = 1;
    cluster.interference = interference;
    for (const std::size_t size : {kBarrier, trials.size()}) {
      double bound = 0;
      for (std::size_t at = 0; at < trials.size(); at += size) {
        bound += plan::bounds_of(std::span(trials).subspan(at, std::min(size, trials.size() - at)), cluster).best();
      }
      const std::string name =
          std::string(size == kBarrier ? "barriers-of-50" : "no-barrier") + (interference > 0 ? "-interference" : "");
      if (!request.cases.empty() && std::ranges::find(request.cases, name) == request.cases.end()) continue;
      for (const auto& policy : policies) {
        Barriers source(trials, size);
        LANISTA_ASSIGN(const auto simulation, plan::simulate(cluster, source, *policy));
        if (simulation.makespan < bound * (1 - 1e-6)) {
          return Error{Code::kInternal, std::string(policy->name()) + " ended before the bound", name};
        }
        print({"profiles", name, std::string(policy->name()), "of ideal bound", simulation.makespan / bound, 0, 1},
              request.json, out);
        out << std::flush;
      }
    }
  }
  return {};
}

}  // namespace lanista::bench
