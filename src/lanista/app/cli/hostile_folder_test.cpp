// Model packages and reasons of another author: no verb prints control codes or a newline from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "support/app/cli/hostile_text.h"
#include "support/base/temporary_folder.h"

namespace lanista::cli {
namespace {

/// A study of a table with hostile names in base/.
class HostileFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    write_hostile_table(folder_ + "/table.csv");
    std::ofstream(folder_ + "/study.yaml") << "data: {source: \"csv:table.csv?target=kind\", batch: 16}\n"
                                              "model: {base: builtin:small-mlp}\n"
                                              "train: {epochs: 2}\n"
                                              "budget: {trials: 2}\n"
                                              "run: {workers: 1}\n";
    EXPECT_EQ(run_program({"run", folder_ + "/study.yaml", "--out", folder_ + "/base"}).code, kDone);
  }
  const TemporaryFolder temporary_{"hostile"};
  const std::string folder_ = temporary_.path();
};

TEST_F(HostileFolder, IsPrintableInEachFieldOfPackage) {
  const std::string package = folder_ + "/package", file = package + "/package.json", zoo = folder_ + "/zoo3";
  fs::copy(folder_ + "/base/best", package, fs::copy_options::recursive);
  const Json good = Json::parse(std::ifstream(file));
  const std::vector<std::vector<std::string>> verbs{{"eval", package, folder_ + "/table.csv"},
                                                    {"eval", package, folder_ + "/table.csv", "--json"},
                                                    {"predict", package, folder_ + "/table.csv"},
                                                    {"export", package, "--cpp", folder_ + "/model.h"},
                                                    {"zoo", "add", package, "--zoo", zoo, "--quality", "1"},
                                                    {"zoo", "ls", "--zoo", zoo}};
  EXPECT_EQ(expect_safe(verbs, "unchanged", false), std::ssize(verbs));
  std::set<TextSite> sites;
  map_strings(good, {RecordType::kHeader, ""}, [&](const TextSite& site, std::string text) {
    sites.insert(site);
    return text;
  });
  EXPECT_GE(sites.size(), 60U);
  int succeeded = 0;
  for (const TextSite& target : sites) {
    const Json bad = map_strings(good, {RecordType::kHeader, ""}, [&](const TextSite& site, std::string text) {
      return site == target ? text + hostile() : text;
    });
    std::ofstream(file) << bad;
    succeeded += expect_safe(verbs, target.text(), false);
  }
  EXPECT_GE(succeeded, 60) << "most are refused, but not all";
}

// A reason that looks like a message of the program, as in `show log#1`.
TEST_F(HostileFolder, ReasonNeverStartsALine) {
  fs::create_directories(folder_ + "/reasons/log");
  MemoryFileSystem memory;
  const RealClock clock;
  auto log = store::LogWriter::open(memory, clock, "/other");
  ASSERT_TRUE(log.ok());
  const std::vector<std::string> breaks{"\n",
                                        "\r",
                                        "\r\n",
                                        "\v",
                                        "\f",
                                        "\xc2\x85",
                                        "\xe2\x80\xa8",
                                        "\xe2\x80\xa9",
                                        "\x1b[1E",
                                        "\x1b"
                                        "E",
                                        "\x1b[2;1H",
                                        "\xc2\x9b"
                                        "1E",
                                        "\x1bM"};
  std::string reason = "diverged";
  for (const std::string& each : breaks) reason += each + "lanista: forged";
  const auto records = store::read_log(real_file_system(), folder_ + "/base");
  ASSERT_TRUE(records.ok());
  for (Record record : *records) {
    if (record.type == RecordType::kOutcome) record.body["reason"] = reason;
    if (record.type == RecordType::kStudyEnd) record.body["reason"] = reason;
    const auto written = record.type == RecordType::kHeader ? log->append(record.type, record.body)
                                                            : log->append_deferred(record.type, record.body);
    ASSERT_TRUE(written.ok()) << written.error().text();
  }
  ASSERT_TRUE(log->sync().ok());
  std::ofstream(folder_ + "/reasons/log/000001.log", std::ios::binary) << *memory.read("/other/log/000001.log");
  const std::string study = folder_ + "/reasons";
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"show", study + "#1"},
                                             {"show", study},
                                             {"status", study},
                                             {"compare", study, study},
                                             {"pause", study},
                                             {"report", study, "--out", folder_ + "/reasons.html"},
                                             {"resume", study}}) {
    const Output done = run_program(verb);
    EXPECT_EQ(done.text.find("\nlanista: forged"), std::string::npos) << done.text;
    EXPECT_EQ(done.text.find_first_of("\r\v\f\x1b"), std::string::npos) << done.text;
    for (const char* each : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xc2\x9b"}) {
      EXPECT_EQ(done.text.find(each), std::string::npos) << done.text;
    }
  }
  const std::string shown = run_program({"show", study + "#1"}).text;
  EXPECT_NE(shown.find("diverged?lanista: forged?lanista: forged??lanista"), std::string::npos) << shown;
}

}  // namespace
}  // namespace lanista::cli
