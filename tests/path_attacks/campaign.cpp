// Attacks on paths: puts links, FIFOs, devices and files of other users at paths that the program writes or removes,
// and then runs a verb. Nothing outside changes, the user's files stay, each run ends in time, and an error names the
// path.
//
// usage: path_attacks LANISTA [BEGINNING]    only paths with this beginning
// LANISTA_FULL_PATH_ATTACKS=1: each verb for each path, not only the verbs that write it
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "campaign/campaign_folder.h"
#include "campaign/child_process.h"
#include "path_attacks/path_attacks.h"
#include "path_attacks/watched_names.h"
#include "path_attacks/write_targets.h"
#include "support/base/long_form.h"

namespace lanista::path_attacks {
namespace {

namespace fs = std::filesystem;
using campaign::ProcessResult;

constexpr double kTimeoutSeconds = 60;  // seconds
constexpr int kPaused = 75;             // exit code
constexpr const char* kNotes = "the user's\n";
constexpr const char* kStudy = R"yaml(
name: attacked
model: {base: builtin:small-mlp}
space: {mutate: [widen], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2, start: zoo, zoo: zoo}
data: {source: "csv:rows.csv?target=y", batch: 16}
strategy: {name: random, slots: 2}
budget: {trials: 3}
keep: {top: 2, checkpoint_every: 0s}
run: {workers: 1, isolation: process, profiles: profiles}
)yaml";

bool runs_all_verbs() { return runs_long_form("LANISTA_FULL_PATH_ATTACKS", "LANISTA_WHOLE_PLANTED"); }

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

class Campaign {
 public:
  explicit Campaign(std::string lanista)
      : lanista_(std::move(lanista)), protected_tree_(campaign_folder_.path("victim")) {}

  bool prepare() {
    base_ = campaign_folder_.path("base");
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 90; ++i) {
      rows += std::to_string(i % 17) + "," + std::to_string(i * i % 23) + "," + (i % 3 == 0 ? "no" : "yes") + "\n";
    }
    campaign::write_file(base_ + "/rows.csv", rows);
    campaign::write_file(base_ + "/moved.csv", rows);
    campaign::write_file(base_ + "/study.yaml", kStudy);
    fs::create_directories(base_ + "/out");
    return ran("study", {"run", "study.yaml", "--out", "study", "--quiet"}, 0) &&
           ran("blend",
               {"run", "study.yaml", "--out", "blend", "--quiet", "--set", "data.folds=3", "--set", "train.start=off"},
               0) &&
           ran("zoo", {"zoo", "add", "study#2", "--zoo", "zoo", "--quality", "1"}, 0) && pause_one("open");
  }

  /// Runs each verb without an attack: all that it writes must be in write_targets(). Records its exit code.
  void check_write_targets() {
    std::set<std::string> known;
    for (const WriteTarget& target : write_targets()) known.insert(target.pattern);
    for (const Verb& verb : verbs()) {
      for (const std::string study : {"study", "blend", "open"}) {
        if (study != study_of(verb, study)) continue;
        const std::string inside = fresh_case(verb, study);
        const std::vector<std::string> notes = put_notes(inside);
        std::set<std::string> names;
        {
          WatchedNames watched(inside);
          codes_[verb.name + " " + study] = run(verb, study, inside).code;
          names = watched.take();
        }
        for (const std::string& note : notes) names.erase(fs::relative(note, inside).string());
        for (const std::string& name : names) {
          if (verb.name == "resume" || verb.name == "zoo add") record_target(name);
          check_known(name, known, verb.name + " of " + study);
        }
      }
    }
  }

  void attack_everywhere(const std::string& beginning) {
    for (const WriteTarget& target : write_targets()) {
      if (!target.pattern.starts_with(beginning)) continue;
      for (const PathAttack attack : all_path_attacks()) {
        for (const Verb& verb : verbs()) {
          const bool writes = std::ranges::find(target.written_by, verb.name) != target.written_by.end();
          if (writes || runs_all_verbs()) attack_one(target, attack, verb);
        }
      }
    }
  }

  int result() const {
    std::printf("%lld checks, %lld failures, %d attacks that this user may not make\n",
                static_cast<long long>(verdicts_.all()), static_cast<long long>(verdicts_.failures()), not_made_);
    return verdicts_.failures() == 0 ? 0 : 1;
  }

 private:
  ProcessResult start(std::vector<std::string> words, const std::string& folder) const {
    words.insert(words.begin(), lanista_);
    return campaign::run({.command = std::move(words), .folder = folder, .seconds = kTimeoutSeconds});
  }

  bool ran(const std::string& what, const std::vector<std::string>& words, int code) const {
    const ProcessResult ended = start(words, base_);
    if (ended.code == code && ended.signal == 0 && !ended.is_timed_out) return true;
    std::printf("cannot prepare %s: exit %d\n%s\n", what.c_str(), ended.code, ended.errors.c_str());
    return false;
  }

  /// Makes a paused study: SIGTERM pauses it once a trial has ended.
  bool pause_one(const std::string& study) const {
    campaign::ChildProcess child(
        {.command = {lanista_, "run", "study.yaml", "--out", study, "--quiet", "--trials", "60"},
         .folder = base_,
         .seconds = kTimeoutSeconds});
    const std::string log = base_ + "/" + study + "/log/000001.log";
    while (campaign::read_file(log).find("\"kind\":\"succeeded\"") == std::string::npos && !child.ends_within(0.01)) {
    }
    child.send(SIGTERM);
    const ProcessResult ended = child.wait();
    if (ended.code == kPaused) return true;
    std::printf("cannot pause %s: exit %d\n%s\n", study.c_str(), ended.code, ended.errors.c_str());
    return false;
  }

  /// Returns a new copy of the prepared folder; a verb that makes a new study gets an empty folder for it.
  std::string fresh_case(const Verb& verb, const std::string& study) const {
    std::string inside = campaign_folder_.path("case");
    campaign::copy_folder(base_, inside);
    if (verb.is_new) {
      fs::remove_all(inside + "/" + study);
      fs::create_directories(inside + "/" + study);
    }
    return inside;
  }

  /// Writes files of the user into the folders of a case, and returns their paths.
  static std::vector<std::string> put_notes(const std::string& inside) {
    std::vector<std::string> out;
    for (const char* folder : {"study", "study/log", "study/ckpt", "study/best", "study/best/members", "study/control",
                               "blend/best/members", "profiles", "zoo/weights", "out"}) {
      const std::string path = inside + "/" + folder;
      // Not through an attacked path.
      if (fs::symlink_status(path).type() != fs::file_type::directory) continue;
      if (fs::canonical(path) != fs::canonical(inside) / folder) continue;
      for (const char* name : {"notes.txt", "my.safetensors", "my.profile", ".tmp-mine", "my.graph"}) {
        campaign::write_file(path + "/" + name, kNotes);
        out.push_back(path + "/" + name);
      }
    }
    return out;
  }

  ProcessResult run(const Verb& verb, const std::string& study, const std::string& inside) const {
    std::vector<std::string> words = verb.words;
    for (std::string& word : words) {
      if (word.starts_with("STUDY")) word = study + word.substr(5);
      if (word == "MODEL") word = first_of(base_ + "/zoo", "HASH").empty() ? "0" : model_id();
      if (word == "TIMES") word = fs::path(first_of(base_ + "/profiles", "NAME.profile")).stem().string();
    }
    return start(std::move(words), inside);
  }

  /// Returns the study that a verb works on: `study` if the verb takes one, else "study".
  static std::string study_of(const Verb& verb, const std::string& study) {
    const auto names_one = [](const std::string& word) { return word.starts_with("STUDY"); };
    return std::ranges::any_of(verb.words, names_one) ? study : "study";
  }

  /// Returns the first 16 characters of the id of the zoo's first model.
  std::string model_id() const {
    const ProcessResult ended = start({"zoo", "ls", "--zoo", "zoo", "--json"}, base_);
    const auto at = ended.output.find("\"id\":\"");
    return at == std::string::npos ? "0" : ended.output.substr(at + 6, 16);
  }

  /// Returns the first path below a folder with this pattern in it, relative to the folder; empty if there is none.
  static std::string first_of(const std::string& folder, const std::string& pattern) {
    std::set<std::string> names;
    if (!fs::is_directory(folder)) return "";
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      names.insert(fs::relative(entry.path(), folder).string());
    }
    for (const std::string& name : names) {
      if (pattern_of(name).find(pattern) != std::string::npos) return name;
    }
    return "";
  }

  /// Records a name that a verb creates. It is known before the verb runs, because training gives equal bits each time.
  void record_target(const std::string& name) {
    const std::string pattern = pattern_of(name), folder = folder_of(name);
    if (fs::exists(base_ + "/" + name)) return;
    if (pattern == "study/ckpt/ADDRESS.safetensors" || pattern == "zoo/weights/HASH.safetensors") next_[folder] = name;
  }

  void check_known(const std::string& name, const std::set<std::string>& known, const std::string& what) {
    std::string pattern = pattern_of(name);
    if (pattern.ends_with(".tmp-RANDOM")) pattern.resize(pattern.size() - 11);
    const std::string top = folder_of(pattern);
    if (pattern == top && top != "zoo") return;  // inputs, and folders that the user names
    for (const char* study : {"study", "open", "blend", "fresh"}) {
      if (top == study) pattern = "study" + pattern.substr(top.size());
    }
    const auto is_known = [&](const std::string& as) {
      const auto is_below = [&](const std::string& each) { return each.starts_with(as + "/"); };
      return known.contains(as) || std::ranges::any_of(known, is_below);
    };
    const std::string tail = pattern.substr(pattern.find('/') == std::string::npos ? 0 : pattern.find('/'));
    const bool found = is_known(pattern) || is_known("open" + tail) || is_known("blend" + tail) || top == "out";
    const std::string wrong = "writes " + name + " (" + pattern + "), which is in no list: add it to write_targets()";
    verdicts_.take(what, found ? "" : wrong);
  }

  /// Returns the path of a write target relative to the folder of a case; empty if it has none there.
  std::string path_of(const WriteTarget& target) const {
    const std::string& pattern = target.pattern;
    if (pattern.find("NEXT") != std::string::npos) {
      const auto found = next_.find(folder_of(pattern));
      return found == next_.end() ? "" : found->second;
    }
    for (const char* part : {"ADDRESS", "HASH", "NAME", "members/N.", "stop-trial-N", "tmp-PROCESS"}) {
      if (pattern.find(part) == std::string::npos) continue;
      if (pattern == "zoo/weights/tmp-PROCESS") return "zoo/weights/tmp-1-0";
      if (pattern == "open/control/stop-trial-N") return "open/control/stop-trial-1";
      const std::string top = folder_of(pattern);
      return top + "/" + first_of(base_ + "/" + top, pattern.substr(top.size() + 1));
    }
    return pattern;
  }

  void attack_one(const WriteTarget& target, PathAttack attack, const Verb& verb) {
    const std::string relative = path_of(target), top = folder_of(target.pattern);
    const std::string study = top == "blend" || top == "open" ? top : "study";
    const std::string what = path_attack_name(attack) + " at " + target.pattern + ", " + verb.name;
    if (relative.empty() || relative.ends_with("/")) return verdicts_.count_failure(what + ": the path is not found");
    const std::string inside = fresh_case(verb, study), path = inside + "/" + relative;
    if (!is_applicable(attack, path)) return;
    protected_tree_.make();
    if (!place_attack(attack, path, protected_tree_)) {
      ++not_made_;
      return;
    }
    const std::vector<std::string> notes = put_notes(inside);
    const OtherFile other(attack, path);
    const std::string before = protected_tree_.description();
    const ProcessResult ended = run(verb, study, inside);
    const std::string wrong = wrong_with(ended, verb.name + " " + study_of(verb, study), relative);
    verdicts_.take(what, wrong, &ended);
    verdicts_.take(what, protected_tree_.description() == before ? "" : "files outside have changed", &ended);
    verdicts_.take(what, other.is_unchanged() ? "" : "a file that belongs to another has changed", &ended);
    for (const std::string& note : notes) {
      if (campaign::read_file(note) == kNotes) continue;
      verdicts_.count_failure(what + ": the user's file " + note + " is gone", &ended);
    }
  }

  /// Returns what is wrong with the end of a run; empty if nothing is.
  std::string wrong_with(const ProcessResult& ended, const std::string& run, const std::string& relative) const {
    if (ended.is_timed_out) return "hangs";
    if (ended.signal != 0) return "ends by signal " + std::to_string(ended.signal);
    if (ended.code == 0 || ended.code == codes_.at(run)) return "";
    // A control request counts whatever kind of file it is; it stops a new study before the study has a model.
    const bool stopped = relative == "open/control/stop" && ended.errors.find("without a model") != std::string::npos;
    if (stopped) return "";
    // The output must name the path or a folder above it.
    if ((ended.errors + ended.output).find(relative) != std::string::npos) return "";
    for (fs::path path(relative); !path.empty(); path = path.parent_path()) {
      if (ended.errors.find("lanista: " + path.string() + ": ") != std::string::npos) return "";
      if (ended.errors.find("\"" + path.string() + ": ") != std::string::npos) return "";  // in a warning
    }
    return "exit " + std::to_string(ended.code) + ", and the output does not name " + relative;
  }

  campaign::CampaignFolder campaign_folder_;
  std::string lanista_, base_;
  ProtectedTree protected_tree_;
  campaign::CheckCounts verdicts_;
  std::map<std::string, int> codes_;         ///< exit code of each verb and study without an attack
  std::map<std::string, std::string> next_;  ///< paths that `resume` and `zoo add` create, by top folder
  int not_made_ = 0;                         ///< attacks that this user may not make
};

}  // namespace
}  // namespace lanista::path_attacks

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: path_attacks LANISTA [BEGINNING]\n");
    return 2;
  }
  ::umask(022);
  lanista::path_attacks::Campaign campaign(std::filesystem::absolute(argv[1]).string());
  if (!campaign.prepare()) return 1;
  campaign.check_write_targets();
  campaign.attack_everywhere(argc == 3 ? argv[2] : "");
  return campaign.result();
}
