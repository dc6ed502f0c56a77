#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lanista/io/zoo/warm_start_query.h"
#include "support/base/faulty_file_system.h"
#include "support/io/zoo/load_start.h"
#include "support/io/zoo/test_crash_storm.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

using namespace testing;
using Mode = Store::Mode;

const graph::OpTable kOps = graph::builtin_ops();

void sql(const std::string& folder, const std::string& text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((folder + "/index.sqlite").c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << (error != nullptr ? error : "");
  sqlite3_free(error);
  sqlite3_close(db);
}

/// A zoo with two models of the same graph. The better one will be damaged.
struct Damaged {
  Folder folder;
  NewModel model = random_model(1, 0.9);
  std::string bad, good;

  explicit Damaged(const std::string& name) : folder(name) {
    Store store = opened(folder.path());
    bad = added(store, model).id;
    NewModel other = model;
    other.quality = 0.8;
    other.tensors = testing::random_weights(model.graph, 99);
    good = added(store, other).id;
  }
  std::string file(const std::string& id) const {
    std::string out;
    sqlite3* db = nullptr;
    sqlite3_open((folder.path() + "/index.sqlite").c_str(), &db);
    sqlite3_exec(
        db, ("SELECT weights FROM models WHERE id = '" + id + "'").c_str(),
        [](void* to, int, char** values, char**) { return *static_cast<std::string*>(to) = values[0], 0; }, &out,
        nullptr);
    sqlite3_close(db);
    return folder.path() + "/weights/" + out + ".safetensors";
  }
  /// Expects that the damage is reported, that the model never gives weights, and that the other one is offered.
  void expect_named_and_skipped(const std::string& word) {
    Store store = opened(folder.path());
    const auto found = store.verify(kOps);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_TRUE(std::ranges::any_of(*found, [&](const Finding& one) {
      return one.id == bad && one.what.find(word) != std::string::npos;
    })) << (found->empty() ? "nothing found" : found->front().id + " " + found->front().what);
    EXPECT_FALSE(std::ranges::any_of(*found, [&](const Finding& one) { return one.id == good; }));
    const auto start = testing::load_start(store, model.graph, kDigits, kOps);
    ASSERT_TRUE(start.ok()) << start.error().text();
    ASSERT_TRUE(start->has_value());
    EXPECT_EQ((*start)->start.parent_match.entry.id, good);
    EXPECT_TRUE((*start)->start.plan.exact);
  }
};

std::string bytes_of(const std::string& path) { return *real_file_system().read(path); }
void write(const std::string& path, const std::string& bytes) {
  ASSERT_TRUE(write_atomically(real_file_system(), path, std::as_bytes(std::span(bytes))).ok());
}

TEST(StoreDamage, SkipsWeightsWithFlippedBit) {
  Damaged zoo("bit");
  std::string bytes = bytes_of(zoo.file(zoo.bad));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(zoo.file(zoo.bad), bytes);
  zoo.expect_named_and_skipped("SHA-256");
}

TEST(StoreDamage, SkipsTruncatedFile) {
  Damaged zoo("torn");
  const std::string bytes = bytes_of(zoo.file(zoo.bad));
  write(zoo.file(zoo.bad), bytes.substr(0, bytes.size() / 2));
  zoo.expect_named_and_skipped("bytes");
}

TEST(StoreDamage, ReportsGrownFile) {
  Damaged zoo("grown");
  write(zoo.file(zoo.bad), bytes_of(zoo.file(zoo.bad)) + std::string(1000, 'x'));
  const auto found = opened(zoo.folder.path()).verify(kOps);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().id, zoo.bad);
}

TEST(StoreDamage, SkipsMissingOrLinkedFile) {
  Damaged gone("gone");
  std::filesystem::remove(gone.file(gone.bad));
  gone.expect_named_and_skipped("cannot be read");

  Damaged link("link");
  const std::string file = link.file(link.bad), elsewhere = link.folder.path() + "/elsewhere";
  std::filesystem::rename(file, elsewhere);
  std::filesystem::create_symlink(elsewhere, file);
  link.expect_named_and_skipped("weights");
}

TEST(StoreDamage, SkipsWrongTensorIndex) {
  for (const char* lie : {"shape = '[1000000000,1000000000,1000000000]'", "shape = '[3]'", "shape = 'x'", "begin = -5",
                          "begin = 1000000", "bytes = 4000000000000", "type = 77", "sha256 = 'ab'"}) {
    Damaged zoo("lie");
    sql(zoo.folder.path(), "UPDATE tensors SET " + std::string(lie) +
                               " WHERE place = 0 AND weights = (SELECT weights FROM models WHERE id = '" + zoo.bad +
                               "')");
    zoo.expect_named_and_skipped("weights of model");
  }
}

TEST(StoreDamage, SkipsDamagedGraphOrView) {
  Damaged view("view");
  sql(view.folder.path(), "UPDATE models SET view = x'ffffffff00', change = 1000 WHERE id = '" + view.bad + "'");
  view.expect_named_and_skipped("view");
  std::vector<std::string> skipped;
  Store store = opened(view.folder.path());
  ASSERT_TRUE(store.find(kDigits, Store::Scope::kTask, &skipped).ok());
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_NE(skipped.front().find(view.bad), std::string::npos);

  Damaged graph("graph");
  sql(graph.folder.path(), "UPDATE models SET graph = replace(graph, 'out=', 'out=1') WHERE id = '" + graph.bad + "'");
  const auto found = opened(graph.folder.path()).verify(kOps);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().id, graph.bad);
}

// Any byte of the packed form may change. If it can still be read, its inputs precede their readers.
TEST(StoreDamage, SurvivesAnyCorruptedViewByte) {
  Signatures table;
  const auto match = MatchModel::of(random_model(7, 0).graph, kOps);
  const PackedModel packed = pack_model(*match, table);
  std::vector<std::int64_t> numbers;
  std::map<std::int64_t, std::uint32_t> places;
  for (std::uint32_t k = 0; k < table.size(); ++k) numbers.push_back(k + 5), places[k + 5] = k;
  const std::string whole = packed_bytes(packed, numbers);
  ASSERT_TRUE(packed_from_bytes(whole, places, table).ok());
  Rng rng(8);
  for (int k = 0; k < 20000; ++k) {
    std::string bytes = whole.substr(0, rng.bernoulli(0.2) ? rng.below(whole.size()) : whole.size());
    for (std::int64_t flips = rng.between(1, 3); flips > 0 && !bytes.empty(); --flips) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    const auto read = packed_from_bytes(bytes, places, table);
    if (!read) continue;
    for (std::size_t node = 0; node < read->size(); ++node) {
      for (const std::uint32_t input : read->inputs_of(node)) ASSERT_LT(input, node);
    }
  }
}

TEST(StoreDamage, RejectsOtherVersionsAndForeignFolders) {
  const Folder folder("version");
  { opened(folder.path()); }
  EXPECT_EQ(Store::open(folder.path() + "/none", Mode::kRead).error().code, Code::kNotFound);
  sql(folder.path(), "PRAGMA user_version = 7");
  const auto newer = Store::open(folder.path(), Mode::kRead);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Code::kFailedPrecondition);
  EXPECT_NE(newer.error().message.find("version 7"), std::string::npos);
  EXPECT_EQ(Store::open(folder.path(), Mode::kWrite).error().code, Code::kFailedPrecondition);

  const Folder other("other");
  std::filesystem::create_directories(other.path());
  write(other.path() + "/index.sqlite", std::string(5000, 'x'));
  EXPECT_FALSE(Store::open(other.path(), Mode::kWrite).ok());
  std::filesystem::remove(other.path() + "/index.sqlite");
  sql(other.path(), "CREATE TABLE notes(text)");
  EXPECT_EQ(Store::open(other.path(), Mode::kWrite).error().code, Code::kFailedPrecondition);
}

TEST(StoreDamage, ReportsFolderWithoutPermission) {
  const Folder folder("rights");
  std::filesystem::create_directories(folder.path());
  write(folder.path() + "/file", "x");
  const auto below_a_file = Store::open(folder.path() + "/file/zoo", Mode::kWrite);
  ASSERT_FALSE(below_a_file.ok());
  EXPECT_NE(below_a_file.error().text().find(folder.path() + "/file"), std::string::npos);
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  ::chmod(folder.path().c_str(), 0500);
  const auto closed = Store::open(folder.path() + "/zoo", Mode::kWrite);
  ::chmod(folder.path().c_str(), 0700);
  ASSERT_FALSE(closed.ok());
  EXPECT_NE(closed.error().text().find(folder.path()), std::string::npos);
}

// Every call of the file system fails once. No partial model is left, and existing models stay.
TEST(StoreDamage, LeavesNoPartialModelOnDiskFailure) {
  for (std::int64_t at = 0; at < 30; ++at) {
    const Folder folder("disk");
    std::string before;
    {
      Store store = opened(folder.path());
      before = added(store, random_model(1, 0.9)).id;
    }
    FaultyFileSystem files(real_file_system(), {.at = at, .sticky = false});
    std::string id;
    if (auto store = Store::open(folder.path(), Mode::kWrite, {.files = &files})) {
      const auto one = store->add(random_model(2, 0.8), kOps);
      if (one) id = one->id;
    }
    Store after = opened(folder.path());
    EXPECT_TRUE(after.verify(kOps)->empty()) << at;
    EXPECT_TRUE(after.weights(before).ok());
    if (!id.empty()) {
      EXPECT_TRUE(after.weights(id).ok()) << at;
    }
    EXPECT_EQ(real_file_system().list(folder.path() + "/weights")->size(), id.empty() ? 1U : 2U) << at;
    if (files.calls() <= at) break;
    EXPECT_LT(at, 29) << "more calls than were tried";
  }
}

TEST(StoreDamage, KilledWritersKeepAcknowledgedModels) {
  const Folder folder("storm");
  const auto tally = testing::run_crash_storm(folder.path(), {.processes = 8, .milliseconds = 1500, .kill_every = 60});

  EXPECT_EQ(tally.failures, "");
  EXPECT_GT(tally.acknowledged, 20);
  EXPECT_GT(tally.killed, 5);
}

}  // namespace
}  // namespace lanista::zoo
