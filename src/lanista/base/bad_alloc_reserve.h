#pragma once

namespace lanista {

/// Reserves 2 MiB of address space that is freed when the system gives no more memory, so that error handling can
/// allocate.
///
/// It sets the new handler of the process (std::set_new_handler), which frees the reserve and throws std::bad_alloc.
/// Destructors that run on the way to the handler of the exception may allocate a little (nlohmann::json does). Without
/// the reserve they would end the process. With a limit of the address space it also makes malloc use one arena. For
/// programs: call it once, at the start. Returns false if the system does not give the memory.
bool reserve_memory_for_bad_alloc();

/// Reserves the space again if the handler freed it. Returns false if the system does not give the memory. Thread-safe;
/// if nothing was freed, it only reads one flag.
bool refill_memory_reserve();

}  // namespace lanista
