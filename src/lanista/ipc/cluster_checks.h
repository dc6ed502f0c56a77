#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/cluster_config.h"

// Checks of everything that reaches the command line of ssh or srun. A study file, and a stored study, may come from
// another person. Therefore they name hosts and options, and never a program.
namespace lanista::engine {

/// Checks `cluster.*` of a study file or of a stored study: hosts are names, and options of srun run nothing, read no
/// file and write no file. Errors: kInvalidArgument (the key, the value, and what is allowed).
Result<void> check_cluster(const study::ClusterConfig& cluster);

/// The paths of lanista on other hosts. They come from the command line, or from this program; never from a file.
struct ProgramPaths {
  std::string default_path;                           ///< on each host that `path_by_host` does not name
  std::map<std::string, std::string> path_by_host = {};  ///< by the host as ClusterConfig::ssh or ::places has it

  /// The path on one host.
  const std::string& path_on(const std::string& host) const;
};

/// Checks one path of lanista on a host: not empty, no NUL, and no `-` at its start, since a launcher would read an
/// option there. Errors: kInvalidArgument at `--program`.
Result<void> check_program(const std::string& path);

/// Reads the values of `--program`: PATH, or HOST=PATH for one of `hosts`. `usual` is the path without an option.
/// Errors: kInvalidArgument at `--program` (a bad path, an unknown host, the same host twice).
Result<ProgramPaths> read_program_paths(const std::vector<std::string>& values, const std::vector<std::string>& hosts,
                                        const std::string& usual);

/// Puts the paths on `hosts` together, and checks both as check_cluster and check_program do.
/// Errors: kInvalidArgument (also where the two lists are not equally long).
Result<ProgramPaths> programs_of_hosts(const std::vector<std::string>& hosts, const std::vector<std::string>& paths);

}  // namespace lanista::engine
