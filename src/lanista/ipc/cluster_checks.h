#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/cluster_config.h"

// Checks of everything that reaches the command line of ssh or srun. A study file, and a stored study, may come from
// another person. Therefore they name hosts and options, and never a program.
namespace lanista::engine {

/// Checks `cluster.*` of a study file or of a stored study: hosts are host names, and options of srun start no program,
/// read no file and write no file. Only one of `ssh` and `slurm` may be set. Errors: kInvalidArgument with the value
/// and what is allowed; `where` is the key.
Result<void> check_cluster(const study::ClusterConfig& cluster);

/// The paths of the program lanista on other hosts. They come from the command line or from this program, never from a
/// file.
struct ProgramPaths {
  std::string default_path;                              ///< path on each host that `path_by_host` lacks
  std::map<std::string, std::string> path_by_host = {};  ///< by host, as in ClusterConfig

  /// The path on one host, which has the spelling of ClusterConfig. The reference lives as long as this object.
  const std::string& path_on(const std::string& host) const;
};

/// Checks one path of lanista on a host: not empty, no NUL, and no `-` at its start, because a launcher would read an
/// option there. Errors: kInvalidArgument; `where` is `--program`.
Result<void> check_program(const std::string& path);

/// Reads the values of `--program`: PATH, or HOST=PATH for one of `hosts`. `usual` is the path if no PATH is given.
/// Errors: kInvalidArgument for an invalid path (also `usual`, if it is used), an unknown host, or two paths for one
/// host or for all; `where` is `--program`.
Result<ProgramPaths> read_program_paths(const std::vector<std::string>& values, const std::vector<std::string>& hosts,
                                        const std::string& usual);

/// Returns the program path of each host: path number i for host number i. Of two equal hosts the later counts. The
/// default path stays empty. Errors: kInvalidArgument (a host name or a path is invalid, as in check_cluster() and
/// check_program(); the lists are not equally long).
Result<ProgramPaths> programs_of_hosts(const std::vector<std::string>& hosts, const std::vector<std::string>& paths);

}  // namespace lanista::engine
