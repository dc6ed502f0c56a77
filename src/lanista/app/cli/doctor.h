#pragma once

namespace lanista::cli {

/// Prints the properties of this machine, as JSON if `json` (CPU, instruction set, memory, disk, terminal, libraries),
/// with advice where one of them limits a run. Returns the exit code.
int doctor(bool json);

}  // namespace lanista::cli
