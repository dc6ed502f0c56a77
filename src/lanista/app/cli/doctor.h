#pragma once

namespace lanista::cli {

/// Prints what this machine offers (CPU, ISA level, memory, disk, terminal, libraries) and what will limit a run.
int doctor(bool json);

}  // namespace lanista::cli
