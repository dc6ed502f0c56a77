#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Compiles and runs generated programs with the compiler of this build (LANISTA_TEST_CXX). A failure outside the tested
// code throws.
namespace lanista::runtime::testing {

/// A temporary folder of this process, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write(const std::filesystem::path& path, std::string_view bytes);
std::string read(const std::filesystem::path& path);
/// Runs the command of a shell in the folder; its exit code, -1 if a signal ended it.
int run(const std::filesystem::path& folder, const std::string& command);
/// Whether the compiler accepts it without a warning; `arguments` name files of the folder.
bool compiles(const std::filesystem::path& folder, const std::string& arguments);

/// Concatenated predictions of models for three samples each. All models become one program in the empty folder, each
/// in a namespace of its own, because starting the compiler needs more time than one model. `x` holds all their inputs
/// as bytes of 32-bit floats.
std::vector<float> predictions(const std::filesystem::path& folder, const std::vector<std::string>& sources,
                               std::string_view x);

}  // namespace lanista::runtime::testing
