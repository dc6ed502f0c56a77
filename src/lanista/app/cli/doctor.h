#pragma once

namespace lanista::cli {

/// Prints the properties of this machine, as JSON if `json`, with advice where one of them limits a run: CPU,
/// instruction set, measured speed, memory, GPUs, the current folder, its disk and the terminal. Returns kDone, with
/// advice too.
int doctor(bool json);

}  // namespace lanista::cli
