#pragma once

namespace lanista {

/// Seconds that this thread has had of a processor: what others do on the machine is not in them.
double thread_cpu_seconds();

}  // namespace lanista
