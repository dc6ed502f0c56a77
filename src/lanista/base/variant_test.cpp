#include "lanista/base/variant.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace lanista {
namespace {

/// An allocator that fails while it is dry.
template <class T>
struct FailingAllocator {
  using value_type = T;
  inline static bool is_exhausted = false;
  FailingAllocator() = default;
  template <class U>
  FailingAllocator(const FailingAllocator<U>&) {}
  T* allocate(std::size_t count) {
    if (is_exhausted) throw std::bad_alloc();
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) { std::allocator<T>().deallocate(place, count); }
  bool operator==(const FailingAllocator&) const { return true; }
};

using Text = std::basic_string<char, std::char_traits<char>, FailingAllocator<char>>;
using Numbers = std::vector<int, FailingAllocator<int>>;
using Value = Variant<bool, double, Text, Numbers>;

TEST(Variant, CopyThrowsBadAllocWithoutMemory) {
  const Value text = Text(100, 'x');
  const Value numbers = Numbers{1, 2, 3};
  Value kept = 0.5;
  FailingAllocator<char>::is_exhausted = FailingAllocator<int>::is_exhausted = true;

  EXPECT_THROW(const Value copy(text), std::bad_alloc);
  EXPECT_THROW(const Value copy(numbers), std::bad_alloc);
  EXPECT_THROW(kept = text, std::bad_alloc);

  FailingAllocator<char>::is_exhausted = FailingAllocator<int>::is_exhausted = false;
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
