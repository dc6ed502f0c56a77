// Campaigns of failures against the whole program. They must not lose, change or stop a study. The program power_proof
// tests power losses.
//
// - campaign LANISTA signals [COUNT [SEED]]: signals to COUNT studies, 500 by default; the earlier name is storms
// - campaign LANISTA log [STRIDE [SEED]]: damaged logs; the program reads each STRIDE-th of them
// - campaign LANISTA files [COUNT [SEED]]: COUNT changed files, 2,000 by default; the earlier name is mutants
// - campaign LANISTA grid [few]: each strategy with several numbers of workers and lanes
// - campaign LANISTA workers [KILLS [STOPS [HALVING [SEED]]]]: 200 kills and 20 stops of worker processes by default;
//   HALVING is the `stop` of a study file
//
// Temporary files are in $TMPDIR, else in memory. Files that caused a failure are copied to the current folder.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "campaign/corrupted_files.h"
#include "campaign/grid.h"
#include "campaign/log_damage.h"
#include "campaign/signal_stress.h"
#include "campaign/worker_signal_stress.h"

int main(int argc, char** argv) {
  // An absolute path, since each call has another current folder.
  const std::string lanista = argc > 1 ? std::filesystem::absolute(argv[1]).string() : "";
  const std::string what = argc > 2 ? argv[2] : "";
  const auto number = [&](int index, std::uint64_t otherwise) {
    return index < argc ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  const auto count = [&](std::uint64_t otherwise) { return static_cast<std::int64_t>(number(3, otherwise)); };
  bool passed = false;
  if (what == "signals" || what == "storms") {
    passed = lanista::campaign::run_signal_stress(lanista, count(500), number(4, 1));
  } else if (what == "log") {
    passed = lanista::campaign::run_log_damage(lanista, number(3, 1), number(4, 1));
  } else if (what == "files" || what == "mutants") {
    passed = lanista::campaign::run_corrupted_files(lanista, LANISTA_SOURCE_DIR, count(2000), number(4, 1));
  } else if (what == "grid") {
    passed = lanista::campaign::run_grid(lanista, argc > 3);
  } else if (what == "workers") {
    const std::string halving = argc > 5 ? argv[5] : "{rule: asha, type: promotion, rungs: [1, 3]}";
    const auto stops = static_cast<std::int64_t>(number(4, 20));
    passed = lanista::campaign::run_worker_signal_stress(lanista, count(200), stops, halving, number(6, 1));
  } else {
    std::fprintf(stderr, "usage: campaign LANISTA signals|log|files|grid|workers [NUMBER [SEED]]\n");
    return 2;
  }
  return passed ? 0 : 1;
}
