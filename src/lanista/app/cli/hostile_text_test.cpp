// Stored text of another author: no verb prints control codes or a newline from it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/io/store/log.h"
#include "support/app/cli/hostile_text.h"

namespace lanista::cli {
namespace {

/// LANISTA_WHOLE_HOSTILE=1: every verb for every string, and strings that are hostile in one place only.
bool is_whole() { return std::getenv("LANISTA_WHOLE_HOSTILE") != nullptr; }

class HostileText : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = fs::temp_directory_path() / "lanista-hostile-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write_hostile_table(folder_ + "/table.csv");
    std::ofstream(folder_ + "/cluster.yaml") << "workers: 2\n";
    std::ofstream(folder_ + "/study.yaml") << "data: {source: \"csv:table.csv?target=kind\", batch: 16}\n"
                                              "model: {base: builtin:small-mlp}\n"
                                              "space: {mutate: [widen, swap_op], params: {lr: log(0.01, 0.3), "
                                              "optimizer: [sgd, adam]}}\n"
                                              "train: {epochs: 3}\n"
                                              "strategy: {name: evolution, population: 2, slots: 2}\n"
                                              "stop: {rule: asha, rungs: [1]}\n"
                                              "budget: {trials: 5}\n"
                                              "run: {workers: 1}\n"
                                              "keep: {top: 5, ensemble: 3, checkpoint_every: 0s}\n";
    first_run_ = run_program({"run", folder_ + "/study.yaml", "--out", folder_ + "/base"});
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  /// The records of a real study and records that only other kinds of studies have.
  static std::vector<Record> records() {
    std::vector<Record> out = *store::read_log(real_file_system(), folder_ + "/base");
    for (Record& record : out) {
      Json& body = record.body;
      if (record.type == RecordType::kHeader) {
        body["zoo"] = {{"change", 1}, {"models", 1}, {"trouble", "locked"}};
        body["start_file"] = {{"name", "start"}, {"address", "none"}, {"graph", "none"}, {"labels", {"cat"}}};
      }
      if (record.type == RecordType::kProposed && body["trial"] == 1) {
        body["device"] = "gpu";
        body["zoo_model"] = {{"id", "11aa"},   {"graph", "22bb"}, {"metric", "accuracy"},
                             {"quality", 0.5}, {"target", 0.4},   {"steps", 100}};
        body["proposal"]["start"] = study::start_json({.parent = {},
                                                       .epoch = 0,
                                                       .plan = "plan",
                                                       .address = "",
                                                       .is_chosen_by_engine = true,
                                                       .coverage = 0.5,
                                                       .inexact_reason = "at node 2",
                                                       .zoo = "11aa",
                                                       .optimizer = "other shapes"});
      }
      if (record.type == RecordType::kMeasurement && body["trial"] == 1) {
        body["branches"] = {{{"step", 1},
                             {"setting", {{"lr", 0.1}, {"note", "branch"}}},
                             {"steps", 4},
                             {"trend", "converging"},
                             {"speed", 0.1},
                             {"kept", true}}};
      }
      if (record.type == RecordType::kOutcome) body["rule"] = "a rule";
    }
    const auto end = std::ranges::find(out, RecordType::kStudyEnd, &Record::type);
    const Record extra[] = {
        {RecordType::kWorker, engine::worker_body({0, 41, true, "", {}, 0, "node1"}, 1)},
        {RecordType::kWorker, engine::worker_body({0, 41, false, "was killed", {TrialId{1}}, 2, "node1"}, 2)},
        {RecordType::kSpan, engine::span_body({TrialId{1}, 1, 0, 1.5, 2.5})},
        {RecordType::kControl, engine::control_body({.request = "pause", .time = 1, .by = "host", .reason = "why"})},
    };
    out.insert(end, std::begin(extra), std::end(extra));
    return out;
  }

  static std::set<TextSite> sites() {
    std::set<TextSite> out;
    for (const Record& record : records_) {
      map_strings(record.body, {record.type, ""}, [&](const TextSite& site, std::string text) {
        out.insert(site);
        return text;
      });
    }
    return out;
  }

  /// Makes a study in `other/` with hostile text at one site of its log, everywhere or at the first place only.
  static void write_study(const TextSite& target_site, bool everywhere) {
    MemoryFileSystem memory;
    const RealClock clock;
    auto log = store::LogWriter::open(memory, clock, "/other");
    ASSERT_TRUE(log.ok());
    bool done = false;
    for (const Record& record : records_) {
      const Json body = map_strings(record.body, {record.type, ""}, [&](const TextSite& site, std::string text) {
        if (site != target_site || (done && !everywhere)) return text;
        done = true;
        return text + hostile();
      });
      const auto written =
          record.type == RecordType::kHeader ? log->append(record.type, body) : log->append_deferred(record.type, body);
      ASSERT_TRUE(written.ok()) << written.error().text();
    }
    ASSERT_TRUE(log->sync().ok());
    std::ofstream(folder_ + "/other/log/000001.log", std::ios::binary) << *memory.read("/other/log/000001.log");
  }

  /// Runs the verbs that print a study, or all that read one. Returns how many succeeded.
  static int expect_safe_verbs(const std::string& study, const std::string& what, bool may_have_mark, bool all) {
    const std::string out = folder_ + "/out";
    std::vector<std::vector<std::string>> verbs{
        {"status", study},      {"show", study},        {"show", study, "--config"},
        {"show", study + "#1"}, {"show", study + "#5"}, {"compare", folder_ + "/base", study},
    };
    if (all) {
      verbs.insert(verbs.end(), {{"status", study, "--json"},
                                 {"show", study, "--json"},
                                 {"show", study + "#5", "--json"},
                                 {"show", study + "#5", "--dot"},
                                 {"export", study, "--csv", out, "--trace", out + "2", "--optuna", out + "3"},
                                 {"report", study, "--out", out + "4"},
                                 {"predict", study + "#5", folder_ + "/table.csv"},
                                 {"eval", study + "#5", folder_ + "/table.csv"},
                                 {"pause", study},
                                 {"stop", study},
                                 {"show", study + "#5", "--plan"},
                                 {"simulate", study, "--cluster", folder_ + "/cluster.yaml"},
                                 {"repeat", study + "#5"},
                                 {"export", study + "#5", "--package", out + "5", "--onnx", out + "6"},
                                 {"zoo", "add", study + "#5", "--zoo", folder_ + "/zoo", "--quality", "1"},
                                 {"zoo", "match", study + "#5", "--zoo", folder_ + "/zoo"}});
    }
    return expect_safe(verbs, what, may_have_mark);
  }

  static inline std::string folder_;
  static inline Output first_run_;
  static inline std::vector<Record> records_;
};

TEST_F(HostileText, IsPrintableInRunAndDataVerbs) {
  EXPECT_EQ(first_run_.code, kDone) << first_run_.text;
  EXPECT_NE(first_run_.text.find("dog?MARK"), std::string::npos) << first_run_.text;
  EXPECT_EQ(control_character_in(first_run_.text, false), "") << first_run_.text;
  const Output check = run_program({"data", "check", "csv:" + folder_ + "/table.csv?target=kind"});
  EXPECT_EQ(check.code, kDone);
  EXPECT_EQ(control_character_in(check.text, false), "") << check.text;
  EXPECT_EQ(control_character_in(run_program({"resume", folder_ + "/base", "--trials", "1"}).text, false), "");
}

TEST_F(HostileText, IsPrintableInEachFieldOfLog) {
  fs::create_directories(folder_ + "/other/log");
  records_ = records();
  fs::copy(folder_ + "/base/ckpt", folder_ + "/other/ckpt", fs::copy_options::recursive);
  write_study({RecordType::kHeader, "none"}, true);
  // The study has ended, so pause and stop are refused.
  EXPECT_EQ(expect_safe_verbs(folder_ + "/other", "unchanged", false, true), 20);
  const std::set<TextSite> all = sites();
  EXPECT_GE(all.size(), 120U);
  std::map<std::string, int> readable;
  for (const TextSite& site : all) {
    for (const bool everywhere : {true, false}) {
      if (!everywhere && !is_whole()) continue;
      write_study(site, everywhere);
      // The study file in the log has several lines, and `show --config` prints them.
      const bool is_file = site.path == ".text" && !site.is_key;
      const bool is_of_data = site.path.starts_with(".data.labels") || site.path.starts_with(".data.schema.target");
      const int succeeded = expect_safe_verbs(folder_ + "/other", site.text(), is_file, is_whole() || is_of_data);
      readable[site.path] = std::max(readable[site.path], succeeded);
    }
  }
  // These are free text: the verbs do not only refuse it, they print it.
  for (const char* path :
       {".reason", ".data.labels[]", ".baselines[].name", ".proposal.start.lost", ".zoo.trouble", ".branches[].trend",
        ".branches[].setting.note", ".proposal.steps[].mutator", ".rule", ".host"}) {
    EXPECT_GE(readable[path], 6) << path;
  }
}

TEST_F(HostileText, IsPrintableInZooAndProfiles) {
  const std::string zoo = folder_ + "/zoo2" + hostile(), here = folder_ + "/base#2";
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"zoo", "add", here, "--zoo", zoo},
           {"zoo", "add", here + hostile(), "--zoo", zoo},
           {"zoo", "ls", "--zoo", zoo},
           {"zoo", "match", here, "--zoo", zoo},
           {"zoo", "verify", "--zoo", zoo},
           {"zoo", "gc", "--zoo", zoo},
           {"zoo", "show", hostile(), "--zoo", zoo},
           {"zoo", "rm", hostile(), "--zoo", zoo},
           {"profiles", "ls", "--profiles", zoo},
           {"profiles", "show", hostile(), "--profiles", zoo},
           {"profiles", "rm", hostile(), "--profiles", zoo},
           {"run", folder_ + "/study.yaml" + hostile()},
           {"run", folder_ + "/study.yaml", hostile()},
           {"run", "--isolation=" + hostile()},
           {"run", "--set", hostile()},
           {"data", "rows", "builtin:digits", "--part", hostile()},
           {"completion", hostile()},
           {hostile()},
           {"status", folder_ + hostile()},
           {"check", folder_ + "/study.yaml", "--set", "name=" + hostile()},
           {"check", folder_ + "/study.yaml", "--set", "space.mutate=[\"" + hostile() + "\"]"},
       }) {
    const Output done = run_program(verb);
    EXPECT_EQ(control_character_in(done.text, false), "") << verb[0] << " " << verb[1] << "\n" << done.text;
  }
}

TEST_F(HostileText, ClassNamesAreEscapedOnStdoutOnly) {
  const std::string table = folder_ + "/table.csv", out = folder_ + "/predicted.csv";
  const Output printed = run_program({"predict", folder_ + "/base", table});
  EXPECT_EQ(printed.code, kDone);
  EXPECT_NE(printed.text.find("cat\\x0aMARK: all good\\x0d\\x1b[2J"), std::string::npos) << printed.text.substr(0, 500);
  EXPECT_EQ(std::ranges::count(printed.text, '\n'), 91);
  EXPECT_EQ(run_program({"predict", folder_ + "/base", table, "--out", out}).code, kDone);
  std::ostringstream written;
  written << std::ifstream(out, std::ios::binary).rdbuf();
  EXPECT_NE(written.str().find(",\"cat" + hostile() + "\","), std::string::npos) << written.str().substr(0, 500);
}

TEST(OneLine, ReplacesNewlinesAndLimitsColumns) {
  EXPECT_EQ(one_line("x\nlanista: all good\x1b[2J"), "x?lanista: all good?[2J");
  EXPECT_EQ(one_line("abcdef", 3), "abc…");
}

TEST(EscapeControls, WritesControlBytesAsHex) {
  EXPECT_EQ(escape_controls("caf\xc3\xa9 \xe2\x80\xae\xc2\x9b\n\xff"),
            "caf\xc3\xa9 \\xe2\\x80\\xae\\xc2\\x9b\\x0a\\xff");
}

}  // namespace
}  // namespace lanista::cli
