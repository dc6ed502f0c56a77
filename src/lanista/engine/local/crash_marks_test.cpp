#include "lanista/engine/local/crash_marks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace lanista::runtime {
namespace {

std::string fresh_file(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / ("lanista-" + name + "-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path.string();
}

std::string folder_of(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

TEST(CrashMarks, AreNotWrittenThroughALinkNorIntoAFifo) {
  const std::string file = fresh_file("marks-attack"), victim = fresh_file("marks-victim");
  ASSERT_EQ(::symlink(victim.c_str(), file.c_str()), 0);
  EXPECT_EQ(CrashMarks::install(folder_of(file), file).error().code, Code::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(victim));
  ASSERT_TRUE(std::filesystem::remove(file));
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(CrashMarks::install(folder_of(file), file).error().code, Code::kDataLoss);
  std::filesystem::remove(file);
}

TEST(CrashMarks, NameTheRunningTrialsAfterAFatalSignal) {
  const std::string file = fresh_file("marks");
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) {
    EXPECT_EXIT(
        {
          auto marks = CrashMarks::install(folder_of(file), file);
          marks->set_running(0, std::array{TrialId{7}});
          marks->set_running(1, std::array{TrialId{12}, TrialId{13}});
          marks->set_running(2, std::array{TrialId{9}});
          marks->set_running(2, {});
          ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
  }

  const auto counts = read_crash_marks(real_file_system(), file);

  ASSERT_TRUE(counts);
  EXPECT_EQ(*counts, (std::map<TrialId, int>{{TrialId{7}, 4}, {TrialId{12}, 4}, {TrialId{13}, 4}}));
  std::filesystem::remove(file);
}

TEST(CrashMarks, StayEmptyAfterAPlainKill) {
  const std::string file = fresh_file("kill");
  EXPECT_EXIT(
      {
        auto marks = CrashMarks::install(folder_of(file), file);
        marks->set_running(0, std::array{TrialId{7}});
        ::raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");

  EXPECT_TRUE(read_crash_marks(real_file_system(), file)->empty());
  std::filesystem::remove(file);
}

TEST(CrashMarks, AreInstalledOnceAtATime) {
  const std::string file = fresh_file("once");
  {
    const auto first = CrashMarks::install(folder_of(file), file);
    ASSERT_TRUE(first);
    const auto second = CrashMarks::install(folder_of(file), file);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  }
  EXPECT_TRUE(CrashMarks::install(folder_of(file), file));
  std::filesystem::remove(file);
}

TEST(CrashMarks, AreEmptyWithoutAFile) {
  EXPECT_TRUE(read_crash_marks(real_file_system(), "/nonexistent/marks")->empty());
  EXPECT_FALSE(CrashMarks::install("/nonexistent", "/nonexistent/marks"));
}

}  // namespace
}  // namespace lanista::runtime
