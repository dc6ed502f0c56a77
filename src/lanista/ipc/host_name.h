#pragma once

#include <string>
#include <string_view>

// Names of machines, as they call themselves.
namespace lanista::engine {

/// What this machine calls itself; on Slurm that is the node. Empty: it does not say.
std::string local_host_name();

/// A name that somebody else told, fit for logs, terminals and pages: letters, digits and other visible ASCII, anything
/// else a '?', 64 characters at most.
std::string sanitize_host_name(std::string_view told);

}  // namespace lanista::engine
