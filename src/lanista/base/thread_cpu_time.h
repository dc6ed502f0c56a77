#pragma once

namespace lanista {

/// Returns the seconds of processor time that the calling thread has used since its start. Other processes of the
/// machine do not affect it.
double thread_cpu_seconds();

}  // namespace lanista
