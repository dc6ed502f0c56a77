#include "lanista/version.h"

namespace lanista {

std::string_view version() { return kHeaderVersion; }

}  // namespace lanista
