// Links, FIFOs, hard links, folders and files of other users in place of a zoo's files. Nothing outside the zoo is
// read, changed or removed, and no call waits.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "lanista/io/zoo/warm_start_query.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using Mode = Store::Mode;

const graph::OpTable kOps = graph::builtin_ops();
constexpr uid_t kOtherUser = 65534;
constexpr unsigned kDeadlineSeconds = 300;  // SIGALRM ends a test that waits for a FIFO

/// The content of a folder: names, and the bytes of regular files.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string& bytes = out[entry.path().string()];
    if (entry.is_symlink()) {
      bytes = "link to " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      bytes = *real_file_system().read(entry.path().string());
    }
  }
  return out;
}

/// A zoo with one model next to a folder that must not change.
struct HostileFilesTest {
  Folder folder;
  std::string zoo = folder.path() + "/zoo", victim = folder.path() + "/victim", id, weights;

  explicit HostileFilesTest(const std::string& name) : folder("planted_" + name) {
    fs::create_directories(victim + "/inner");
    for (const std::string& file :
         {victim + "/key", victim + "/inner/resnet50.pt", victim + "/inner/" + std::string(64, 'c') + ".safetensors"}) {
      std::ofstream(file) << "a file of the user";
    }
    Store store = opened(zoo);
    id = added(store, random_model(1, 0.9)).id;
    weights = "weights/" + real_file_system().list(zoo + "/weights")->front();
  }
};

struct Kind {
  const char* name;
  std::function<void(const HostileFilesTest&, const std::string& path)> plant;
};

std::vector<Kind> kinds() {
  std::vector<Kind> out{
      {"link", [](const HostileFilesTest& p, const std::string& path) { fs::create_symlink(p.victim + "/key", path); }},
      {"dangling",
       [](const HostileFilesTest& p, const std::string& path) { fs::create_symlink(p.victim + "/none", path); }},
      {"folder_link", [](const HostileFilesTest& p,
                         const std::string& path) { fs::create_directory_symlink(p.victim + "/inner", path); }},
      {"folder", [](const HostileFilesTest&, const std::string& path) { fs::create_directories(path + "/mine"); }},
      {"fifo", [](const HostileFilesTest&, const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
      {"hard_link",
       [](const HostileFilesTest& p, const std::string& path) { fs::create_hard_link(p.victim + "/key", path); }}};
  if (::geteuid() == 0) {
    out.push_back({"other_user", [](const HostileFilesTest&, const std::string& path) {
                     std::ofstream(path) << "a file of another user";
                     ASSERT_EQ(::chown(path.c_str(), kOtherUser, kOtherUser), 0);
                   }});
  }
  return out;
}

/// Makes every call of a store; results do not matter here.
void use_all(const HostileFilesTest& files) {
  for (const Mode mode : {Mode::kRead, Mode::kChange, Mode::kWrite}) {
    auto store = Store::open(files.zoo, mode);
    if (!store) continue;
    (void)store->list().ok();
    (void)store->show(files.id).ok();
    (void)store->weights(files.id).ok();
    (void)store->verify(kOps).ok();
    (void)query(*store, random_model(1, 0).graph, kDigits, kOps).ok();
    if (mode == Mode::kRead) continue;
    (void)store->pin(files.id, true).ok();
    (void)store->add(random_model(1, 0.9), kOps).ok();
    (void)store->add(random_model(2, 0.8), kOps).ok();
    (void)store->gc(0, 1).ok();
  }
  auto store = Store::open(files.zoo, Mode::kChange);
  if (!store) return;
  (void)store->remove(files.id).ok();
  (void)store->gc(0).ok();
}

TEST(StoreHostileFiles, RefusesAJournalThatNamesAnotherFile) {
  const HostileFilesTest files("journal");
  const std::string key = files.victim + "/key", journal = files.zoo + "/index.sqlite-journal";
  std::ofstream(journal, std::ios::binary)
      << testing::journal_naming(key, *real_file_system().read(files.zoo + "/index.sqlite"));

  for (const Mode mode : {Mode::kRead, Mode::kChange, Mode::kWrite}) {
    const auto store = Store::open(files.zoo, mode);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().where, journal);
  }
  EXPECT_EQ(*real_file_system().read(key), "a file of the user");
}

TEST(StoreHostileFiles, ChangesNothingOutsideOfTheZoo) {
  ::alarm(kDeadlineSeconds);
  const std::string unreferenced = "weights/" + std::string(64, 'd') + ".safetensors";
  for (const Kind& kind : kinds()) {
    for (const std::string& name :
         {std::string("index.sqlite"), std::string("index.sqlite-wal"), std::string("index.sqlite-shm"),
          std::string("index.sqlite-journal"), std::string("weights"), std::string("model"), unreferenced,
          std::string("weights/tmp-1-0"), std::string("weights/tmp-1-0123456789abcdef"),
          std::string("weights/notes.txt")}) {
      SCOPED_TRACE(std::string(kind.name) + " at " + name);
      const HostileFilesTest files("matrix");
      const std::string path = files.zoo + "/" + (name == "model" ? files.weights : name);
      fs::remove_all(path);
      kind.plant(files, path);
      const auto before = contents_of(files.victim);
      use_all(files);
      EXPECT_EQ(contents_of(files.victim), before);
      const bool is_swept = std::string(kind.name) == "hard_link" && name != "weights/notes.txt";
      EXPECT_TRUE(is_swept || fs::exists(fs::symlink_status(path))) << "it was removed";
    }
  }
  ::alarm(0);
}

TEST(StoreHostileFiles, ReportsForeignIndexFile) {
  const std::map<std::string, std::string> words{{"link", "is a symbolic link"},
                                                 {"dangling", "is a symbolic link"},
                                                 {"folder_link", "is a symbolic link"},
                                                 {"folder", "is a folder"},
                                                 {"fifo", "is a FIFO"},
                                                 {"hard_link", "has 2 names"},
                                                 {"other_user", "is a file of user 65534"}};
  for (const Kind& kind : kinds()) {
    for (const char* name : {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal"}) {
      SCOPED_TRACE(std::string(kind.name) + " at " + name);
      const HostileFilesTest files("named");
      const std::string path = files.zoo + "/" + name;
      fs::remove_all(path);
      kind.plant(files, path);
      for (const Mode mode : {Mode::kRead, Mode::kWrite}) {
        const auto store = Store::open(files.zoo, mode);
        ASSERT_FALSE(store.ok());
        EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
        EXPECT_EQ(store.error().where, path);
        EXPECT_NE(store.error().message.find(words.at(kind.name)), std::string::npos) << store.error().message;
      }
    }
  }
}

TEST(StoreHostileFiles, RefusesWeightsThatAreNoFolder) {
  const HostileFilesTest files("weights");
  fs::remove_all(files.zoo + "/weights");
  fs::create_directory_symlink(files.victim + "/inner", files.zoo + "/weights");

  const auto store = Store::open(files.zoo, Mode::kWrite);

  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().where, files.zoo + "/weights");
  EXPECT_NE(store.error().message.find("is a symbolic link"), std::string::npos);
  EXPECT_EQ(contents_of(files.victim).size(), 4U);
}

TEST(StoreHostileFiles, SweepsOnlyOwnFilesAndListsOthers) {
  const HostileFilesTest files("sweep");
  const std::string folder = files.zoo + "/weights/", orphan = std::string(64, 'e') + ".safetensors";
  const std::vector<std::string> mine{"resnet50.pt", "tmp-notes.txt", std::string(64, 'e'), "tmp-1-2.bak", ".hidden"};
  const pid_t gone = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return child;
  }();
  const std::string alive = "tmp-" + std::to_string(::getpid()) + "-0123456789abcdef";
  for (const std::string& name : mine) std::ofstream(folder + name) << "x";
  for (const std::string& name : {orphan, "tmp-" + std::to_string(gone) + "-7", alive}) {
    std::ofstream(folder + name) << "x";
  }
  fs::create_directories(folder + "sub/inner");
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);

  const auto findings = opened(files.zoo, Mode::kRead).verify(kOps);
  ASSERT_TRUE(findings.ok()) << findings.error().text();
  std::map<std::string, std::string> found;
  for (const Finding& one : *findings) found[one.id] = one.what;
  EXPECT_EQ(found.size(), mine.size() + 2);
  EXPECT_NE(found[orphan].find("gc removes it"), std::string::npos);
  EXPECT_EQ(found["sub"], "is a folder, which gc leaves alone");
  for (const std::string& name : mine) EXPECT_NE(found[name].find("gc leaves it alone"), std::string::npos) << name;

  const auto done = opened(files.zoo).gc(0);
  ASSERT_TRUE(done.ok()) << done.error().text();
  for (const std::string& name : mine) EXPECT_TRUE(fs::exists(folder + name)) << name;
  EXPECT_TRUE(fs::exists(folder + "sub/inner"));
  EXPECT_TRUE(fs::exists(folder + alive)) << "its process runs";
  EXPECT_FALSE(fs::exists(folder + orphan));
  EXPECT_FALSE(fs::exists(folder + "tmp-" + std::to_string(gone) + "-7"));
}

TEST(StoreHostileFiles, IgnoresForeignWeightsFile) {
  const HostileFilesTest files("place");
  const NewModel model = random_model(2, 0.8);
  std::string file;
  {
    const Folder other("planted_other");
    Store store = opened(other.path());
    added(store, model);
    file = files.zoo + "/weights/" + real_file_system().list(other.path() + "/weights")->front();
  }
  fs::create_symlink(files.victim + "/key", file);
  Store store = opened(files.zoo);

  const auto one = store.add(model, kOps);

  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().where, file);
  EXPECT_EQ(*real_file_system().read(files.victim + "/key"), "a file of the user");
  EXPECT_EQ(store.list()->size(), 1U);
}

// A folder that its owner opened to a group contains files of the group's members.
TEST(StoreHostileFiles, SharesAZooWithAGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to own files as two users";
  for (const auto& [mode, opens] : {std::pair{mode_t{0775}, true}, std::pair{mode_t{0755}, false},
                                    std::pair{mode_t{0777}, false}, std::pair{mode_t{01775}, false}}) {
    const HostileFilesTest files("group");
    ASSERT_EQ(::chown((files.zoo + "/index.sqlite").c_str(), kOtherUser, ::getegid()), 0);
    ASSERT_EQ(::chmod(files.zoo.c_str(), mode), 0);
    EXPECT_EQ(Store::open(files.zoo, Mode::kWrite).ok(), opens) << std::oct << mode;
  }
}

}  // namespace
}  // namespace lanista::zoo
