// Interruptions of random studies change no result. Studies get requests, pauses, kills in the middle of any write,
// resumes and extensions, in any order, with 1, 2 or 4 workers. Each study must end. Its canonical export and its
// winner's weights must equal those of an undisturbed study with the same requests at the same positions in the log.
//
//   interruptions [--real] [--promotion] [COUNT [SEED [FIRST]]]
//
// COUNT is 300 and FIRST is 0 by default.
// --real: trials are trained, not simulated
// --promotion: all studies pause and resume trials
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

namespace lanista::interruptions {
namespace {

using engine::testing::Fingerprint;
using engine::testing::fingerprint;
using engine::testing::kFolder;
using store::Record;
using store::RecordType;

/// A request that took effect, with its position in the log.
struct PlacedRequest {
  std::size_t position = 0;             ///< number of proposals, measurements, pauses, resumptions, outcomes before it
  std::string file;                     ///< name in control/; empty for the time limit and for extensions
  engine::Engine::Extension extension;  ///< empty for other requests
  bool guard() const { return file.empty() && extension.empty(); }
};

bool is_event(RecordType type) {
  return type == RecordType::kProposed || type == RecordType::kMeasurement || type == RecordType::kOutcome ||
         type == RecordType::kPaused || type == RecordType::kResumed;
}

/// Returns the requests of a log that had an effect.
std::vector<PlacedRequest> requests_of(const std::vector<Record>& records) {
  std::vector<PlacedRequest> out;
  std::set<std::uint32_t> open;
  std::size_t position = 0;
  bool ending = false;
  for (const Record& record : records) {
    const auto& body = record.body;
    if (record.type == RecordType::kProposed) open.insert(body["trial"].get<std::uint32_t>());
    if (record.type == RecordType::kOutcome) open.erase(body["trial"].get<std::uint32_t>());
    position += is_event(record.type) ? 1 : 0;
    if (record.type != RecordType::kControl) continue;
    const std::string request = body["request"];
    if (request == "extend") {
      PlacedRequest placed_request{position, "", {}};
      if (!out.empty() && out.back().position == position && !out.back().extension.empty()) {
        placed_request = out.back();  // a second extension before the first had an effect
        out.pop_back();
      }
      if (body.contains("trials")) placed_request.extension.trials = body["trials"].get<std::int64_t>();
      if (body.contains("steps")) placed_request.extension.steps = body["steps"].get<std::int64_t>();
      if (body.contains("minutes")) placed_request.extension.minutes = body["minutes"].get<double>();
      out.push_back(placed_request);
      ending = false;
    } else if (!ending && (request == "stop" || request == "guard")) {
      out.push_back({position, request == "stop" ? "stop" : "", {}});
      ending = true;
    } else if (request == "stop-trial" && open.contains(body["trial"].get<std::uint32_t>())) {
      out.push_back({position, "stop-trial-" + body["trial"].dump(), {}});
    }
  }
  return out;
}

struct Tally {
  std::int64_t attempts = 0, kills = 0, pauses = 0, extensions = 0, trials = 0, failures = 0;
  std::int64_t trial_pauses = 0, resumptions = 0;  ///< of trials
  std::map<std::string, std::int64_t> requests;
};

/// Runs the undisturbed study: each request arrives when the log has reached its position.
Result<Fingerprint> uninterrupted(const Study& study, std::deque<PlacedRequest> requests) {
  MemoryFileSystem disk;
  engine::testing::WatchedFileSystem fs(disk);
  std::size_t position = 0;
  const auto is_due = [&] { return !requests.empty() && requests.front().position == position; };
  engine::Engine::Extension extension;
  for (bool fresh = true;; fresh = false) {
    StudyProcess process(study, fs, {});
    int quiet = 1;  // the engine reads control/ once before it starts, and once before it applies an extension
    if (!extension.empty()) ++quiet;
    process.observer.on_event = [&](const study::StudyView&, const study::Event&) { ++position; };
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
                   "the undisturbed study ended at position " + std::to_string(position) + ", a request is due at " +
                       std::to_string(requests.front().position),
                   ""};
    }
    extension = requests.front().extension;
    requests.pop_front();
  }
}

/// A study with interruptions.
class InterruptedStudy {
 public:
  InterruptedStudy(const Study& study, Rng rng, Tally& tally) : study_(study), rng_(rng), tally_(tally) {}

  Result<void> run() {
    const int disturbed = static_cast<int>(rng_.between(1, 6));
    for (int attempt = 0;; ++attempt) {
      if (attempt > 60) return Error{Code::kInternal, "does not end", ""};
      LANISTA_ASSIGN(const bool over, continue_study(attempt < disturbed));
      if (over && (attempt >= disturbed || rng_.bernoulli(0.4))) return {};
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

  /// Sends requests to the process at random events.
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

  /// Runs one attempt. Returns true if the study has ended.
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
      disk_ = MemoryFileSystem();  // killed before the study existed: it is started again, as a user would
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

void count(Tally& tally, const std::vector<Record>& records, const std::vector<PlacedRequest>& requests) {
  for (const Record& record : records) {
    tally.trials += record.type == RecordType::kProposed ? 1 : 0;
    tally.trial_pauses += record.type == RecordType::kPaused ? 1 : 0;
    tally.resumptions += record.type == RecordType::kResumed ? 1 : 0;
  }
  for (const PlacedRequest& request : requests) {
    const std::string kind = request.guard()              ? "guard"
                             : !request.extension.empty() ? "extend"
                                                          : request.file.substr(0, 10);
    ++tally.requests[kind];
  }
}

/// Runs a disturbed study and the undisturbed one. Returns what is wrong, or "".
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
    std::printf("study %llu of seed %llu: %s\n", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(seed), wrong.c_str());
    if (tally.failures == 20) break;
  }
  std::printf("%llu studies, %lld trials (paused %lld times, resumed %lld), %lld attempts: %lld kills, %lld pauses",
              static_cast<unsigned long long>(count), static_cast<long long>(tally.trials),
              static_cast<long long>(tally.trial_pauses), static_cast<long long>(tally.resumptions),
              static_cast<long long>(tally.attempts), static_cast<long long>(tally.kills),
              static_cast<long long>(tally.pauses));
  for (const auto& [what, times] : tally.requests)
    std::printf(", %lld %s", static_cast<long long>(times), what.c_str());
  std::printf("; %lld wrong\n", static_cast<long long>(tally.failures));
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista::interruptions

int main(int argc, char** argv) {
  lanista::interruptions::StudyKind kind;
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
  return lanista::interruptions::run(kind, number(1, 300), number(2, 1), number(3, 0));
}
