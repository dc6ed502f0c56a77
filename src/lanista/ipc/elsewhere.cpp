#include "lanista/ipc/elsewhere.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <string_view>
#include <utility>

namespace lanista::engine {
namespace {

constexpr int kSignalled = 128;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._:@+,/").find(c) != std::string_view::npos;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_plain(c); });
}

/// For the shell behind ssh.
std::string quoted(const std::string& word) {
  if (!word.empty() && is_plain(word)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> with_worker(std::vector<std::string> words, const std::string& program) {
  words.insert(words.end(), {program, "worker", "--stdio"});
  return words;
}

Elsewhere by_ssh(const std::string& host, const std::vector<std::string>& options,
                 const std::vector<std::string>& words) {
  if (host == study::kHere) return {};
  std::vector<std::string> all{"ssh", "-T", "-o", "BatchMode=yes"};
  all.insert(all.end(), options.begin(), options.end());
  // Behind `--` neither the host nor a word after it is an option.
  all.insert(all.end(), {"--", host});
  for (const std::string& word : words) all.push_back(quoted(word));
  std::string name = host.substr(host.rfind('@') + 1);
  if (host.starts_with("ssh://")) {
    if (name.starts_with("ssh://")) name = name.substr(6);
    name = name.substr(0, name.find(':'));
  }
  return {"ssh " + host, std::move(all), std::move(name)};
}

}  // namespace

std::vector<Elsewhere> places_of(const study::ClusterConfig& cluster, const ProgramPaths& programs) {
  std::vector<Elsewhere> out;
  for (const std::string& host : cluster.ssh) out.push_back(by_ssh(host, {}, with_worker({}, programs.on(host))));
  if (!cluster.slurm.empty()) {
    // Without --unbuffered srun hands lines on, and a message is none.
    std::vector<std::string> words{"srun", "--unbuffered", "--nodes=1", "--ntasks=1"};
    for (const std::string& option : cluster.slurm) {
      words.push_back(option.starts_with('-') ? option : "--" + option);
    }
    words.emplace_back("--");
    out.push_back({"slurm", with_worker(std::move(words), programs.everywhere)});
  }
  return out;
}

std::vector<Elsewhere> stages_of(const std::vector<std::string>& hosts, const ProgramPaths& programs) {
  std::vector<Elsewhere> out;
  // A step waits for them: a machine that is off is to be found out soon.
  for (const std::string& host : hosts) {
    out.push_back(by_ssh(host, {"-o", "ConnectTimeout=20"}, {programs.on(host), "stage"}));
  }
  return out;
}

Result<Elsewhere> by_command(const std::string& command, const std::string& program) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) {
    return Error{Code::kInvalidArgument, "no command; allowed: one that runs what follows it, somewhere", "--launch"};
  }
  return Elsewhere{command, with_worker(std::move(words), program)};
}

Channel take_standard_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return {in, out};
}

int watch_over(const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return work();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return ::getppid() == parent ? work() : 1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lanista::engine
