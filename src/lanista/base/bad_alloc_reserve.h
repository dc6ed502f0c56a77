#pragma once

namespace lanista {

/// Keeps some address space back for the moment when the system gives no more: from then on, before operator new throws
/// std::bad_alloc, what was kept is let go. What is destroyed on the way to whoever catches it may itself need a little
/// memory (nlohmann::json does), and would end the process without it. For programs, once, at their start: it sets the
/// new handler of the process. False: there is not even that much.
bool reserve_memory_for_bad_alloc();

/// Keeps it back again, if it was let go. False: the system does not give it. Thread-safe, cheap.
bool refill_memory_reserve();

}  // namespace lanista
