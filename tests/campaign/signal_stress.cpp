#include "campaign/signal_stress.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "campaign/campaign_folder.h"
#include "lanista/base/rng.h"

namespace lanista::campaign {
namespace {

constexpr std::int64_t kMaxSignals = 9;  ///< attempts with signals for one study; a last attempt is undisturbed

/// Signals that are sent to a process shortly after each other.
struct SignalKind {
  const char* name;
  std::vector<int> signals;
};

const std::vector<SignalKind>& signal_kinds() {
  static const std::vector<SignalKind> all{
      {"KILL", {SIGKILL}},
      {"KILL", {SIGKILL}},
      {"TERM", {SIGTERM}},
      {"TERM TERM", {SIGTERM, SIGTERM}},
      {"INT", {SIGINT}},
      {"INT INT", {SIGINT, SIGINT}},
      {"HUP", {SIGHUP}},
      {"STOP CONT", {SIGSTOP, SIGCONT}},
      {"USR1", {SIGUSR1}},
      {"USR2", {SIGUSR2}},
      {"PIPE", {SIGPIPE}},
      {"QUIT", {SIGQUIT}},
      {"TERM KILL", {SIGTERM, SIGKILL}},
      {"INT TERM", {SIGINT, SIGTERM}},
      {"STOP KILL", {SIGSTOP, SIGKILL}},
      {"ALRM", {SIGALRM}},
  };
  return all;
}

struct Reference {
  std::string fingerprint;
  double seconds = 0;
};

struct Tally {
  std::map<std::string, std::int64_t> signal_kinds;
  std::int64_t attempts = 0, readers = 0, concurrent_runs = 0;
  double longest = 0;
};

class SignalStress {
 public:
  SignalStress(const std::string& lanista, const CampaignFolder& campaign_folder, std::size_t kind,
               const Reference& reference, Rng rng, Tally& tally)
      : lanista_(lanista),
        campaign_folder_(campaign_folder),
        kind_(kind),
        reference_(reference),
        rng_(rng),
        tally_(tally),
        study_(campaign_folder.path("disturbed")) {}

  /// Runs one study with signals to its end. Returns what is wrong, or "".
  std::string run_study() {
    remove_all(study_);
    const auto expected = rng_.between(1, kMaxSignals);
    for (std::int64_t number = 0; number < expected; ++number) {
      const std::string wrong = attempt(true);
      if (!wrong.empty()) return wrong;
    }
    const std::string wrong = attempt(false);
    if (!wrong.empty()) return wrong;
    const std::string found = fingerprint(lanista_, study_);
    if (found.empty()) return "the study cannot be shown";
    return found == reference_.fingerprint ? "" : "ends differently";
  }

  const ProcessResult& last() const { return last_; }

 private:
  std::vector<std::string> command() {
    const ProcessResult status = run({.command = {lanista_, "status", study_}});
    if (status.code == 0 && status.signal == 0) {
      std::vector<std::string> resume{lanista_, "resume", study_, "--quiet"};
      if (rng_.bernoulli(0.5)) resume.insert(resume.end(), {"--workers", std::to_string(rng_.between(1, 4))});
      return resume;
    }
    remove_all(study_);  // killed before the study existed: it is started again, as a user would
    return small_study(lanista_, campaign_folder_, kind_, study_);
  }

  std::string attempt(bool sends_signals) {
    ++tally_.attempts;
    const ProcessOptions start{.command = command()};
    ChildProcess child(start);
    std::vector<int> sent;
    if (sends_signals) sent = send_signals(child);
    const std::string disturbance = sends_signals ? disturb() : "";
    last_ = child.wait();
    tally_.longest = std::max(tally_.longest, last_.seconds);
    if (!disturbance.empty()) return disturbance;
    std::string wrong = find_misbehaviour(last_, sent);
    if (!wrong.empty()) return named(wrong, sent);
    const bool was_late = last_.errors.find("another process is working here") != std::string::npos;
    if (sends_signals && was_late && last_.code == 2) return "";
    if (last_.signal == 0 && last_.code != 0 && last_.code != 75 && last_.code != 130) {
      return named("exit " + std::to_string(last_.code), sent);
    }
    if (!sends_signals && last_.code != 0) return "exit " + std::to_string(last_.code) + " without a signal";
    return "";
  }

  static std::string named(const std::string& wrong, const std::vector<int>& sent) {
    std::string text = wrong + " after";
    for (const int signal : sent) text += std::string(" ") + ::sigabbrev_np(signal);
    return text;
  }

  // Sends signals while the study runs, or shortly after its start. Returns those that arrived.
  std::vector<int> send_signals(ChildProcess& child) {
    const double span = rng_.bernoulli(0.15) ? 0.02 : reference_.seconds * 0.7;
    if (child.ends_within(rng_.uniform() * span)) return {};
    const SignalKind& kind = signal_kinds()[rng_.below(signal_kinds().size())];
    ++tally_.signal_kinds[kind.name];
    std::vector<int> sent;
    for (const int signal : kind.signals) {
      if (!sent.empty() && child.ends_within(rng_.uniform() * (rng_.bernoulli(0.5) ? 0.002 : 0.05))) break;
      if (child.send(signal)) sent.push_back(signal);
    }
    return sent;
  }

  // Other processes read the study or try to resume it. Returns what is wrong with them, or "".
  std::string disturb() {
    if (rng_.bernoulli(0.3)) {
      ++tally_.readers;
      const std::string verb = std::vector<std::string>{"status", "show"}[rng_.below(2)];
      const ProcessResult ended = run({.command = {lanista_, verb, study_}});
      if (const std::string wrong = find_misbehaviour(ended); !wrong.empty()) return verb + " meanwhile: " + wrong;
    }
    if (rng_.bernoulli(0.15)) {
      ++tally_.concurrent_runs;
      const ProcessResult ended = run({.command = {lanista_, "resume", study_, "--quiet"}});
      if (const std::string wrong = find_misbehaviour(ended); !wrong.empty()) return "a second resume: " + wrong;
    }
    return "";
  }

  const std::string& lanista_;
  const CampaignFolder& campaign_folder_;
  std::size_t kind_;
  const Reference& reference_;
  Rng rng_;
  Tally& tally_;
  std::string study_;
  ProcessResult last_;
};

}  // namespace

bool run_signal_stress(const std::string& lanista, std::int64_t count, std::uint64_t seed) {
  const CampaignFolder campaign_folder;
  CheckCounts verdicts;
  Tally tally;
  std::vector<Reference> references;
  for (std::size_t kind = 0; kind < kinds_of_small_studies(); ++kind) {
    const std::string study = campaign_folder.path("reference");
    remove_all(study);
    const ProcessResult ended = run({.command = small_study(lanista, campaign_folder, kind, study), .seconds = 60});
    references.push_back({fingerprint(lanista, study), ended.seconds});
    if (references.back().fingerprint.empty()) {
      verdicts.count_failure("undisturbed study " + std::to_string(kind), &ended);
      return false;
    }
  }
  for (std::int64_t number = 0; number < count; ++number) {
    const std::size_t kind = static_cast<std::size_t>(number) % references.size();
    SignalStress stress(lanista, campaign_folder, kind, references[kind],
                        Rng(seed).split("storm").split(static_cast<std::uint64_t>(number)), tally);
    const std::string wrong = stress.run_study();
    verdicts.take("study " + std::to_string(number) + " of seed " + std::to_string(seed), wrong, &stress.last());
  }
  std::printf("%lld studies, %lld processes, %lld readers, %lld second resumes; the longest process ran for %.1f s\n",
              static_cast<long long>(verdicts.all()), static_cast<long long>(tally.attempts),
              static_cast<long long>(tally.readers), static_cast<long long>(tally.concurrent_runs), tally.longest);
  for (const auto& [name, times] : tally.signal_kinds)
    std::printf("  %s %lld", name.c_str(), static_cast<long long>(times));
  std::printf("\n  %lld failed\n", static_cast<long long>(verdicts.failures()));
  return verdicts.failures() == 0;
}

}  // namespace lanista::campaign
