#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace lanista {

/// An integer type of its own for each kind of object. An owner never uses an id twice.
template <class Tag>
struct Id {
  std::uint32_t value = 0;  ///< the number
  auto operator<=>(const Id&) const = default;
};

using TrialId = Id<struct TrialTag>;  ///< numbered from 1 in the order of proposal

}  // namespace lanista

/// Hash of an id: its number.
template <class Tag>
struct std::hash<lanista::Id<Tag>> {
  std::size_t operator()(lanista::Id<Tag> id) const noexcept { return id.value; }
};
