#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "lanista/base/check.h"

namespace lanista {

/// A text, or other facts, for each of the values of an enumeration.
template <class Enum, class T, std::size_t kSize>
using EnumTable = std::array<std::pair<Enum, T>, kSize>;

/// The entry of a value. A value that the table lacks is a bug.
template <class Enum, class T, std::size_t kSize>
const T& entry_of(const EnumTable<Enum, T, kSize>& table, std::type_identity_t<Enum> value) {
  const auto found = std::ranges::find(table, value, &std::pair<Enum, T>::first);
  LANISTA_CHECK(found != table.end(), "a value without an entry");
  return found->second;
}

}  // namespace lanista
