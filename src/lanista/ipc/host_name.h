#pragma once

#include <string>
#include <string_view>

// Names of machines.
namespace lanista::engine {

/// The host name of this machine; on Slurm the name of the node. Empty if the system reports none.
std::string local_host_name();

/// A name from another process in a form for logs, terminals and pages: visible ASCII, with '?' for all other bytes, at
/// most 64 characters.
std::string sanitize_host_name(std::string_view name);

}  // namespace lanista::engine
