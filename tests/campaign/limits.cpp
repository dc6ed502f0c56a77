// Runs each verb with closed streams, full disks, read-only folders, and small limits of memory, threads, file sizes
// and descriptors. Prints exit codes and messages as Markdown.
//
// Fails for a signal, a timeout, an internal error, a failure without a message, or a study that cannot be resumed.
//
//   limits LANISTA [few]     some values of each limit instead of all
//
// Temporary files are in $TMPDIR, else in memory. Limits of threads and read-only folders need the rights of another
// user, and full disks need a mount. A limit that cannot be set here is left out, with a note.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "campaign/limits_cases.h"

namespace lanista::campaign {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 54321;  ///< user without other processes, so that limits of threads count only the tested ones

constexpr int kNotLoaded = 127;  ///< exit code of the dynamic loader

/// One value of a limit.
struct Setting {
  std::string value;
  std::function<void(ProcessOptions&)> apply;
};

/// A column of the table.
struct Condition {
  std::string name;
  std::vector<Setting> settings = {};  ///< from much too small to nearly sufficient
  bool as_user = false;                ///< the call runs as kUser
  bool may_change_trials = false;      ///< trials may fail because of the limit
  bool has_own_disk = false;           ///< the folder is a mounted disk of 8 MB
  bool read_only = false;              ///< kUser may not write the folder
};

rlim_t mib(double count) { return static_cast<rlim_t>(count * 1048576); }

Setting limit(int what, rlim_t most, const std::string& name) {
  return {name, [what, most](ProcessOptions& start) { start.limits[what] = most; }};
}

/// Returns the smallest address space in MiB in which `lanista --version` works; with less, the dynamic loader fails.
double least_mib(const std::string& lanista) {
  double low = 1, high = 512;
  while (high - low > 0.25) {
    const double middle = (low + high) / 2;
    const ProcessResult ended = run({.command = {lanista, "--version"}, .limits = {{RLIMIT_AS, mib(middle)}}});
    (ended.code == 0 && ended.signal == 0 ? high : low) = middle;
  }
  return high;
}

/// Returns whether a process can run as kUser.
bool can_change_user(const std::string& lanista) {
  return run({.command = {lanista, "--version"}, .user = kUser}).code == 0;
}

bool mount_disk(const std::string& folder) {
  fs::create_directories(folder);
  return ::mount("none", folder.c_str(), "tmpfs", 0, "size=8m") == 0;
}

bool can_mount(const std::string& folder) {
  if (!mount_disk(folder)) return false;
  ::umount(folder.c_str());
  return true;
}

/// Returns the columns of the table. `spare` is the path of a folder to try a mount.
std::vector<Condition> conditions(const std::string& lanista, bool few, const std::string& spare) {
  std::vector<Condition> all;
  const auto closed = [](const std::string& name, std::vector<int> streams) {
    return Setting{name, [streams](ProcessOptions& start) { start.closed = streams; }};
  };
  all.push_back(
      {"closed streams",
       {closed("0", {0}), closed("1", {1}), closed("2", {2}), closed("1 2", {1, 2}), closed("0 1 2", {0, 1, 2})}});
  all.push_back({"full output", {{"/dev/full", [](ProcessOptions& start) { start.output = "/dev/full"; }}}});

  Condition sizes{"size of files", {}};
  for (const rlim_t bytes : {0, 1, 100, 512, 2048, 4096, 8192, 16384, 32768, 65536, 262144}) {
    if (!few || bytes == 0 || bytes == 4096 || bytes == 32768)
      sizes.settings.push_back(limit(RLIMIT_FSIZE, bytes, std::to_string(bytes)));
  }
  all.push_back(sizes);
  Condition files{"descriptors", {}};
  for (rlim_t count = 3; count <= 20; ++count) {
    if (!few || count % 4 == 3) files.settings.push_back(limit(RLIMIT_NOFILE, count, std::to_string(count)));
  }
  all.push_back(files);

  Condition memory{.name = "address space", .may_change_trials = true};
  const double least = least_mib(lanista);
  std::printf("<!-- address space: %.1f MiB at least -->\n", least);
  const int steps = few ? 6 : 60;
  for (int i = 0; i < steps; ++i) {
    // The first values are close together, so that different allocations fail.
    const double more = few ? 0.3 + 3.0 * i * i : 0.1 * i + 0.0012 * i * i * i;
    const double size = least + more;
    memory.settings.push_back(limit(RLIMIT_AS, mib(size), std::to_string(size) + " MiB"));
  }
  all.push_back(memory);

  if (can_change_user(lanista)) {
    Condition threads{.name = "threads", .as_user = true};
    for (const rlim_t count : {1, 2, 3}) threads.settings.push_back(limit(RLIMIT_NPROC, count, std::to_string(count)));
    all.push_back(threads);
    all.push_back(
        {.name = "read-only folder", .settings = {{"", [](ProcessOptions&) {}}}, .as_user = true, .read_only = true});
  } else {
    std::printf("<!-- threads, read-only folder: left out, the user cannot be changed here -->\n");
  }
  if (!can_mount(spare)) {
    std::printf("<!-- full disk: left out, nothing can be mounted here -->\n");
    return all;
  }
  Condition disk{.name = "full disk", .has_own_disk = true};
  for (const int free : {0, 4, 8, 16, 32, 64, 128}) {
    if (!few || free == 0 || free == 16)
      disk.settings.push_back({std::to_string(free) + " KiB free", [](ProcessOptions&) {}});
  }
  all.push_back(disk);
  return all;
}

void give_to(const std::string& folder, uid_t user) {
  static_cast<void>(::lchown(folder.c_str(), user, user));
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    static_cast<void>(::lchown(entry.path().c_str(), user, user));
  }
}

/// Returns the last error message, or else the last line, with paths that vary between runs replaced.
std::string result_text(const ProcessResult& ended, const std::string& folder) {
  std::string text;
  std::istringstream lines(ended.errors);
  for (std::string line; std::getline(lines, line);) {
    const bool is_error = line.starts_with("lanista: ") && !line.starts_with("lanista: warning");
    if (is_error || !text.starts_with("lanista: ")) text = line;
  }
  text = first_line(text);
  for (std::size_t at; (at = text.find(folder)) != std::string::npos;) text.replace(at, folder.size(), "@");
  static const std::regex counted("(tmp-|tfevents\\.|trial_)[0-9][-0-9a-f]*"), loader("^.*: error while loading");
  return std::regex_replace(std::regex_replace(text, counted, "$1N"), loader, "error while loading");
}

class Table {
 public:
  Table(const std::string& lanista, bool few) : lanista_(lanista), few_(few) {}

  bool run() {
    if (!make_fixtures(lanista_, campaign_folder_.path("fixtures"))) {
      verdicts_.count_failure("the fixtures");
      return false;
    }
    conditions_ = conditions(lanista_, few_, campaign_folder_.path("spare"));
    for (const LimitCall& call : calls()) {
      std::vector<std::string>& row = rows_[call.name];
      for (const Condition& condition : conditions_) row.push_back(cell(call, condition));
    }
    print();
    return verdicts_.failures() == 0;
  }

 private:
  std::string cell(const LimitCall& call, const Condition& condition) {
    std::string codes;
    int last = -1;
    for (const Setting& setting : condition.settings) {
      const ProcessResult ended = attempt(call, condition, setting);
      const int code = ended.signal != 0 ? 1000 + ended.signal : ended.is_timed_out ? 999 : ended.code;
      if (code != last) codes += (codes.empty() ? "" : " ") + std::to_string(code);
      last = code;
    }
    return codes;
  }

  ProcessResult attempt(const LimitCall& call, const Condition& condition, const Setting& setting) {
    const std::string folder = campaign_folder_.path("work");
    if (condition.has_own_disk) {
      if (!mount_disk(folder)) {
        verdicts_.count_failure("a disk cannot be mounted any more");
        return {};
      }
      fs::copy(campaign_folder_.path("fixtures"), folder, fs::copy_options::recursive);
      fill(folder, std::atoll(setting.value.c_str()) * 1024);
    } else {
      copy_folder(campaign_folder_.path("fixtures"), folder);
    }
    if (condition.as_user && !condition.read_only) give_to(folder, kUser);
    ProcessOptions start{.command = {lanista_}, .folder = folder};
    for (std::string word : call.words) {
      if (const auto at = word.find('@'); at != std::string::npos) word.replace(at, 1, folder);
      start.command.push_back(word);
    }
    if (condition.as_user) start.user = kUser;
    setting.apply(start);
    const ProcessResult ended = campaign::run(start);
    const std::string what = call.name + ", " + condition.name + " " + setting.value;
    std::string wrong = misbehaviour_of(ended, start);
    const bool is_half_done = !call.study.empty() && (ended.code != 0 || call.study == "half");
    if (wrong.empty() && is_half_done) wrong = resumable(call, condition, folder);
    verdicts_.take(what, wrong, &ended);
    if (ended.code != 0) {
      auto& names = answers_[condition.name][std::to_string(ended.code) + ": " + result_text(ended, folder)];
      names.insert(call.name);
    }
    if (condition.has_own_disk) ::umount(folder.c_str());
    return ended;
  }

  // Returns what is wrong with the end of a call, or "". A process without standard error may fail without a message.
  static std::string misbehaviour_of(const ProcessResult& ended, const ProcessOptions& start) {
    // The dynamic loader may fail before the program starts.
    if (ended.code == kNotLoaded && ended.errors.find("error while loading shared libraries") != std::string::npos) {
      return "";
    }
    const std::string wrong = find_misbehaviour(ended);
    const bool mute = std::ranges::find(start.closed, STDERR_FILENO) != start.closed.end();
    return mute && wrong == "an error without a word" ? "" : wrong;
  }

  static void fill(const std::string& folder, std::int64_t left) {
    std::error_code failed;
    const auto free = static_cast<std::int64_t>(fs::space(folder, failed).available);
    if (free > left) write_file(folder + "/ballast", std::string(static_cast<std::size_t>(free - left), 'x'));
  }

  std::string resumable(const LimitCall& call, const Condition& condition, const std::string& folder) {
    remove_all(folder + "/ballast");
    const std::string study = folder + "/" + call.study;
    const ProcessResult status = campaign::run({.command = {lanista_, "status", study}});
    if (status.code != 0) return call.study == "new" ? "" : "the study is lost: " + first_line(status.errors);
    const ProcessResult resumed = campaign::run({.command = {lanista_, "resume", study, "--quiet"}});
    if (const std::string wrong = find_misbehaviour(resumed); !wrong.empty()) return "resuming it: " + wrong;
    if (resumed.code == 0 || (resumed.code == 1 && condition.may_change_trials)) return "";
    return "cannot be resumed: " + first_line(resumed.errors);
  }

  void print() const {
    std::printf("| |");
    for (const Condition& condition : conditions_) std::printf(" %s |", condition.name.c_str());
    std::printf("\n|---|");
    for (std::size_t i = 0; i < conditions_.size(); ++i) std::printf("---|");
    std::printf("\n");
    for (const LimitCall& call : calls()) {
      std::printf("| `%s` |", call.name.c_str());
      for (const auto& text : rows_.at(call.name)) std::printf(" %s |", text.c_str());
      std::printf("\n");
    }
    for (const auto& [name, answers] : answers_) {
      std::printf("\n**%s**\n\n| code and message | calls |\n|---|---|\n", name.c_str());
      for (const auto& [answer, names] : answers) {
        std::printf("| `%s` | ", answer.c_str());
        std::size_t shown = 0;
        for (const auto& each : names) {
          if (++shown <= 3) std::printf("%s`%s`", shown == 1 ? "" : ", ", each.c_str());
        }
        if (shown > 3) std::printf(", %zu in all", shown);
        std::printf(" |\n");
      }
    }
    std::printf("\n%lld calls, %lld failed\n", static_cast<long long>(verdicts_.all()),
                static_cast<long long>(verdicts_.failures()));
  }

  const CampaignFolder campaign_folder_;
  const std::string& lanista_;
  bool few_;
  std::vector<Condition> conditions_;
  std::map<std::string, std::vector<std::string>> rows_;
  std::map<std::string, std::map<std::string, std::set<std::string>>> answers_;
  CheckCounts verdicts_;
};

}  // namespace
}  // namespace lanista::campaign

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: limits LANISTA [few]\n");
    return 2;
  }
  const std::string lanista = std::filesystem::absolute(argv[1]);  // each call has another current folder
  return lanista::campaign::Table(lanista, argc > 2).run() ? 0 : 1;
}
