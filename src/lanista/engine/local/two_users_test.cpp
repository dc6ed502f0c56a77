// A study of one user while another user of the machine attacks its workers. Runs where root is available.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/engine/local/worker_process.h"
#include "lanista/engine/remote/process_executor.h"
#include "support/engine/local/data_parallel_trials_support.h"

namespace lanista::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kVictim = 54321, kAttacker = 54322;
constexpr std::int64_t kAttackBytes = 1 << 20;

void become(uid_t user) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(9);
  ::prctl(PR_SET_DUMPABLE, 1);  // as a process that this user began
}

/// A child process, and the text that it writes to `out`.
class Child {
 public:
  template <class Work>
  Child(uid_t user, const Work& work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      become(user);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Child() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns without waiting the text that it has written since the last call.
  std::string rest() const {
    std::string text(65536, '\0');
    ::fcntl(out_, F_SETFL, O_NONBLOCK);
    const ssize_t got = ::read(out_, text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  /// The next line; empty: it has ended.
  std::string line() {
    std::string text;
    for (char byte = 0; ::read(out_, &byte, 1) == 1 && byte != '\n';) text += byte;
    return text;
  }

 private:
  pid_t process_ = 0;
  int out_ = -1;
};

void put_line(int out, const std::string& text) {
  const std::string line = text + "\n";
  static_cast<void>(!::write(out, line.data(), line.size()));
}

/// Number of attempts of the attacker, in memory shared with the test.
struct Tries {
  std::atomic<int> folders, sockets, processes;
};
Tries& shared_tries() {
  void* const at = ::mmap(nullptr, sizeof(Tries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(at, MAP_FAILED);
  return *static_cast<Tries*>(at);
}

/// The other user: creates files under every predictable name, and tries to open everything that belongs to the victim.
class Attacker {
 public:
  Attacker(std::string study, Tries& tries, int out) : study_(std::move(study)), tries_(tries), out_(out) {
    prefix_ = "/dev/shm/lanista-" + hash_text(study_ + "/control/workers.sock").hex() + "-";
  }

  /// Files as leaders of earlier versions made them, with their locks, and folders as this version makes them.
  static std::vector<std::string> attack_files(const std::string& prefix) {
    std::vector<std::string> paths;
    for (int i = 0; i < 8; ++i) paths.push_back(prefix + std::to_string(i));
    return paths;
  }
  void plant() const {
    ::umask(0);
    for (const std::string& path : attack_files(prefix_)) {
      const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666);
      if (file < 0 || ::ftruncate(file, kAttackBytes) != 0) continue;
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_len = 1;
      ::fcntl(file, F_OFD_SETLK, &lock);  // and the descriptor stays open
    }
    const std::string folder = prefix_ + "0123456789abcdef";
    ::mkdir(folder.c_str(), 0777);
    static_cast<void>(!::symlink(attack_files(prefix_)[0].c_str(), (folder + "/0").c_str()));
    static_cast<void>(!::symlink(folder.c_str(), (prefix_ + "fedcba9876543210").c_str()));
    ::mkfifo((prefix_ + "00000000ffffffff").c_str(), 0666);
  }
  void attack() {
    while (true) {
      try_memory();
      try_socket();
      try_processes();
      ::usleep(500);
    }
  }

 private:
  void reached(const std::string& what) const { put_line(out_, what); }
  /// Returns true if the file exists and belongs to another user.
  bool try_open(const std::string& path) {
    struct stat facts {};
    const bool is_there = ::stat(path.c_str(), &facts) == 0;
    if (is_there && facts.st_uid == kAttacker) return false;
    for (const int flags : {O_RDONLY, O_WRONLY}) {
      const int file = ::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC);
      if (file < 0) continue;
      reached("opened " + path);
      ::close(file);
    }
    return is_there;
  }
  template <class F>
  static void each_name(const std::string& folder, const F& f) {
    DIR* const entries = ::opendir(folder.c_str());
    if (entries == nullptr) return;
    while (const dirent* entry = ::readdir(entries)) {
      if (entry->d_name[0] != '.') f(folder + "/" + entry->d_name);
    }
    ::closedir(entries);
  }
  void try_memory() {
    each_name("/dev/shm", [&](const std::string& path) {
      if (!path.starts_with(prefix_)) return;
      if (try_open(path)) ++tries_.folders;
      for (int i = 0; i < 3; ++i) try_open(path + "/" + std::to_string(i));
    });
  }
  void try_socket() {
    const std::string path = study_ + "/control/workers.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) reached("connected");
    if (errno == EACCES) ++tries_.sockets;
    ::close(made);
    if (::unlink(path.c_str()) == 0) reached("removed the socket");
  }
  void try_processes() {
    each_name("/proc", [&](const std::string& process) {
      struct stat facts {};
      if (::stat(process.c_str(), &facts) != 0 || facts.st_uid != kVictim) return;
      ++tries_.processes;
      for (int file = 0; file < 40; ++file) try_open(process + "/fd/" + std::to_string(file));
      try_open(process + "/mem");
    });
  }

  std::string study_, prefix_;
  Tries& tries_;
  int out_;
};

std::vector<engine::Job> jobs_of_two_users() { return {data_parallel_job(1, 2, 150), data_parallel_job(2, 1, 20)}; }

std::string text_of(const TrainingOutcome& outcome) {
  std::string text;
  for (const auto& [trial, state] : outcome.states) text += std::to_string(trial.value) + "=" + state.hex() + " ";
  return text;
}

engine::WorkerConfig brief_of(const std::string& folder, const data::Dataset& data) {
  engine::WorkerConfig worker_config;
  worker_config.study_folder = folder;
  worker_config.data.hash = data.spec().hash;
  worker_config.numeric_class = program::cpu_backend().numeric_class();
  worker_config.checkpoint_every = 0.1;
  worker_config.crash_marks = false;
  return worker_config;
}

/// The victim's study: two workers that share steps. Writes its results, and how often steps were shared.
void run_study(const std::string& folder, std::int64_t width, int out) {
  const RealClock clock;
  const data::Dataset data = *data::open({}, ".", real_file_system());
  engine::WorkerConfig worker_config = brief_of(folder, data);
  worker_config.workers = 2;
  worker_config.width = width;
  engine::ProcessOptions how;
  how.launch = engine::launch_function([](const std::string& socket) {
    static_cast<void>(engine::run_worker(socket, make_process_worker(program::Operators())));
  });
  auto executor = engine::ProcessExecutor::create(worker_config, real_file_system(), clock, how);
  if (!executor) return put_line(out, executor.error().text());
  const TrainingOutcome outcome = train_all(**executor, jobs_of_two_users());
  executor->reset();  // The test ends this process after the last line.
  put_line(out, text_of(outcome));
  put_line(out, outcome.num_parallel_spans > 0 ? "shared" : "alone");
  put_line(out, std::to_string(outcome.losses) + " lost");
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TwoUsers, NeitherChangeNorReadEachOthersStudies) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  std::string folder = (fs::temp_directory_path() / "lanista_users_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(::chmod(folder.c_str(), 0755) == 0 && ::chown(folder.c_str(), kVictim, kVictim) == 0);
  std::string wanted;
  {
    const RealClock clock;
    const data::Dataset data = *data::open({}, ".", real_file_system());
    MemoryFileSystem disk;
    engine::WorkerConfig one = brief_of("study", data);
    one.workers = 1;
    wanted =
        text_of(train_all(**WorkerExecutor::create(one, data, program::Operators(), disk, clock), jobs_of_two_users()));
  }
  const std::string prefix = "/dev/shm/lanista-" + hash_text(folder + "/control/workers.sock").hex() + "-";
  const std::vector<std::string> attack_files = Attacker::attack_files(prefix);
  Tries& tries = shared_tries();
  {
    Child attacker(kAttacker, [&](int out) {
      Attacker other(folder, tries, out);
      other.plant();
      put_line(out, "attacked");
      other.attack();
    });
    ASSERT_EQ(attacker.line(), "attacked");
    for (const std::string& path : attack_files) ASSERT_EQ(fs::file_size(path), kAttackBytes);
    for (const std::int64_t width : {std::int64_t{2}, study::kAutoWidth}) {
      Child victim(kVictim, [&](int out) { run_study(folder, width, out); });
      EXPECT_EQ(victim.line(), wanted);
      EXPECT_EQ(victim.line(), "shared");
      EXPECT_EQ(victim.line(), "0 lost");
    }
    EXPECT_EQ(attacker.rest(), "");  // what the other user has reached
    EXPECT_GT(tries.folders, 0);
    EXPECT_GT(tries.sockets, 0);
    EXPECT_GT(tries.processes, 0);
  }
  for (const std::string& path : attack_files) {
    EXPECT_TRUE(bytes_of_file(path) == std::string(kAttackBytes, '\0')) << path << " has received data";
  }
  // Nothing of the study is left in shared memory, and all files of the other user are there.
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    if (entry.path().string().starts_with(prefix)) left.insert(entry.path().string());
  }
  EXPECT_EQ(left.size(), attack_files.size() + 3);
  for (const std::string& path : left) {
    struct stat facts {};
    EXPECT_TRUE(::lstat(path.c_str(), &facts) == 0 && facts.st_uid == kAttacker) << path;
    fs::remove_all(path);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lanista::runtime
