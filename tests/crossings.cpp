// The proof that nothing that happens on the way leaves a trace: studies drawn at random meet requests, pauses, kills
// in the middle of any write, resumes and extensions, in any order, with 1, 2 or 4 workers. Each must come to its end,
// and its canonical export and its winner's weights must be those of a study that nobody disturbed and that met the
// same requests at the same places: behind so many proposals, measurements and outcomes.
//
//   crossings [--real] [COUNT [SEED [FIRST]]]      300 studies from number 0 unless said otherwise; --real: they are
//   really trained
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/fake_executor.h"
#include "lanista/engine/fit.h"
#include "lanista/engine/study_engine.h"
#include "lanista/engine/study_file.h"
#include "lanista/engine/test_support.h"
#include "lanista/runtime/worker_executor.h"

namespace lanista {
namespace {

using store::Record;
using store::RecordType;

using engine::testing::kFolder;
constexpr double kGuardMinutes = 2e5;

/// Every look at it takes `tick` seconds; thread-safe.
class TickingClock final : public Clock {
 public:
  explicit TickingClock(double tick) : tick_(tick) {}
  double unix_time() const override { return now(); }
  double now() const override { return jumped_ + tick_ * static_cast<double>(++looks_); }
  void jump_over_the_guard() { jumped_ = jumped_ + 4 * kGuardMinutes * 60; }

 private:
  double tick_;
  std::atomic<double> jumped_ = 0;
  mutable std::atomic<std::int64_t> looks_ = 0;
};

/// An executor that would let its engine wait for ever is broken.
class Impatient final : public engine::Executor {
 public:
  Impatient(engine::Executor& inner, int patience) : inner_(inner), patience_(patience) {}
  Result<void> start(const engine::Job& job) override { return inner_.start(job); }
  void command(const engine::Command& command) override { inner_.command(command); }
  std::optional<engine::Report> next(double seconds) override {
    auto report = inner_.next(seconds);
    waited_ = report ? 0 : waited_ + 1;
    if (waited_ < patience_) return report;
    return engine::BrokenReport{Error{Code::kInternal, "the engine waits for ever", ""}};
  }
  Result<std::map<std::string, double>> test(const engine::Job& job, const std::string& weights) override {
    return inner_.test(job, weights);
  }

 private:
  engine::Executor& inner_;
  int patience_, waited_ = 0;
};

/// A request that took effect, and its place.
struct Placed {
  std::size_t place = 0;  ///< proposals, measurements and outcomes before it
  std::string file;       ///< in control/; empty for the guard and for extensions
  engine::Engine::Extension extension;
  bool guard() const { return file.empty() && extension.empty(); }
};

bool is_event(RecordType type) {
  return type == RecordType::kProposed || type == RecordType::kMeasurement || type == RecordType::kOutcome;
}

/// What of a log's requests changed what came after.
std::vector<Placed> requests_of(const std::vector<Record>& records) {
  std::vector<Placed> out;
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
      Placed placed{place, "", {}};
      if (!out.empty() && out.back().place == place && !out.back().extension.empty()) {
        placed = out.back();  // asked for again before anything came of it
        out.pop_back();
      }
      if (body.contains("trials")) placed.extension.trials = body["trials"].get<std::int64_t>();
      if (body.contains("steps")) placed.extension.steps = body["steps"].get<std::int64_t>();
      if (body.contains("minutes")) placed.extension.minutes = body["minutes"].get<double>();
      out.push_back(placed);
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
  std::map<std::string, std::int64_t> requests;
};

/// One study and what it needs, but for the disk.
struct Study {
  study::StudyConfig config;
  data::Dataset data;
  nn::Operators operators;
  engine::FakeOptions fake;
  bool real = false;
};

std::string drawn_study(Rng& rng, bool real) {
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(*(from.begin() + rng.below(from.size())));
  };
  const std::int64_t epochs = rng.between(1, real ? 4 : 6);
  const std::int64_t trials = rng.between(2, real ? 6 : 20);
  std::string text = "model: {base: builtin:small-mlp}\n";
  text += "data: {source: \"synthetic:blobs?rows=40&classes=3&features=4&seed=1\", batch: 8}\n";
  text += "space: {" + std::string(rng.bernoulli(0.5) ? "mutate: [widen, deepen], " : "") +
          "params: {optimizer: [sgd, adam], lr: log(0.001, 0.3)}}\n";
  text += "train: {epochs: " + std::to_string(epochs) + "}\n";
  text += "strategy: {name: " + pick({"random", "evolution", "tpe", "sobol", "local_search", "nsga2"}) +
          ", slots: " + std::to_string(rng.between(1, rng.bernoulli(0.5) ? 3 : 16));
  if (rng.bernoulli(0.25)) text += ", repeat: 2";
  if (rng.bernoulli(0.25)) text += ", retry: 1";
  text += "}\n";
  if (rng.bernoulli(0.6))
    text += "stop: {rule: asha, eta: 2, rungs: " + pick({"[1]", "[1, 2]", "[2, 4]", "[1, 3]"}) + "}\n";
  text += "budget: {trials: " + std::to_string(trials);
  if (rng.bernoulli(0.25)) text += ", steps: " + std::to_string(rng.between(4, 4 * epochs * trials));
  text += ", guard_minutes: 200000}\nkeep: {top: " + std::to_string(rng.between(1, 4)) +
          ", checkpoint_every: " + pick({"0s", "1s", "1000s"}) + "}\nrun: {seed: " + std::to_string(rng.below(1000)) +
          "}\n";
  return text;
}

Study make_study(Rng& rng, bool real) {
  auto config = engine::read_study(drawn_study(rng, real), "drawn");
  LANISTA_CHECK(config.ok(), config ? "" : config.error().text());
  auto data = data::open(config->data, ".", real_file_system());
  LANISTA_CHECK(data.ok(), "the data are synthetic");
  LANISTA_CHECK(engine::fit_to_data(*config, data->spec()).ok(), "everything fits blobs");
  Study study{*std::move(config), *std::move(data), {}, {}, real};
  study.fake.steps_per_epoch =
      (study.data.spec().split_rows[0] + study.config.data.batch - 1) / study.config.data.batch;
  if (rng.bernoulli(0.4)) study.fake.fail_one_in = 5;
  if (rng.bernoulli(0.4)) study.fake.nan_one_in = 5;
  if (rng.bernoulli(0.3)) study.fake.refuse_one_in = 6;
  return study;
}

/// How one process works.
struct Pace {
  std::uint64_t seed = 0;
  std::int64_t workers = 1, checkpoint_one_in = 0;
  double tick = 0.3;
};

/// One process's worth of everything.
class Process {
 public:
  Process(const Study& study, FileSystem& fs, const Pace& pace) : study_(study), fs_(fs), clock_(pace.tick) {
    if (study.real) {
      runtime::WorkerOptions options{.workers = pace.workers,
                                     .metrics = study.config.train.metrics,
                                     .checkpoint_every = study.config.keep.checkpoint_every};
      options.crash_marks = false;
      executor_ = runtime::WorkerExecutor::create(options, study.data, study.operators, fs, clock_, kFolder);
    } else {
      engine::FakeOptions options = study.fake;
      options.seed = pace.seed;
      options.workers = pace.workers;
      options.checkpoint_one_in = pace.checkpoint_one_in;
      executor_ = std::make_unique<engine::FakeExecutor>(options, store::CheckpointStore(fs, kFolder));
    }
    impatient_.emplace(*executor_, study.real ? 240 : 1000);
  }

  Result<void> create() {
    LANISTA_ASSIGN(engine_, engine::Engine::create(kFolder, study_.config, engine::write_study(study_.config),
                                                   numerics_, services()));
    return {};
  }
  Result<void> resume(const engine::Engine::Extension& extension) {
    LANISTA_ASSIGN(engine_, engine::Engine::resume(kFolder, extension, numerics_, services()));
    return {};
  }
  Result<engine::Summary> run() { return engine_->run(); }
  engine::StudyEngine& engine() { return static_cast<engine::StudyEngine&>(*engine_); }
  TickingClock& clock() { return clock_; }

  std::atomic<int> pause = 0;
  engine::Observer observer;

 private:
  engine::Services services() {
    return {.fs = &fs_,
            .clock = &clock_,
            .sink = nullptr,
            .executor = &*impatient_,
            .data = &study_.data.spec(),
            .pause = &pause,
            .observer = observer};
  }
  const Study& study_;
  FileSystem& fs_;
  TickingClock clock_;
  nlohmann::json numerics_ = {{"class", "crossing"}, {"threads", 1}};
  std::unique_ptr<engine::Executor> executor_;
  std::optional<Impatient> impatient_;
  std::unique_ptr<engine::Engine> engine_;
};

struct Print {
  std::string canonical, weights;
  bool operator==(const Print&) const = default;
};
Result<Print> print_of(FileSystem& fs) {
  LANISTA_ASSIGN(const auto records, store::read_log(fs, kFolder));
  const auto weights = fs.read(kFolder + "/best/weights.safetensors", 0);
  return Print{store::canonical_export(records), weights ? *weights : ""};
}

/// The study that nobody disturbs: each request comes when the log has reached its place.
Result<Print> undisturbed(const Study& study, std::deque<Placed> requests) {
  MemoryFileSystem disk;
  engine::testing::WatchedFileSystem fs(disk);
  std::size_t place = 0;
  const auto is_due = [&] { return !requests.empty() && requests.front().place == place; };
  engine::Engine::Extension extension;
  for (bool fresh = true;; fresh = false) {
    Process process(study, fs, {});
    int quiet = 1;  // the engine looks into control/ once before it begins, and once before it obeys an extension
    if (!extension.empty()) ++quiet;
    process.observer.on_event = [&](const study::StudyView&, const study::Event&) { ++place; };
    process.observer.on_idle = [&](const study::StudyView&) {
      if (quiet > 0 || !is_due() || requests.front().extension.empty()) return;
      process.engine().extend(requests.front().extension);
      quiet = 1;
      requests.pop_front();
    };
    fs.before_list = [&](const std::string& folder) {
      if (folder != kFolder + "/control") return;
      if (quiet > 0) {
        --quiet;
      } else if (is_due() && requests.front().extension.empty()) {
        if (requests.front().guard()) {
          process.clock().jump_over_the_guard();
        } else {
          disk.put(folder + "/" + requests.front().file, "");
        }
        requests.pop_front();
      }
    };
    LANISTA_TRY(fresh ? process.create() : process.resume(extension));
    LANISTA_TRY(process.run());
    if (requests.empty()) return print_of(disk);
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
class Disturbed {
 public:
  Disturbed(const Study& study, Rng rng, Tally& tally) : study_(study), rng_(rng), tally_(tally) {}

  Result<void> run() {
    const int storms = static_cast<int>(rng_.between(1, 6));
    for (int attempt = 0;; ++attempt) {
      if (attempt > 60) return Error{Code::kInternal, "does not come to its end", ""};
      LANISTA_ASSIGN(const bool over, go_on(attempt < storms));
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
  void disturb(Process& process) {
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
        process.clock().jump_over_the_guard();
      } else if (pauses && what < 0.9) {
        process.pause = 15;
      } else if (pauses) {
        ask("pause");
      }
    };
  }

  /// One attempt. True: the study has ended.
  Result<bool> go_on(bool storm) {
    ++tally_.attempts;
    FaultyFileSystem::Fault fault;
    fault.torn = rng_.bernoulli(0.5);
    fault.error = Error{Code::kUnavailable, "killed", "kill"};
    if (storm && rng_.bernoulli(0.7)) fault.at = rng_.between(0, rng_.bernoulli(0.3) ? 30 : 250);
    FaultyFileSystem fs(disk_, fault);
    const Pace pace{.seed = rng_.next(),
                    .workers = std::int64_t{1} << rng_.below(3),
                    .checkpoint_one_in = rng_.between(0, 3),
                    .tick = rng_.bernoulli(0.5) ? 0.3 : 0.02};
    Process process(study_, fs, pace);
    if (storm) disturb(process);
    const auto summary = work(process);
    if (!summary) {
      if (summary.error().message != "killed") return summary.error();
      ++tally_.kills;
      return false;
    }
    tally_.pauses += summary->end == engine::End::kPaused ? 1 : 0;
    return summary->end != engine::End::kPaused;
  }

  Result<engine::Summary> work(Process& process) {
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

void count(Tally& tally, const std::vector<Record>& records, const std::vector<Placed>& requests) {
  for (const Record& record : records) tally.trials += record.type == RecordType::kProposed ? 1 : 0;
  for (const Placed& request : requests) {
    const std::string kind = request.guard()              ? "guard"
                             : !request.extension.empty() ? "extend"
                                                          : request.file.substr(0, 10);
    ++tally.requests[kind];
  }
}

/// What went wrong, or nothing.
std::string cross(std::uint64_t seed, std::uint64_t number, bool real, Tally& tally) {
  Rng rng = Rng(seed).split("crossing").split(number);
  const Study study = make_study(rng, real);
  Disturbed disturbed(study, rng.split("storm"), tally);
  if (auto ended = disturbed.run(); !ended) return "cannot be resumed: " + ended.error().text();
  const auto records = store::read_log(disturbed.disk(), kFolder);
  if (!records) return "cannot be read: " + records.error().text();
  const auto requests = requests_of(*records);
  count(tally, *records, requests);
  const auto seen = print_of(disturbed.disk());
  const auto wanted = undisturbed(study, {requests.begin(), requests.end()});
  if (!wanted) return "the undisturbed study: " + wanted.error().text();
  if (*seen == *wanted) return "";
  return "differs\n" + first_difference(seen->canonical, wanted->canonical);
}

int run(bool real, std::uint64_t count, std::uint64_t seed, std::uint64_t first) {
  Tally tally;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::string wrong = cross(seed, number, real, tally);
    if (wrong.empty()) continue;
    ++tally.failures;
    std::printf("crossing %llu of seed %llu: %s\n", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(seed), wrong.c_str());
    if (tally.failures == 20) break;
  }
  std::printf("%llu studies, %lld trials, %lld attempts: %lld kills, %lld pauses",
              static_cast<unsigned long long>(count), static_cast<long long>(tally.trials),
              static_cast<long long>(tally.attempts), static_cast<long long>(tally.kills),
              static_cast<long long>(tally.pauses));
  for (const auto& [kind, times] : tally.requests)
    std::printf(", %lld %s", static_cast<long long>(times), kind.c_str());
  std::printf("; %lld wrong\n", static_cast<long long>(tally.failures));
  return tally.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool real = argc > 1 && std::strcmp(argv[1], "--real") == 0;
  const auto number = [&](int index, std::uint64_t otherwise) {
    index += real ? 1 : 0;
    return index < argc ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  return lanista::run(real, number(1, 300), number(2, 1), number(3, 0));
}
