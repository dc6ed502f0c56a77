#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// What a file format has for each element type: a name or codes.
template <class T>
using ElementTable = std::array<std::pair<ElementType, T>, 5>;

/// The entry of an element type. A type that the table lacks is a bug.
template <class T>
const T& entry_of(const ElementTable<T>& table, ElementType type) {
  const auto found = std::ranges::find(table, type, &std::pair<ElementType, T>::first);
  LANISTA_CHECK(found != table.end(), "unknown element type");
  return found->second;
}

}  // namespace lanista::formats
