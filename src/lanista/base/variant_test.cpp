#include "lanista/base/variant.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace lanista {
namespace {

/// An allocator that gives nothing while it is dry.
template <class T>
struct Well {
  using value_type = T;
  inline static bool dry = false;
  Well() = default;
  template <class U>
  Well(const Well<U>&) {}
  T* allocate(std::size_t count) {
    if (dry) throw std::bad_alloc();
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) { std::allocator<T>().deallocate(place, count); }
  bool operator==(const Well&) const { return true; }
};

using Text = std::basic_string<char, std::char_traits<char>, Well<char>>;
using Numbers = std::vector<int, Well<int>>;
using Value = Variant<bool, double, Text, Numbers>;

TEST(Variant, CanBeCopiedWhereThereIsNoMemory) {
  const Value text = Text(100, 'x');
  const Value numbers = Numbers{1, 2, 3};
  Value kept = 0.5;
  Well<char>::dry = Well<int>::dry = true;

  EXPECT_THROW(const Value copy(text), std::bad_alloc);
  EXPECT_THROW(const Value copy(numbers), std::bad_alloc);
  EXPECT_THROW(kept = text, std::bad_alloc);

  Well<char>::dry = Well<int>::dry = false;
  EXPECT_EQ(kept, Value(0.5));
  EXPECT_EQ(Value(text), text);
}

TEST(Variant, IsAVariant) {
  const Variant<bool, std::int64_t, std::string> word = "word";
  EXPECT_TRUE(std::holds_alternative<std::string>(word));
  EXPECT_EQ(std::visit([](const auto& held) { return sizeof(held); }, word), sizeof(std::string));
  EXPECT_NE(word, (Variant<bool, std::int64_t, std::string>(true)));
  EXPECT_LT((Variant<bool, std::int64_t, std::string>(true)), word);
}

}  // namespace
}  // namespace lanista
