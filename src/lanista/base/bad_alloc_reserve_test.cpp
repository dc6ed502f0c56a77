#include "lanista/base/bad_alloc_reserve.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "support/base/sanitizer.h"

namespace lanista {
namespace {

/// All memory that malloc gives, down to the smallest block.
class MemoryHog {
 public:
  MemoryHog() {
    for (std::size_t bytes = std::size_t{16} << 20; bytes >= sizeof(Block); bytes /= 2) {
      while (void* memory = std::malloc(bytes)) last_ = new (memory) Block{last_};
    }
  }
  MemoryHog(const MemoryHog&) = delete;
  MemoryHog& operator=(const MemoryHog&) = delete;
  ~MemoryHog() {
    while (last_ != nullptr) std::free(std::exchange(last_, last_->before));
  }

 private:
  struct Block {
    Block* before;
  };
  Block* last_ = nullptr;
};

/// Runs out of memory twice while a JSON array exists. Its destructor needs a list of its elements.
[[noreturn]] void exhaust_memory() {
  if (!reserve_memory_for_bad_alloc()) std::_Exit(1);
  const rlimit limit{512 << 20, 512 << 20};
  ::setrlimit(RLIMIT_AS, &limit);
  int survived = 0;
  for (int time = 0; time < 2; ++time) {
    if (!refill_memory_reserve()) std::_Exit(1);
    std::unique_ptr<MemoryHog> hog;  // outlives the array
    try {
      nlohmann::json array = nlohmann::json::array();
      for (int i = 0; i < 20000; ++i) array.push_back(nlohmann::json::array({i}));
      hog = std::make_unique<MemoryHog>();
      array.push_back(std::string(5000, 'x'));
    } catch (const std::bad_alloc&) {
      ++survived;
    }
  }
  std::_Exit(survived == 2 ? 0 : 1);
}

TEST(MemoryReserve, ReleasesReserveForDestructors) {
#if LANISTA_SANITIZED
  GTEST_SKIP() << "a sanitizer needs more addresses than the limit leaves, and replaces malloc";
#endif
  EXPECT_EXIT(exhaust_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lanista
