#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "bench/bench.h"
#include "bench/blas_environment.h"
#include "lanista/base/printable.h"

namespace {

// Starts this program again with the variables that OpenBLAS needs, since it reads them while it is loaded. If that
// fails, the baselines are slower, not wrong.
void restart_with_blas_settings(char** argv) {
  const auto settings = lanista::bench::missing_blas_variables();
  if (settings.empty()) return;
  for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace

// The program lanista-bench, which `lanista bench` runs. Exit codes: 0 done, 1 failed or arms disagree, 2 wrong usage.
int main(int argc, char** argv) {
  CLI::App app{"lanista bench: run a benchmark; arms of a case are interleaved, values are medians", "lanista bench"};
  lanista::bench::BenchRequest request;
  bool list = false;
  app.add_option("name", request.name, "the benchmark");
  app.add_flag("--list", list, "list all benchmarks");
  app.add_flag("--json", request.json, "JSON lines instead of a table");
  app.add_option("--repeats", request.repeats, "interleaved repeats of every arm")->check(CLI::Range(1, 1000));
  app.add_option(
         "--case", request.cases,
         "cluster, train-step, fuse, gpu, functions, fluid, halving-real, mltuner, pack-hyperband, pipeline, profiles, "
         "warm-start, zoo-match: only these cases (default: all)")
      ->delimiter(',');
  app.add_option("--lanes", request.lanes, "fuse, gpu: models at once (default: 1,2,4,...,64; gpu: 1,16,64,256)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--file", request.file,
                 "tabular: the table, with columns cell, NAME-val, NAME-test; profiles: measured models; cluster: the "
                 "workload, with columns name, time, application, num_replicas, batch_size");
  app.add_option("--data", request.data, "cluster: folder of the traces of the workload's applications");
  app.add_option("--column", request.column, "tabular: NAME of the columns (default: cifar10)");
  app.add_option(
      "--strategy", request.strategy,
      "tabular, functions: only this strategy; cluster, mltuner: only this arm (mltuner: or its options as JSON); "
      "warm-start: these arms in addition to random, with commas");
  app.add_option("--seeds", request.seeds,
                 "tabular: searches by each strategy (default: 200, gp 20; functions: 50, gp 10; mltuner: 10); fluid: "
                 "groups or jobs of a case; warm-start: streams of models (default: 3); cluster: searches of pollux; "
                 "pipeline: graphs of a campaign")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--queries", request.queries,
                 "tabular, functions: trials of a search (default: 500; 100); warm-start: models of a stream")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option(
         "--epochs", request.epochs,
         "tabular: simulated learning curves of this many epochs, with asha and without; queries are full trainings")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--slots", request.slots, "functions, tabular with --epochs: trials that train at a time (default: 1)")
      ->check(CLI::Range(1, 10'000));
  app.add_flag("--two-goals", request.two_goals, "tabular with --epochs: accuracy and few weights");
  app.add_flag("--worst", request.worst, "fluid: 1,000 random groups with wrong predictions, against first come");
  app.add_option("--seed", request.seed, "fluid --worst, pipeline: other groups, other graphs (default: 20)");
  app.add_option(
         "--devices", request.devices,
         "gpu: names of devices, as in run.devices (default: torch:cuda:0); case cells-64 has 64 different models")
      ->delimiter(',');
  app.add_option("--peak-tflops", request.peak_tflops,
                 "gpu: float32 speed of the card in TFLOP/s, for the limit (default: 67, an H100)")
      ->check(CLI::PositiveNumber);
  app.add_option("--bandwidth-gbs", request.bandwidth_gbs,
                 "gpu: bandwidth of the card's memory in GB/s (default: 3350, an H100)")
      ->check(CLI::PositiveNumber);
  app.add_option("--write", request.write,
                 "gpu: write weights, batch and first losses of the cases to this folder, for tools/gpu_peers.py");
  app.footer(R"(examples:
  lanista bench --list
  lanista bench train-step --json
  lanista bench fuse --case mlp-64,cnn-28 --lanes 4
  lanista bench gpu --devices torch:cpu --lanes 1,16
  lanista bench tabular --file accuracy.csv --seeds 20
  lanista bench cluster --file workload-6.csv --data pollux)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (list || request.name.empty()) {
    for (const auto& entry : lanista::bench::benchmarks()) std::cout << entry.name << "  " << entry.help << "\n";
    return list ? 0 : 2;
  }
  restart_with_blas_settings(argv);
  try {
    const auto done = lanista::bench::run(request, std::cout);
    if (done) return 0;
    std::cerr << "lanista bench: " << lanista::printable(done.error().text()) << "\n";
    const auto code = done.error().code;
    return code == lanista::Code::kNotFound || code == lanista::Code::kInvalidArgument ? 2 : 1;
  } catch (const std::exception& e) {
    std::cerr << "lanista bench: internal error: " << lanista::printable(e.what()) << "\n";
    return 1;
  }
}
