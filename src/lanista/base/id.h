#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace lanista {

/// A distinct integer type per kind of thing; ids are never reused inside their owner.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  auto operator<=>(const Id&) const = default;
};

using TrialId = Id<struct TrialTag>;  ///< numbered from 1 in the order of proposal

}  // namespace lanista

template <class Tag>
struct std::hash<lanista::Id<Tag>> {
  std::size_t operator()(lanista::Id<Tag> id) const noexcept { return id.value; }
};
