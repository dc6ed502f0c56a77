// Puts links, FIFOs, devices and files of others in the places that the program writes or removes, then runs a verb: nothing
// outside changes, a file of the user stays, nothing hangs, and an error names the place.
//
// usage: planted_files LANISTA    LANISTA_WHOLE_PLANTED=1: every verb for every place, not only one that writes there
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

#include "campaign/child.h"
#include "campaign/workplace.h"
#include "planted/plants.h"
#include "planted/watched_names.h"

namespace lanista::planted {
namespace {

namespace fs = std::filesystem;
using campaign::Ended;

constexpr double kHangsAfter = 60;  // seconds
constexpr int kPaused = 75;        // exit code
constexpr const char* kNotes = "the user's\n";
constexpr const char* kStudy = R"yaml(
name: planted
model: {base: builtin:small-mlp}
space: {mutate: [widen], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2, start: zoo, zoo: zoo}
data: {source: "csv:rows.csv?target=y", batch: 16}
strategy: {name: random, slots: 2}
budget: {trials: 3}
keep: {top: 2, checkpoint_every: 0s}
run: {workers: 1, isolation: process, profiles: profiles}
)yaml";

/// A verb with its arguments; STUDY, MODEL (an id of the zoo) and TIMES (a name of profiles) are filled in.
struct Verb {
  std::string name;
  std::vector<std::string> words;
  bool is_new = false;  ///< the folder of the study is there, with nothing but the plant
};
const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs{
      {"run", {"run", "study.yaml", "--out", "STUDY", "--quiet"}, true},
      {"run elsewhere", {"run", "study.yaml", "--out", "fresh", "--quiet"}},
      {"resume", {"resume", "STUDY", "--trials", "1", "--quiet"}},
      {"report", {"report", "STUDY"}},
      {"pause", {"pause", "STUDY"}},
      {"stop", {"stop", "STUDY"}},
      {"stop trial", {"stop", "STUDY", "1"}},
      {"export model", {"export", "STUDY#1", "--package", "out/package", "--onnx", "out/model.onnx", "--safetensors",
                        "out/weights.safetensors"}},
      {"export tables", {"export", "STUDY", "--csv", "out/trials.csv", "--jsonl", "out/trials.jsonl", "--measurements",
                         "out/measurements.csv", "--optuna", "out/journal.log", "--trace", "out/trace.json"}},
      {"export tensorboard", {"export", "STUDY", "--tensorboard", "out/tensorboard"}},
      {"repeat", {"repeat", "STUDY#1", "--out", "out/package"}},
      {"predict", {"predict", "STUDY", "rows.csv", "--out", "out/predicted.csv"}},
      {"eval", {"eval", "STUDY", "rows.csv"}},
      {"show", {"show", "STUDY"}},
      {"show trial", {"show", "STUDY#1"}},
      {"show plan", {"show", "--plan", "STUDY#1"}},
      {"status", {"status", "STUDY"}},
      {"compare", {"compare", "study", "blend", "--page", "out/page.html"}},
      {"zoo add", {"zoo", "add", "study#3", "--zoo", "zoo", "--quality", "2"}},
      {"zoo ls", {"zoo", "ls", "--zoo", "zoo"}},
      {"zoo show", {"zoo", "show", "MODEL", "--zoo", "zoo", "--pin"}},
      {"zoo match", {"zoo", "match", "study#1", "--zoo", "zoo"}},
      {"zoo verify", {"zoo", "verify", "--zoo", "zoo"}},
      {"zoo rm", {"zoo", "rm", "MODEL", "--zoo", "zoo"}},
      {"zoo gc", {"zoo", "gc", "--zoo", "zoo", "--budget", "0"}},
      {"profiles ls", {"profiles", "ls", "--profiles", "profiles"}},
      {"profiles show", {"profiles", "show", "TIMES", "--profiles", "profiles"}},
      {"profiles rm", {"profiles", "rm", "TIMES", "--profiles", "profiles"}},
      {"profiles rm all", {"profiles", "rm", "--all", "--profiles", "profiles"}},
      {"plan", {"plan", "study.yaml", "--profiles", "profiles"}},
  };
  return kVerbs;
}

/// A place that the program writes or removes, and the verbs that do; patterns as pattern_of() gives them. A folder that the
/// user names (the study, the zoo, `run.profiles`, `--out`) is none: it may be a link.
struct Place {
  std::string pattern;
  std::vector<std::string> written_by;
};
const std::vector<Place>& places() {
  static const std::vector<Place> kPlaces{
      {"study/config.resolved.yaml", {"run"}},
      {"study/README.txt", {"run"}},
      {"study/assessment.json", {"run", "resume"}},
      {"study/report.html", {"report", "resume"}},
      {"study/log", {"run", "resume"}},
      {"study/log/lock", {"run", "resume"}},
      {"study/log/000001.log", {"run", "resume"}},
      {"study/control", {"run", "resume"}},
      {"study/control/crash.marks", {"run", "resume"}},
      {"study/control/workers.sock", {"run", "resume"}},
      {"study/ckpt", {"run", "resume"}},
      {"study/ckpt/ADDRESS.safetensors", {"resume", "predict"}},
      {"study/ckpt/NEXT.safetensors", {"resume"}},
      {"study/best", {"run", "resume"}},
      {"study/best/model.graph", {"run", "resume"}},
      {"study/best/weights.safetensors", {"run", "resume"}},
      {"study/best/model.onnx", {"run", "resume"}},
      {"study/best/package.json", {"run", "resume"}},
      {"open/control", {"pause", "stop"}},
      {"open/control/pause", {"pause", "resume"}},
      {"open/control/stop", {"stop", "resume"}},
      {"open/control/stop-trial-N", {"stop trial", "resume"}},
      {"blend/best/members", {"run", "resume"}},
      {"blend/best/members/N.graph", {"run", "resume"}},
      {"blend/best/members/N.safetensors", {"run", "resume"}},
      {"blend/best/model.graph", {"resume"}},  // of a package of another form: removed
      {"profiles/NAME.profile", {"profiles rm", "profiles rm all", "resume"}},
      {"zoo/index.sqlite", {"zoo add", "zoo ls", "run elsewhere"}},
      {"zoo/index.sqlite-wal", {"zoo add"}},
      {"zoo/index.sqlite-shm", {"zoo add"}},
      {"zoo/weights", {"zoo add", "zoo gc"}},
      {"zoo/weights/HASH.safetensors", {"zoo rm", "zoo gc", "zoo match"}},
      {"zoo/weights/NEXT.safetensors", {"zoo add"}},
      {"out/package/package.json", {"export model", "repeat"}},
      {"out/package/weights.safetensors", {"export model"}},
      {"out/trials.csv", {"export tables"}},
      {"out/tensorboard", {"export tensorboard"}},
      {"out/predicted.csv", {"predict"}},
      {"out/page.html", {"compare"}},
      // Temporary names of earlier builds, and names that are like those of this one.
      {"study/report.html.tmp", {"report"}},
      {"study/config.resolved.yaml.tmp", {"run"}},
      {"study/assessment.json.tmp", {"resume"}},
      {"study/best/package.json.tmp", {"resume"}},
      {"study/best/model.onnx.tmp", {"resume"}},
      {"study/best/model.onnx.tmp-0123456789abcdef", {"resume"}},
      {"study/ckpt/.tmp-1-2-3", {"resume"}},
      {"study/ckpt/.tmp-1-0123456789abcdef-3", {"resume"}},
      {"profiles/00000000001-aaaaaaaaaaaa.profile.tmp", {"profiles rm all", "run elsewhere"}},
      {"zoo/weights/tmp-PROCESS", {"zoo add", "zoo gc"}},
  };
  return kPlaces;
}

bool is_whole() { return std::getenv("LANISTA_WHOLE_PLANTED") != nullptr; }

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

class Campaign {
 public:
  explicit Campaign(std::string lanista) : lanista_(std::move(lanista)), victim_(place_.path("victim")) {}

  bool prepare() {
    base_ = place_.path("base");
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 90; ++i) {
      rows += std::to_string(i % 17) + "," + std::to_string(i * i % 23) + "," + (i % 3 == 0 ? "no" : "yes") + "\n";
    }
    campaign::write_file(base_ + "/rows.csv", rows);
    campaign::write_file(base_ + "/study.yaml", kStudy);
    fs::create_directories(base_ + "/out");
    return ran("study", {"run", "study.yaml", "--out", "study", "--quiet"}, 0) &&
           ran("blend", {"run", "study.yaml", "--out", "blend", "--quiet", "--set", "data.folds=3", "--set",
                         "train.start=off"},
               0) &&
           ran("zoo", {"zoo", "add", "study#2", "--zoo", "zoo", "--quality", "1"}, 0) && pause_one("open");
  }

  /// Every verb without a plant: what it writes is in the list of places, and how it ends is known.
  void watch_the_writers() {
    std::set<std::string> known;
    for (const Place& place : places()) known.insert(place.pattern);
    for (const Verb& verb : verbs()) {
      for (const char* study : {"study", "blend", "open"}) {
        const std::string inside = fresh_case(verb, study);
        const std::vector<std::string> notes = put_notes(inside);
        std::set<std::string> names;
        {
          WatchedNames watched(inside);
          codes_[verb.name + study] = run(verb, study, inside).code;
          names = watched.take();
        }
        for (const std::string& note : notes) names.erase(fs::relative(note, inside).string());
        for (const std::string& name : names) {
          if (verb.name == "resume" || verb.name == "zoo add") learn(name);
          check_known(name, known, verb.name + " of " + study);
        }
      }
    }
  }

  void plant_everywhere() {
    for (const Place& place : places()) {
      for (const Plant plant : all_plants()) {
        for (const Verb& verb : verbs()) {
          const bool writes = std::ranges::find(place.written_by, verb.name) != place.written_by.end();
          if (writes || is_whole()) plant_one(place, plant, verb);
        }
      }
    }
  }

  int result() const {
    std::printf("%lld checks, %lld failures, %d plants that this user may not make\n",
                static_cast<long long>(verdicts_.all()), static_cast<long long>(verdicts_.failures()), not_made_);
    return verdicts_.failures() == 0 ? 0 : 1;
  }

 private:
  Ended start(std::vector<std::string> words, const std::string& folder) const {
    words.insert(words.begin(), lanista_);
    return campaign::run({.command = std::move(words), .folder = folder, .seconds = kHangsAfter});
  }

  bool ran(const std::string& what, const std::vector<std::string>& words, int code) const {
    const Ended ended = start(words, base_);
    if (ended.code == code && ended.signal == 0 && !ended.hung) return true;
    std::printf("cannot prepare %s: exit %d\n%s\n", what.c_str(), ended.code, ended.errors.c_str());
    return false;
  }

  /// A study that has not ended: a signal pauses it once a trial has ended.
  bool pause_one(const std::string& study) const {
    campaign::Child child({.command = {lanista_, "run", "study.yaml", "--out", study, "--quiet", "--trials", "60"},
                           .folder = base_,
                           .seconds = kHangsAfter});
    const std::string log = base_ + "/" + study + "/log/000001.log";
    while (campaign::read_file(log).find("\"kind\":\"succeeded\"") == std::string::npos && !child.ends_within(0.01)) {
    }
    child.send(SIGTERM);
    const Ended ended = child.wait();
    if (ended.code == kPaused) return true;
    std::printf("cannot pause %s: exit %d\n%s\n", study.c_str(), ended.code, ended.errors.c_str());
    return false;
  }

  /// A copy of the prepared folder, with files of the user in every folder that the program writes to.
  std::string fresh_case(const Verb& verb, const std::string& study) const {
    std::string inside = place_.path("case");
    campaign::copy_folder(base_, inside);
    if (verb.is_new) {
      fs::remove_all(inside + "/" + study);
      fs::create_directories(inside + "/" + study);
    }
    return inside;
  }

  /// The user's files that were put into the folders of a case.
  static std::vector<std::string> put_notes(const std::string& inside) {
    std::vector<std::string> out;
    for (const char* folder : {"study", "study/log", "study/ckpt", "study/best", "study/best/members", "study/control",
                               "blend/best/members", "profiles", "zoo/weights", "out"}) {
      const std::string path = inside + "/" + folder;
      // Not through a plant.
      if (fs::symlink_status(path).type() != fs::file_type::directory) continue;
      if (fs::canonical(path) != fs::canonical(inside) / folder) continue;
      for (const char* name : {"notes.txt", "my.safetensors", "my.profile", ".tmp-mine", "my.graph"}) {
        campaign::write_file(path + "/" + name, kNotes);
        out.push_back(path + "/" + name);
      }
    }
    return out;
  }

  Ended run(const Verb& verb, const std::string& study, const std::string& inside) const {
    std::vector<std::string> words = verb.words;
    for (std::string& word : words) {
      if (word.starts_with("STUDY")) word = study + word.substr(5);
      if (word == "MODEL") word = first_of(base_ + "/zoo", "HASH").empty() ? "0" : model_id();
      if (word == "TIMES") word = fs::path(first_of(base_ + "/profiles", "NAME.profile")).stem().string();
    }
    return start(std::move(words), inside);
  }

  /// Enough of an id: the zoo's first model.
  std::string model_id() const {
    const Ended ended = start({"zoo", "ls", "--zoo", "zoo", "--json"}, base_);
    const auto at = ended.output.find("\"id\":\"");
    return at == std::string::npos ? "0" : ended.output.substr(at + 6, 16);
  }

  /// The first name below a folder with this pattern at its end, relative to it; empty: none.
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

  /// Names that a verb makes and that can be known before it runs: training gives the same bits each time.
  void learn(const std::string& name) {
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
      return known.contains(as) || std::ranges::any_of(known, [&](const std::string& each) { return each.starts_with(as + "/"); });
    };
    const std::string tail = pattern.substr(pattern.find('/') == std::string::npos ? 0 : pattern.find('/'));
    const bool found = is_known(pattern) || is_known("open" + tail) || is_known("blend" + tail) || top == "out";
    verdicts_.take(what, found ? "" : "writes " + name + " (" + pattern + "), which is in no list: add it to places()");
  }

  /// The path of a place in a case; empty: it has none there.
  std::string path_of(const Place& place) const {
    const std::string& pattern = place.pattern;
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

  void plant_one(const Place& place, Plant plant, const Verb& verb) {
    const std::string relative = path_of(place), top = folder_of(place.pattern);
    const std::string study = top == "blend" || top == "open" ? top : "study";
    const std::string what = plant_name(plant) + " at " + place.pattern + ", " + verb.name;
    if (relative.empty() || relative.ends_with("/")) return verdicts_.failed(what + ": the place is not found");
    const std::string inside = fresh_case(verb, study), path = inside + "/" + relative;
    victim_.make();
    if (!put(plant, path, victim_)) {
      ++not_made_;
      return;
    }
    const std::vector<std::string> notes = put_notes(inside);
    const OtherFile other(plant, path);
    const std::string before = victim_.facts();
    const Ended ended = run(verb, study, inside);
    const std::string wrong = wrong_with(ended, verb.name + study, relative);
    verdicts_.take(what, wrong, &ended);
    verdicts_.take(what, victim_.facts() == before ? "" : "files outside have changed", &ended);
    verdicts_.take(what, other.is_unchanged() ? "" : "a file that belongs to another has changed", &ended);
    for (const std::string& note : notes) {
      if (campaign::read_file(note) != kNotes) verdicts_.failed(what + ": the user's file " + note + " is gone", &ended);
    }
  }

  /// What is wrong with the end of a run; empty: nothing.
  std::string wrong_with(const Ended& ended, const std::string& run, const std::string& relative) const {
    if (ended.hung) return "hangs";
    if (ended.signal != 0) return "ends by signal " + std::to_string(ended.signal);
    if (ended.code == 0 || ended.code == codes_.at(run)) return "";
    // A request is obeyed whatever kind of file it is; it stops a new study before it has a model.
    const bool stopped = relative == "open/control/stop" && ended.errors.find("without a model") != std::string::npos;
    if (stopped) return "";
    // The place, or a folder above it.
    if ((ended.errors + ended.output).find(relative) != std::string::npos) return "";
    for (fs::path path(relative); !path.empty(); path = path.parent_path()) {
      if (ended.errors.find("lanista: " + path.string() + ": ") != std::string::npos) return "";
      if (ended.errors.find("\"" + path.string() + ": ") != std::string::npos) return "";  // in a warning
    }
    return "exit " + std::to_string(ended.code) + " without a word of " + relative;
  }

  campaign::Workplace place_;
  std::string lanista_, base_;
  Victim victim_;
  campaign::Verdicts verdicts_;
  std::map<std::string, int> codes_;         ///< of each verb and study without a plant
  std::map<std::string, std::string> next_;  ///< names that resume and zoo add make
  int not_made_ = 0;
};

}  // namespace
}  // namespace lanista::planted

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: planted_files LANISTA\n");
    return 2;
  }
  ::umask(022);
  lanista::planted::Campaign campaign(std::filesystem::absolute(argv[1]).string());
  if (!campaign.prepare()) return 1;
  campaign.watch_the_writers();
  campaign.plant_everywhere();
  return campaign.result();
}
