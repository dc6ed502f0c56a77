#pragma once

#include <string>
#include <string_view>

#include "lanista/exec/backends/border.h"
#include "lanista/exec/program/backend.h"

// Interface between a device library and the program that opens it. The library contains this module only. It uses all
// other modules from the program.
namespace lanista::device {

/// Entry table of a device library. The program gets it from the library's function kLibrarySymbol.
struct Library {
  std::string about;  ///< contents, for people: "LibTorch 1.13.1, CPU AVX2"
  /// Returns the backend of a device by its name without the prefix "torch:". It exists until the process ends.
  Result<const program::Backend*> (*open)(std::string_view device);
};

/// Build stamp: the compiler version and a hash of the shared headers. Program and library must have the same stamp.
///
/// It is not inline, because the loader would then give the library the program's stamp.
constexpr char kStamp[] = __VERSION__ "/" LANISTA_DEVICE_BORDER;

/// Symbol of the function `const char*()` that returns the stamp of the library.
inline constexpr const char* kStampSymbol = "lanista_device_stamp";
/// Symbol of the function `const Library*()` that returns the entry table of the library.
inline constexpr const char* kLibrarySymbol = "lanista_device_library";

}  // namespace lanista::device
