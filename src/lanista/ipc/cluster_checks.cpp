#include "lanista/ipc/cluster_checks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lanista/base/text_cursor.h"

namespace lanista::engine {
namespace {

constexpr std::string_view kSlurmKey = "cluster.slurm";
constexpr std::string_view kProgramOption = "--program";
constexpr std::size_t kMaxHostBytes = 255;

/// A word of letters, digits and `more`. It starts with a letter, a digit or `_`, so no program reads an option there.
bool is_word(std::string_view text, std::string_view more) {
  const auto allowed = [&](char c) { return is_letter(c) || is_digit(c) || more.find(c) != more.npos; };
  return !text.empty() && (is_letter(text.front()) || is_digit(text.front())) && std::ranges::all_of(text, allowed);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 && std::ranges::all_of(text, is_digit);
}

/// An IPv6 address with an optional zone: fe80::1%eth0.
bool is_ipv6(std::string_view text) {
  if (const auto zone = text.find('%'); zone != text.npos) {
    if (!is_word(text.substr(zone + 1), "-.")) return false;
    text = text.substr(0, zone);
  }
  const auto allowed = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
  };
  return std::ranges::count(text, ':') >= 2 && std::ranges::all_of(text, allowed);
}

/// [user@]host, or ssh://[user@]host[:port]. ssh splits at the last `@`; a user of a jump host may have more of them.
bool is_host(std::string_view text) {
  if (text.size() > kMaxHostBytes) return false;
  const bool is_url = text.starts_with("ssh://");
  if (is_url) text.remove_prefix(6);
  if (const auto at = text.rfind('@'); at != text.npos) {
    if (!is_word(text.substr(0, at), "-.+@%")) return false;
    text.remove_prefix(at + 1);
  }
  if (!is_url && is_ipv6(text)) return true;
  if (const auto colon = text.find(':'); is_url && colon != text.npos) {
    if (!is_number(text.substr(colon + 1))) return false;
    text = text.substr(0, colon);
  }
  return is_word(text, "-.");
}

Error not_allowed(const std::string& what, const std::string& allowed, std::string_view where) {
  return {Code::kInvalidArgument, what + "; allowed: " + allowed, std::string(where)};
}

Result<void> check_hosts(const std::vector<std::string>& hosts, std::string_view where) {
  for (const std::string& host : hosts) {
    if (is_host(host)) continue;
    return not_allowed("'" + host + "' is not a host",
                       "a name as ssh has it (node2, user@node2, ssh://user@node2:22), or here", where);
  }
  return {};
}

/// An option of srun that a file may set. It selects where, how long and with what a job runs. It runs nothing, and it
/// reads and writes no file.
enum class SlurmValue { kNone, kOptional, kRequired };
struct SlurmOption {
  std::string_view name;
  SlurmValue value = SlurmValue::kRequired;
  std::string_view more = "-.,";  // characters of a value in addition to letters, digits and `_`
};

// srun reads the value of nodelist and of exclude as the name of a file if it has a `/`. So only the date of `begin`
// may have one. Without its value an option would use the next word, which is the program.
constexpr std::array<SlurmOption, 21> kSlurmOptions{{{"account"},
                                                     {"begin", SlurmValue::kRequired, "-:+/."},
                                                     {"clusters"},
                                                     {"constraint", SlurmValue::kRequired, "-.,:@[]+="},
                                                     {"cpus-per-task", SlurmValue::kRequired, ""},
                                                     {"exact", SlurmValue::kNone},
                                                     {"exclude", SlurmValue::kRequired, "-.,[]"},
                                                     {"exclusive", SlurmValue::kOptional, ""},
                                                     {"gres", SlurmValue::kRequired, "-.,:="},
                                                     {"job-name", SlurmValue::kRequired, "-.,:@+="},
                                                     {"licenses", SlurmValue::kRequired, "-.,:@"},
                                                     {"mem", SlurmValue::kRequired, ""},
                                                     {"mem-per-cpu", SlurmValue::kRequired, ""},
                                                     {"nice", SlurmValue::kOptional, "-"},
                                                     {"nodelist", SlurmValue::kRequired, "-.,[]"},
                                                     {"overlap", SlurmValue::kNone},
                                                     {"partition"},
                                                     {"qos"},
                                                     {"reservation"},
                                                     {"time", SlurmValue::kRequired, "-:"},
                                                     {"wckey", SlurmValue::kRequired, "-.@"}}};

std::string allowed_option_names() {
  std::string out;
  for (const SlurmOption& option : kSlurmOptions) out += (out.empty() ? "" : ", ") + std::string(option.name);
  return out;
}

bool is_slurm_value(std::string_view text, std::string_view more) {
  if (text.starts_with('-')) return is_number(text.substr(1));  // nice=-5
  const auto allowed = [&](char c) { return is_letter(c) || is_digit(c) || more.find(c) != more.npos; };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

/// `name` or `name=value`, with or without `--` at its start. A short option (-p) is refused: its value may be the next
/// word. A prefix of a name (`job-n`) is refused: a later srun may have another option that it fits.
Result<void> check_slurm_option(const std::string& option) {
  const std::string bare = option.starts_with("--") ? option.substr(2) : option;
  const auto equals = bare.find('=');
  const std::string name = bare.substr(0, equals);
  const auto* known = std::ranges::find(kSlurmOptions, name, &SlurmOption::name);
  if (known == kSlurmOptions.end()) {
    return not_allowed("'" + name + "' is not an option that a study file may set",
                       allowed_option_names() + " (--slurm on the command line allows any)", kSlurmKey);
  }
  if (equals == std::string::npos) {
    if (known->value != SlurmValue::kRequired) return {};
    return not_allowed("'" + option + "' has no value, so srun would use the next word as its value", name + "=VALUE",
                       kSlurmKey);
  }
  if (known->value == SlurmValue::kNone) {
    return not_allowed("'" + option + "' has a value; " + name + " has none", name, kSlurmKey);
  }
  if (is_slurm_value(std::string_view(bare).substr(equals + 1), known->more)) return {};
  return not_allowed(
      "'" + option + "' is not an option",
      name + "=VALUE of letters, digits and _" + std::string(known->more) + ", without a '-' at its start", kSlurmKey);
}

}  // namespace

Result<void> check_cluster(const study::ClusterConfig& cluster) {
  LANISTA_TRY(check_hosts(cluster.ssh, "cluster.ssh"));
  LANISTA_TRY(check_hosts(cluster.places, "cluster.places"));
  for (const std::string& option : cluster.slurm) LANISTA_TRY(check_slurm_option(option));
  if (!cluster.ssh.empty() && !cluster.slurm.empty()) {
    return Error{Code::kInvalidArgument, "workers run on hosts of ssh or on Slurm; leave out one",
                 std::string(kSlurmKey)};
  }
  return {};
}

const std::string& ProgramPaths::path_on(const std::string& host) const {
  const auto found = path_by_host.find(host);
  return found == path_by_host.end() ? default_path : found->second;
}

Result<void> check_program(const std::string& path) {
  if (path.empty())
    return not_allowed("the path of lanista is empty", "a path, such as /opt/bin/lanista", kProgramOption);
  if (path.front() == '-') {
    return not_allowed("'" + path + "' starts with '-', so a launcher would read an option", "a path such as ./" + path,
                       kProgramOption);
  }
  if (path.find('\0') != std::string::npos) {
    return not_allowed("the path of lanista has a NUL byte", "any other byte", kProgramOption);
  }
  return {};
}

Result<ProgramPaths> read_program_paths(const std::vector<std::string>& values, const std::vector<std::string>& hosts,
                                        const std::string& usual) {
  ProgramPaths out;
  for (const std::string& value : values) {
    const auto names = [&](const std::string& host) { return value.starts_with(host + "="); };
    const auto host = std::ranges::find_if(hosts, names);
    const auto equals = value.find('=');
    // A path may have a '=' after its first '/'; a host name has no '/'.
    if (host == hosts.end() && equals != std::string::npos && value.find('/') > equals) {
      std::string all;
      for (const std::string& each : hosts) all += (all.empty() ? "" : ", ") + each;
      return not_allowed("'" + value.substr(0, equals) + "' is not a host of this study",
                         all.empty() ? "PATH alone, since no host has a name here" : all, kProgramOption);
    }
    const std::string path = host == hosts.end() ? value : value.substr(host->size() + 1);
    LANISTA_TRY(check_program(path));
    std::string& place = host == hosts.end() ? out.default_path : out.path_by_host[*host];
    if (!place.empty()) {
      return not_allowed("'" + value + "' is a second path for " + (host == hosts.end() ? "all hosts" : *host), "one",
                         kProgramOption);
    }
    place = path;
  }
  if (out.default_path.empty()) out.default_path = usual;
  LANISTA_TRY(check_program(out.default_path));
  return out;
}

Result<ProgramPaths> programs_of_hosts(const std::vector<std::string>& hosts, const std::vector<std::string>& paths) {
  LANISTA_TRY(check_hosts(hosts, "cluster.places"));
  if (hosts.size() != paths.size()) {
    return Error{Code::kInvalidArgument,
                 "there are " + std::to_string(paths.size()) + " paths of lanista for " + std::to_string(hosts.size()) +
                     " hosts; each host needs one",
                 "cluster.places"};
  }
  ProgramPaths out;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    LANISTA_TRY(check_program(paths[i]));
    out.path_by_host[hosts[i]] = paths[i];
  }
  return out;
}

}  // namespace lanista::engine
