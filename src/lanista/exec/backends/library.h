#pragma once

#include <string>
#include <string_view>

#include "lanista/exec/backends/border.h"
#include "lanista/exec/program/backend.h"

// What a device library and the program that opens it must agree on. The library holds no room but this one: whatever
// it uses of others it finds in the program.
namespace lanista::device {

/// What a library offers.
struct Library {
  std::string about;                                            ///< "LibTorch 1.13.1, CPU AVX2"
  Result<const nn::Backend*> (*open)(std::string_view device);  ///< by the name behind "torch:"
};

/// Equal where the compiler and the headers of both are. Not inline: the loader would give the library the program's.
constexpr char kStamp[] = __VERSION__ "/" LANISTA_DEVICE_BORDER;

inline constexpr const char* kStampSymbol = "lanista_device_stamp";      ///< const char* of no arguments
inline constexpr const char* kLibrarySymbol = "lanista_device_library";  ///< const Library* of no arguments

}  // namespace lanista::device
