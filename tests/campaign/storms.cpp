#include "campaign/storms.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "campaign/workplace.h"
#include "lanista/base/rng.h"

namespace lanista::campaign {
namespace {

constexpr std::int64_t kMostBlows = 9;  ///< of one storm; then the study is left alone

/// What happens to a process at a moment.
struct Blow {
  const char* name;
  std::vector<int> signals;
};

const std::vector<Blow>& blows() {
  static const std::vector<Blow> all{
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
  std::map<std::string, std::int64_t> blows;
  std::int64_t attempts = 0, readers = 0, rivals = 0;
  double longest = 0;
};

class Storm {
 public:
  Storm(const std::string& lanista, const Workplace& place, std::size_t kind, const Reference& reference, Rng rng,
        Tally& tally)
      : lanista_(lanista),
        place_(place),
        kind_(kind),
        reference_(reference),
        rng_(rng),
        tally_(tally),
        study_(place.path("stormy")) {}

  /// What was wrong, or nothing.
  std::string blow() {
    remove_all(study_);
    const auto wanted = rng_.between(1, kMostBlows);
    for (std::int64_t number = 0; number < wanted; ++number) {
      const std::string wrong = attempt(true);
      if (!wrong.empty()) return wrong;
    }
    const std::string wrong = attempt(false);
    if (!wrong.empty()) return wrong;
    const std::string found = fingerprint(lanista_, study_);
    if (found.empty()) return "the study cannot be shown";
    return found == reference_.fingerprint ? "" : "ends differently";
  }

  const Ended& last() const { return last_; }

 private:
  std::vector<std::string> command() {
    const Ended status = run({.command = {lanista_, "status", study_}});
    if (status.code == 0 && status.signal == 0) {
      std::vector<std::string> resume{lanista_, "resume", study_, "--quiet"};
      if (rng_.bernoulli(0.5)) resume.insert(resume.end(), {"--workers", std::to_string(rng_.between(1, 4))});
      return resume;
    }
    remove_all(study_);  // struck before there was a study: it is begun anew, as a user would
    return small_study(lanista_, place_, kind_, study_);
  }

  std::string attempt(bool stormy) {
    ++tally_.attempts;
    const Start start{.command = command()};
    Child child(start);
    std::vector<int> sent;
    if (stormy) sent = strike(child);
    std::string beside = stormy ? disturb() : "";
    last_ = child.wait();
    tally_.longest = std::max(tally_.longest, last_.seconds);
    if (!beside.empty()) return beside;
    std::string wrong = misbehaviour(last_, sent);
    if (!wrong.empty()) return named(wrong, sent);
    const bool was_late = last_.errors.find("another process is working here") != std::string::npos;
    if (stormy && was_late && last_.code == 2) return "";
    if (last_.signal == 0 && last_.code != 0 && last_.code != 75 && last_.code != 130) {
      return named("exit " + std::to_string(last_.code), sent);
    }
    if (!stormy && last_.code != 0) return "undisturbed, it ended with " + std::to_string(last_.code);
    return "";
  }

  static std::string named(const std::string& wrong, const std::vector<int>& sent) {
    std::string text = wrong + " after";
    for (const int signal : sent) text += std::string(" ") + ::sigabbrev_np(signal);
    return text;
  }

  // Most moments lie in the middle of things, some when the process begins, some when it is over.
  std::vector<int> strike(Child& child) {
    const double span = rng_.bernoulli(0.15) ? 0.02 : reference_.seconds * 0.7;
    if (child.ends_within(rng_.uniform() * span)) return {};
    const Blow& blow = blows()[rng_.below(blows().size())];
    ++tally_.blows[blow.name];
    std::vector<int> sent;
    for (const int signal : blow.signals) {
      if (!sent.empty() && child.ends_within(rng_.uniform() * (rng_.bernoulli(0.5) ? 0.002 : 0.05))) break;
      if (child.send(signal)) sent.push_back(signal);
    }
    return sent;
  }

  // Others look on, or want to go on with the same study.
  std::string disturb() {
    if (rng_.bernoulli(0.3)) {
      ++tally_.readers;
      const std::string verb = std::vector<std::string>{"status", "show"}[rng_.below(2)];
      const Ended ended = run({.command = {lanista_, verb, study_}});
      if (const std::string wrong = misbehaviour(ended); !wrong.empty()) return verb + " meanwhile: " + wrong;
    }
    if (rng_.bernoulli(0.15)) {
      ++tally_.rivals;
      const Ended ended = run({.command = {lanista_, "resume", study_, "--quiet"}});
      if (const std::string wrong = misbehaviour(ended); !wrong.empty()) return "a second resume: " + wrong;
    }
    return "";
  }

  const std::string& lanista_;
  const Workplace& place_;
  std::size_t kind_;
  const Reference& reference_;
  Rng rng_;
  Tally& tally_;
  std::string study_;
  Ended last_;
};

}  // namespace

bool run_storms(const std::string& lanista, std::int64_t count, std::uint64_t seed) {
  const Workplace place;
  Verdicts verdicts;
  Tally tally;
  std::vector<Reference> references;
  for (std::size_t kind = 0; kind < kinds_of_small_studies(); ++kind) {
    const std::string study = place.path("reference");
    remove_all(study);
    const Ended ended = run({.command = small_study(lanista, place, kind, study), .seconds = 60});
    references.push_back({fingerprint(lanista, study), ended.seconds});
    if (references.back().fingerprint.empty()) {
      verdicts.failed("undisturbed study " + std::to_string(kind), &ended);
      return false;
    }
  }
  for (std::int64_t number = 0; number < count; ++number) {
    const std::size_t kind = static_cast<std::size_t>(number) % references.size();
    Storm storm(lanista, place, kind, references[kind],
                Rng(seed).split("storm").split(static_cast<std::uint64_t>(number)), tally);
    const std::string wrong = storm.blow();
    verdicts.take("storm " + std::to_string(number) + " of seed " + std::to_string(seed), wrong, &storm.last());
  }
  std::printf(
      "storms: %lld, %lld processes, %lld readers and %lld rivals beside them; the longest process took %.1f s\n",
      static_cast<long long>(verdicts.all()), static_cast<long long>(tally.attempts),
      static_cast<long long>(tally.readers), static_cast<long long>(tally.rivals), tally.longest);
  for (const auto& [name, times] : tally.blows) std::printf("  %s %lld", name.c_str(), static_cast<long long>(times));
  std::printf("\n  %lld failed\n", static_cast<long long>(verdicts.failures()));
  return verdicts.failures() == 0;
}

}  // namespace lanista::campaign
