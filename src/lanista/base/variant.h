#pragma once

#include <utility>
#include <variant>

namespace lanista {

/// A std::variant that can be copied safely when the system gives no more memory.
///
/// The copy constructor of libstdc++ 12 assumes that a variant of strings, vectors and small values always has a value.
/// If the copy of an alternative throws, it destroys a value that does not exist, and the process crashes. Here a copy
/// begins with the first alternative and is then assigned, which is safe. The default constructor of the first
/// alternative must not throw.
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
