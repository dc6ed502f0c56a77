#include "lanista/ipc/remote_launcher.h"

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

constexpr int kSignalExitBase = 128;

bool is_safe_for_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._:@+,/").find(c) != std::string_view::npos;
}

bool is_safe_for_shell(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_safe_for_shell(c); });
}

/// A word quoted for the remote shell of ssh.
std::string quote_for_shell(const std::string& word) {
  if (!word.empty() && is_safe_for_shell(word)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> append_worker_command(std::vector<std::string> arguments, const std::string& program) {
  arguments.insert(arguments.end(), {program, "worker", "--stdio"});
  return arguments;
}

RemoteLauncher ssh_launcher(const std::string& host, const std::vector<std::string>& options,
                            const std::vector<std::string>& arguments) {
  if (host == study::kHere) return {};
  std::vector<std::string> all{"ssh", "-T", "-o", "BatchMode=yes"};
  all.insert(all.end(), options.begin(), options.end());
  // After `--` neither the host nor a later word is an option.
  all.insert(all.end(), {"--", host});
  for (const std::string& word : arguments) all.push_back(quote_for_shell(word));
  std::string name = host.substr(host.rfind('@') + 1);
  if (host.starts_with("ssh://")) {
    if (name.starts_with("ssh://")) name = name.substr(6);
    name = name.substr(0, name.find(':'));
  }
  return {"ssh " + host, std::move(all), std::move(name)};
}

}  // namespace

std::vector<RemoteLauncher> ssh_and_slurm_launchers(const study::ClusterConfig& cluster, const ProgramPaths& programs) {
  std::vector<RemoteLauncher> out;
  for (const std::string& host : cluster.ssh) {
    out.push_back(ssh_launcher(host, {}, append_worker_command({}, programs.path_on(host))));
  }
  if (!cluster.slurm.empty()) {
    // Without --unbuffered srun forwards whole lines, and a message is no line.
    std::vector<std::string> arguments{"srun", "--unbuffered", "--nodes=1", "--ntasks=1"};
    for (const std::string& option : cluster.slurm) {
      arguments.push_back(option.starts_with('-') ? option : "--" + option);
    }
    arguments.emplace_back("--");
    out.push_back({"slurm", append_worker_command(std::move(arguments), programs.default_path)});
  }
  return out;
}

std::vector<RemoteLauncher> stage_launchers(const std::vector<std::string>& hosts, const ProgramPaths& programs) {
  std::vector<RemoteLauncher> out;
  // A step waits for these hosts, so an unreachable one must be detected soon.
  for (const std::string& host : hosts) {
    out.push_back(ssh_launcher(host, {"-o", "ConnectTimeout=20"}, {programs.path_on(host), "stage"}));
  }
  return out;
}

Result<RemoteLauncher> command_launcher(const std::string& command, const std::string& program) {
  std::istringstream in(command);
  std::vector<std::string> arguments;
  for (std::string word; in >> word;) arguments.push_back(word);
  if (arguments.empty()) {
    return Error{Code::kInvalidArgument, "no command; allowed: a command that runs its arguments on some machine",
                 "--launch"};
  }
  return RemoteLauncher{command, append_worker_command(std::move(arguments), program)};
}

Channel claim_standard_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return {in, out};
}

int run_supervised(const std::function<int()>& work) {
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
  return WIFSIGNALED(status) ? kSignalExitBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lanista::engine
