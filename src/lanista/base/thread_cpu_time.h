#pragma once

namespace lanista {

/// Seconds of processor time that this thread has used. Other processes of the machine do not affect it.
double thread_cpu_seconds();

}  // namespace lanista
