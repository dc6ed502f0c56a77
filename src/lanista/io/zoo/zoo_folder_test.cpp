#include "lanista/io/zoo/zoo_folder.h"

#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

namespace fs = std::filesystem;
using testing::added;
using testing::Folder;
using testing::opened;
using testing::random_model;
using Mode = Store::Mode;

void put(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void sql(const std::string& path, const std::string& text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::string refusal_of(const std::string& folder, Mode mode = Mode::kWrite) {
  const auto store = Store::open(folder, mode);
  return store.ok() ? "opened" : store.error().text();
}

TEST(ZooFolder, RecognizesOwnFileNames) {
  const std::string hash(64, 'a');
  EXPECT_TRUE(is_weights_file_name(hash + ".safetensors"));
  for (const std::string& name :
       {hash, "A" + hash.substr(1) + ".safetensors", hash + "a.safetensors", hash.substr(1) + ".safetensors",
        hash + ".safetensors.bak", "x" + hash + ".safetensors"}) {
    EXPECT_FALSE(is_weights_file_name(name)) << name;
  }
  for (const char* name : {"tmp-1-0", "tmp-12345-17", "tmp-1-0123456789abcdef"}) {
    EXPECT_TRUE(is_temporary_weights_name(name)) << name;
  }
  for (const char* name : {"tmp-", "tmp-1", "tmp-1-", "tmp--1", "tmp-x-1", "tmp-1-1.txt", "tmp-1-0123456789abcdeF",
                           "tmp-notes", "tmp-1-2-3", "tmp-1-0123456789abcdef0"}) {
    EXPECT_FALSE(is_temporary_weights_name(name)) << name;
  }
  EXPECT_TRUE(is_temporary_weights_name(temporary_weights_name()));
  EXPECT_NE(temporary_weights_name(), temporary_weights_name());
  EXPECT_FALSE(has_writer_ended(temporary_weights_name()));
}

TEST(ZooFolder, RejectsFolderWithOtherFilesByName) {
  const Folder folder("project");
  put(folder.path() + "/weights/resnet50.pt", "x");
  fs::create_directories(folder.path() + "/weights/sub");
  EXPECT_NE(refusal_of(folder.path()).find("has weights/resnet50.pt, weights/sub/; a zoo needs a new or empty folder"),
            std::string::npos)
      << refusal_of(folder.path());
  for (const char* name : {"train.py", "data.csv", "notes\n.txt"}) put(folder.path() + "/" + name, "x");
  EXPECT_NE(refusal_of(folder.path()).find("has data.csv, notes?.txt, train.py and 2 more"), std::string::npos)
      << refusal_of(folder.path());

  EXPECT_TRUE(fs::exists(folder.path() + "/weights/resnet50.pt"));
  EXPECT_FALSE(fs::exists(folder.path() + "/index.sqlite"));
}

TEST(ZooFolder, RefusesADatabaseOfAnotherProgramUnchanged) {
  struct Case {
    const char* name;
    const char* sql;
  };
  for (const auto& [name, text] :
       {Case{"table", "CREATE TABLE notes(x); INSERT INTO notes VALUES(1)"}, Case{"view", "CREATE VIEW v AS SELECT 1"},
        Case{"version", "PRAGMA user_version = 4"}, Case{"application", "PRAGMA application_id = 7"},
        Case{"log", "PRAGMA journal_mode = WAL; CREATE TABLE notes(x)"}}) {
    SCOPED_TRACE(name);
    const Folder folder("foreign");
    fs::create_directories(folder.path());
    sql(folder.path() + "/index.sqlite", text);
    const std::string before = *real_file_system().read(folder.path() + "/index.sqlite");
    for (const Mode mode : {Mode::kRead, Mode::kChange, Mode::kWrite}) {
      EXPECT_NE(refusal_of(folder.path(), mode).find("is not the index of a zoo"), std::string::npos);
    }
    EXPECT_EQ(*real_file_system().read(folder.path() + "/index.sqlite"), before);
    EXPECT_FALSE(fs::exists(folder.path() + "/weights"));
  }
}

TEST(ZooFolder, RefusesAnEmptyIndexWithWeightsNextToIt) {
  const Folder folder("empty_index");
  const std::string weights = folder.path() + "/weights/" + std::string(64, 'b') + ".safetensors";
  put(folder.path() + "/index.sqlite", "");
  put(weights, "x");

  EXPECT_NE(refusal_of(folder.path()).find("is not the index of a zoo"), std::string::npos)
      << refusal_of(folder.path());
  EXPECT_TRUE(fs::exists(weights));
}

TEST(ZooFolder, FinishesACreationThatWasInterrupted) {
  const std::string name = "interrupted";
  const auto index_of = [](const Folder& folder) { return folder.path() + "/index.sqlite"; };
  const std::vector<std::function<void(const Folder&)>> states{
      [&](const Folder& folder) { fs::create_directories(folder.path()); },
      [&](const Folder& folder) { fs::create_directories(folder.path() + "/weights"); },
      [&](const Folder& folder) { put(index_of(folder), ""); },
      [&](const Folder& folder) { put(index_of(folder), ""), fs::create_directories(folder.path() + "/weights"); },
      [&](const Folder& folder) {
        put(index_of(folder), ""), put(index_of(folder) + "-journal", std::string(512, '\0'));
      },
      [&](const Folder& folder) {
        fs::create_directories(folder.path() + "/weights");
        sql(index_of(folder), "PRAGMA journal_mode = WAL");
      }};
  for (std::size_t k = 0; k < states.size(); ++k) {
    SCOPED_TRACE(k);
    const Folder folder(name);
    states[k](folder);
    EXPECT_NE(refusal_of(folder.path(), Mode::kRead), "opened");
    Store store = opened(folder.path());
    EXPECT_EQ(added(store, random_model(1, 0.9)).state, AddResult::State::kLive);
  }
}

TEST(ZooFolder, KeepsForeignJournalFile) {
  const Folder folder("journal");
  put(folder.path() + "/index.sqlite", "");
  put(folder.path() + "/index.sqlite-journal", "my journal");

  EXPECT_NE(refusal_of(folder.path()).find("is not the index of a zoo"), std::string::npos);
  EXPECT_EQ(*real_file_system().read(folder.path() + "/index.sqlite-journal"), "my journal");
}

// An earlier version was killed while it wrote: all tables are in the log, and the header has no application id yet.
TEST(ZooFolder, OpensZooWithTablesOnlyInLog) {
  const Folder folder("log"), copy("log_copy");
  std::string id;
  {
    Store store = opened(folder.path());
    id = added(store, random_model(1, 0.9)).id;
    fs::copy(folder.path(), copy.path(), fs::copy_options::recursive);
  }
  std::string header = *real_file_system().read(copy.path() + "/index.sqlite");
  ASSERT_EQ(header.size(), 4096U);
  ASSERT_EQ(header.substr(68, 4), std::string(4, '\0'));

  EXPECT_TRUE(opened(copy.path(), Mode::kRead).weights(id).ok());
  EXPECT_TRUE(opened(copy.path()).weights(id).ok());
}

TEST(ZooFolder, NeedsAZooToRemoveCollectOrPin) {
  const Folder folder("change");
  EXPECT_EQ(Store::open(folder.path(), Mode::kChange).error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(folder.path()));
  opened(folder.path());
  EXPECT_TRUE(Store::open(folder.path(), Mode::kChange).ok());
}

TEST(ZooFolder, FollowsTheUmask) {
  for (const mode_t mask : {mode_t{077}, mode_t{022}, mode_t{027}}) {
    const Folder folder("umask");
    const mode_t before = ::umask(mask);
    {
      Store store = opened(folder.path());
      added(store, random_model(1, 0.9));
      for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
        EXPECT_EQ(static_cast<mode_t>(entry.status().permissions()) & mask, 0U) << entry.path();
      }
    }
    ::umask(before);
    EXPECT_EQ(static_cast<mode_t>(fs::status(folder.path()).permissions()), 0755 & ~mask);
  }
}

TEST(ZooFolder, MayLieBelowALinkedFolderButIsNoLink) {
  const Folder folder("linked");
  fs::create_directories(folder.path() + "/real");
  fs::create_directory_symlink("real", folder.path() + "/link");
  fs::create_directory_symlink("real", folder.path() + "/zoo");

  EXPECT_EQ(refusal_of(folder.path() + "/link/zoo"), "opened");
  EXPECT_NE(refusal_of(folder.path() + "/zoo").find("is a symbolic link"), std::string::npos);
  EXPECT_NE(refusal_of(folder.path() + "/zoo/").find("is a symbolic link"), std::string::npos);
}

}  // namespace
}  // namespace lanista::zoo
