#pragma once

#include <string>
#include <string_view>

// Names of machines, as they call themselves.
namespace lanista::engine {

/// What this machine calls itself; on Slurm that is the node. Empty: it does not say.
std::string own_host();

/// A name that somebody else told, fit for logs, terminals and pages: letters, digits and other visible ASCII, anything
/// else a '?', 64 characters at most.
std::string plain_host(std::string_view told);

}  // namespace lanista::engine
