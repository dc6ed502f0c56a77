// The proof that nothing that happens on the way leaves a trace: studies drawn at random meet requests, pauses, kills
// in the middle of any write, resumes and extensions, in any order, with 1, 2 or 4 workers. Each must come to its end,
// and its canonical export and its winner's weights must be those of a study that nobody disturbed and that met the
// same requests at the same places: behind so many proposals, measurements and outcomes.
//
//   crossings [--real] [--promotion] [COUNT [SEED [FIRST]]]      300 studies from number 0 unless said otherwise
//   --real: they are really trained; --promotion: all of them pause and resume trials
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interruption_process.h"
#include "lanista/base/memory_file_system.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"

namespace lanista::crossing {
namespace {

using engine::testing::Fingerprint;
using engine::testing::fingerprint;
using engine::testing::kFolder;
using store::Record;
using store::RecordType;

/// A request that took effect, and its place.
struct PlacedExtension {
  std::size_t place = 0;  ///< proposals, measurements, pauses, resumptions and outcomes before it
  std::string file;       ///< in control/; empty for the guard and for extensions
  engine::Engine::Extension extension;
  bool guard() const { return file.empty() && extension.empty(); }
};

bool is_event(RecordType type) {
  return type == RecordType::kProposed || type == RecordType::kMeasurement || type == RecordType::kOutcome ||
         type == RecordType::kPaused || type == RecordType::kResumed;
}

/// What of a log's requests changed what came after.
std::vector<PlacedExtension> requests_of(const std::vector<Record>& records) {
  std::vector<PlacedExtension> out;
  std::set<std::uint32_t> open;
  std::size_t place = 0;
  bool ending = false;
  for (const Record& record : records) {
    const auto& body = record.body;
    if (record.type == RecordType::kProposed) open.insert(body["trial"].get<std::uint32_t>());
    if (record.type == RecordType::kOutcome) open.erase(body["trial"].get<std::uint32_t>());
    place += is_event(record.type) ? 1 : 0;
    if (record.type != RecordType::kControl) continue;
    const std::string request = body["request"];
    if (request == "extend") {
      PlacedExtension placed_request{place, "", {}};
      if (!out.empty() && out.back().place == place && !out.back().extension.empty()) {
        placed_request = out.back();  // asked for again before anything came of it
        out.pop_back();
      }
      if (body.contains("trials")) placed_request.extension.trials = body["trials"].get<std::int64_t>();
      if (body.contains("steps")) placed_request.extension.steps = body["steps"].get<std::int64_t>();
      if (body.contains("minutes")) placed_request.extension.minutes = body["minutes"].get<double>();
      out.push_back(placed_request);
      ending = false;
    } else if (!ending && (request == "stop" || request == "guard")) {
      out.push_back({place, request == "stop" ? "stop" : "", {}});
      ending = true;
    } else if (request == "stop-trial" && open.contains(body["trial"].get<std::uint32_t>())) {
      out.push_back({place, "stop-trial-" + body["trial"].dump(), {}});
    }
  }
  return out;
}

struct Tally {
  std::int64_t attempts = 0, kills = 0, pauses = 0, extensions = 0, trials = 0, failures = 0;
  std::int64_t rests = 0, resumptions = 0;  ///< of trials
  std::map<std::string, std::int64_t> requests;
};

/// The study that nobody disturbs: each request comes when the log has reached its place.
Result<Fingerprint> uninterrupted(const Study& study, std::deque<PlacedExtension> requests) {
  MemoryFileSystem disk;
  engine::testing::WatchedFileSystem fs(disk);
  std::size_t place = 0;
  const auto is_due = [&] { return !requests.empty() && requests.front().place == place; };
  engine::Engine::Extension extension;
  for (bool fresh = true;; fresh = false) {
    StudyProcess process(study, fs, {});
    int quiet = 1;  // the engine looks into control/ once before it begins, and once before it obeys an extension
    if (!extension.empty()) ++quiet;
    process.observer.on_event = [&](const study::StudyView&, const study::Event&) { ++place; };
    process.observer.on_idle = [&](const study::StudyView&) {
      if (quiet > 0 || !is_due() || requests.front().extension.empty()) return;
      process.engine().extend(requests.front().extension);
      quiet = 1;
      requests.pop_front();
    };
    fs.on_list = [&](const std::string& folder) {
      if (folder != kFolder + "/control") return;
      if (quiet > 0) {
        --quiet;
      } else if (is_due() && requests.front().extension.empty()) {
        if (requests.front().guard()) {
          process.clock().advance_past_guard();
        } else {
          disk.put(folder + "/" + requests.front().file, "");
        }
        requests.pop_front();
      }
    };
    LANISTA_TRY(fresh ? process.create() : process.resume(extension));
    LANISTA_TRY(process.run());
    if (requests.empty()) return fingerprint(disk);
    if (!is_due() || requests.front().extension.empty()) {
      return Error{Code::kInternal,
                   "the undisturbed study ended at place " + std::to_string(place) + ", a request is due at " +
                       std::to_string(requests.front().place),
                   ""};
    }
    extension = requests.front().extension;
    requests.pop_front();
  }
}

/// A study that everything happens to.
class InterruptedStudy {
 public:
  InterruptedStudy(const Study& study, Rng rng, Tally& tally) : study_(study), rng_(rng), tally_(tally) {}

  Result<void> run() {
    const int storms = static_cast<int>(rng_.between(1, 6));
    for (int attempt = 0;; ++attempt) {
      if (attempt > 60) return Error{Code::kInternal, "does not come to its end", ""};
      LANISTA_ASSIGN(const bool over, continue_study(attempt < storms));
      if (over && (attempt >= storms || rng_.bernoulli(0.4))) return {};
      if (over && !extend_next()) return {};
    }
  }

  MemoryFileSystem& disk() { return disk_; }

 private:
  bool extend_next() {
    if (extended_ == 2) return false;
    ++extended_;
    next_extension_.trials = rng_.between(1, 4);
    next_extension_.minutes = 3 * kGuardMinutes;
    if (study_.config.budget.steps) next_extension_.steps = rng_.between(10, 100);
    return true;
  }

  /// Somebody asks for something at the moments that the attempt's draws say.
  void interrupt(StudyProcess& process) {
    const double often = rng_.uniform(0.0, 0.2);
    const bool pauses = rng_.bernoulli(0.4);
    process.observer.on_event = [this, &process, often, pauses, rng = rng_.split(rng_.next())](
                                    const study::StudyView& view, const study::Event&) mutable {
      if (!rng.bernoulli(often)) return;
      const auto ask = [&](const std::string& name) { disk_.put(kFolder + "/control/" + name, ""); };
      const double what = rng.uniform();
      if (what < 0.6) {
        ask("stop-trial-" +
            std::to_string(rng.between(std::max<std::int64_t>(1, static_cast<std::int64_t>(view.trials.size()) - 5),
                                       static_cast<std::int64_t>(view.trials.size()) + 1)));
      } else if (what < 0.7) {
        ask("stop");
      } else if (what < 0.75) {
        process.clock().advance_past_guard();
      } else if (pauses && what < 0.9) {
        process.pause = 15;
      } else if (pauses) {
        ask("pause");
      }
    };
  }

  /// One attempt. True: the study has ended.
  Result<bool> continue_study(bool has_interruptions) {
    ++tally_.attempts;
    FaultyFileSystem::Fault fault;
    fault.torn = rng_.bernoulli(0.5);
    fault.error = Error{Code::kUnavailable, "killed", "kill"};
    if (has_interruptions && rng_.bernoulli(0.7)) fault.at = rng_.between(0, rng_.bernoulli(0.3) ? 30 : 250);
    FaultyFileSystem fs(disk_, fault);
    const ProcessSettings settings{.seed = rng_.next(),
                                   .workers = std::int64_t{1} << rng_.below(3),
                                   .checkpoint_one_in = rng_.between(0, 3),
                                   .tick = rng_.bernoulli(0.5) ? 0.3 : 0.02};
    StudyProcess process(study_, fs, settings);
    if (has_interruptions) interrupt(process);
    const auto summary = work(process);
    if (!summary) {
      if (summary.error().message != "killed") return summary.error();
      ++tally_.kills;
      return false;
    }
    tally_.pauses += summary->end == engine::RunEnd::kPaused ? 1 : 0;
    return summary->end != engine::RunEnd::kPaused;
  }

  Result<engine::RunResult> work(StudyProcess& process) {
    const auto records = store::read_log(disk_, kFolder);
    if (!records || records->empty()) {
      disk_ = MemoryFileSystem();  // killed before there was a study: it is begun anew, as a user would
      next_extension_ = {};
      LANISTA_TRY(process.create());
      return process.run();
    }
    const bool over = records->back().type == RecordType::kStudyEnd;
    if (!over && rng_.bernoulli(0.1)) extend_next();
    const auto extension = std::exchange(next_extension_, {});
    LANISTA_TRY(process.resume(extension));
    return process.run();
  }

  const Study& study_;
  Rng rng_;
  Tally& tally_;
  MemoryFileSystem disk_;
  engine::Engine::Extension next_extension_;
  int extended_ = 0;
};

std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return "  disturbed:   " + a.substr(line, 300) + "\n  undisturbed: " + b.substr(std::min(line, b.size()), 300);
}

void count(Tally& tally, const std::vector<Record>& records, const std::vector<PlacedExtension>& requests) {
  for (const Record& record : records) {
    tally.trials += record.type == RecordType::kProposed ? 1 : 0;
    tally.rests += record.type == RecordType::kPaused ? 1 : 0;
    tally.resumptions += record.type == RecordType::kResumed ? 1 : 0;
  }
  for (const PlacedExtension& request : requests) {
    const std::string kind = request.guard()              ? "guard"
                             : !request.extension.empty() ? "extend"
                                                          : request.file.substr(0, 10);
    ++tally.requests[kind];
  }
}

/// What went wrong, or nothing.
std::string run_case(std::uint64_t seed, std::uint64_t number, StudyKind kind, Tally& tally) {
  Rng rng = Rng(seed).split("crossing").split(number);
  const Study study = random_study(rng, kind);
  InterruptedStudy disturbed(study, rng.split("storm"), tally);
  if (auto ended = disturbed.run(); !ended) return "cannot be resumed: " + ended.error().text();
  const auto records = store::read_log(disturbed.disk(), kFolder);
  if (!records) return "cannot be read: " + records.error().text();
  const auto requests = requests_of(*records);
  count(tally, *records, requests);
  const auto seen = fingerprint(disturbed.disk());
  const auto expected = uninterrupted(study, {requests.begin(), requests.end()});
  if (!expected) return "the undisturbed study: " + expected.error().text();
  if (*seen == *expected) return "";
  return "differs\n" + first_difference(seen->canonical, expected->canonical);
}

int run(StudyKind kind, std::uint64_t count, std::uint64_t seed, std::uint64_t first) {
  Tally tally;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::string wrong = run_case(seed, number, kind, tally);
    if (wrong.empty()) continue;
    ++tally.failures;
    std::printf("crossing %llu of seed %llu: %s\n", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(seed), wrong.c_str());
    if (tally.failures == 20) break;
  }
  std::printf("%llu studies, %lld trials (paused %lld times, resumed %lld), %lld attempts: %lld kills, %lld pauses",
              static_cast<unsigned long long>(count), static_cast<long long>(tally.trials),
              static_cast<long long>(tally.rests), static_cast<long long>(tally.resumptions),
              static_cast<long long>(tally.attempts), static_cast<long long>(tally.kills),
              static_cast<long long>(tally.pauses));
  for (const auto& [what, times] : tally.requests)
    std::printf(", %lld %s", static_cast<long long>(times), what.c_str());
  std::printf("; %lld wrong\n", static_cast<long long>(tally.failures));
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista::crossing

int main(int argc, char** argv) {
  lanista::crossing::StudyKind kind;
  int options = 0;
  for (; options + 1 < argc && std::strncmp(argv[options + 1], "--", 2) == 0; ++options) {
    const char* option = argv[options + 1];
    kind.real = kind.real || std::strcmp(option, "--real") == 0;
    kind.promotion = kind.promotion || std::strcmp(option, "--promotion") == 0;
  }
  const auto number = [&](int index, std::uint64_t otherwise) {
    index += options;
    return index < argc ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  return lanista::crossing::run(kind, number(1, 300), number(2, 1), number(3, 0));
}
