// The LibTorch library as the program opens it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lanista/exec/backends/device.h"
#include "lanista/exec/backends/library.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

TEST(DeviceLibrary, LoadsAndTrains) {
  const auto backend = open("torch:cpu", LANISTA_TORCH_LIBRARY);
  ASSERT_TRUE(backend.ok()) << backend.error().message;
  EXPECT_EQ((*backend)->name(), "torch:cpu");
  const Derived derived = derive(small_mlp());
  program::Program program = compile(derived, {.max_batch = 8, .backend = *backend});
  program::Program linked = compile(derived, {.max_batch = 8, .backend = *aten_backend("cpu")});
  const OwnedBatch batch = random_batch(derived, 8, 1);
  EXPECT_EQ(step_once(program, batch, {}), step_once(linked, batch, {}));
  EXPECT_EQ(program.extract(0), linked.extract(0));
}

TEST(DeviceLibrary, ReportsAMissingLibraryWithAdvice) {
  const auto expect_message = [](const std::string& name, const std::string& file, const std::string& part) {
    const auto backend = open(name, file);
    ASSERT_FALSE(backend.ok());
    EXPECT_EQ(backend.error().code, Code::kUnavailable);
    EXPECT_NE(backend.error().message.find(part), std::string::npos) << backend.error().message;
    EXPECT_NE(backend.error().message.find("run.devices: [cpu]"), std::string::npos) << backend.error().message;
  };
  expect_message("torch:cpu", "/nowhere/liblanista_torch.so", "/nowhere/liblanista_torch.so");
  expect_message("torch:cuda:0", LANISTA_TORCH_LIBRARY, "torch:cuda:0");
  expect_message("torch:cpu", LANISTA_OTHER_BUILD, "belongs to another build: its stamp is another, ");
  expect_message("abacus", "", "abacus");
  const auto folder = std::filesystem::temp_directory_path() / "lanista_device_loading_test";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "text.so").string();
  std::ofstream(file) << "no library";
  expect_message("torch:cpu", file, "text.so");
  std::filesystem::remove_all(folder);
}

// Without a stamp of its own, the library would return the stamp of the program, which always matches.
TEST(DeviceLibrary, HasItsOwnStamp) {
  void* const library = ::dlopen(LANISTA_TORCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto stamp = reinterpret_cast<const char* (*)()>(::dlsym(library, kStampSymbol));
  ASSERT_NE(stamp, nullptr);
  EXPECT_STREQ(stamp(), kStamp);
  EXPECT_NE(stamp(), &kStamp[0]);
  Dl_info of_text{}, of_function{};
  ASSERT_NE(::dladdr(stamp(), &of_text), 0);
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(stamp), &of_function), 0);
  EXPECT_EQ(of_text.dli_fbase, of_function.dli_fbase);
}

TEST(DeviceFindings, ReportGpuAndLibrary) {
  const std::vector<DeviceCheck> all = check_devices();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "gpu");
  EXPECT_EQ(all[1].name, "torch");
}

}  // namespace
}  // namespace lanista::device
