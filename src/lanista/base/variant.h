#pragma once

#include <utility>
#include <variant>

namespace lanista {

/// A std::variant that can be copied where memory ends. libstdc++ 12 holds a variant of strings, vectors and small
/// values for one that is never without a value, and so, when the copy of an alternative throws inside the copy
/// constructor, destroys the value that is not there: a crash in the place of std::bad_alloc. Here a copy begins with
/// the first alternative, and is then assigned, which is sound. The first alternative must not throw.
template <class First, class... Rest>
class Variant : public std::variant<First, Rest...> {
  using Base = std::variant<First, Rest...>;

 public:
  using Base::Base;
  using Base::operator=;
  Variant() = default;
  Variant(const Variant& other) : Base(First{}) { Base::operator=(other); }
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant&) = default;
  Variant& operator=(Variant&&) noexcept = default;
  ~Variant() = default;
};

}  // namespace lanista
