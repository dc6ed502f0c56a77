#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace lanista {

/// An empty folder of its own for a test, which is removed at the end of its life.
class TemporaryFolder {
 public:
  /// `what` becomes part of its name.
  explicit TemporaryFolder(const std::string& what)
      : path_(
            (std::filesystem::temp_directory_path() / ("lanista-" + what + "-" + std::to_string(::getpid()) + "-" +
                                                       ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lanista
