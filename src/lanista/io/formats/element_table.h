#pragma once

#include "lanista/base/enum_table.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// What a file format has for each element type: a name or codes.
template <class T>
using ElementTable = EnumTable<ElementType, T, 5>;

}  // namespace lanista::formats
