#pragma once

#include <string>
#include <string_view>

// Names of machines.
namespace lanista::engine {

/// Returns the name of this machine as gethostname() reports it. On the nodes of a Slurm cluster it is usually the name
/// of the node. Empty if the system reports none.
std::string local_host_name();

/// Returns a name that came from another machine, made safe for logs, terminals and pages. Visible ASCII stays, any
/// other byte becomes '?', and the result has at most 64 characters.
std::string sanitize_host_name(std::string_view name);

}  // namespace lanista::engine
