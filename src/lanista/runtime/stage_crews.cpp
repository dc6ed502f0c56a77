#include "lanista/runtime/stage_crews.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "lanista/base/futex.h"

namespace lanista::runtime {
namespace {

constexpr double kToMakeAProgram = 120;                  // seconds
constexpr double kToEnd = 5;                             // seconds, of who was killed
constexpr auto kLongestStep = std::chrono::minutes(10);  // of who lives and says nothing
constexpr double kToTellHow = 0.2;  // seconds between the end of a connection and that of a process

}  // namespace

/// One thread at a time: that of whoever has borrowed it.
class StageCrews::Crew {
 public:
  Crew(const engine::LaunchWorker& launch, const std::function<void(const LostPlace&)>& told)
      : launch_(launch), told_(told) {}
  ~Crew() {
    for (const engine::Begun& member : members_) static_cast<void>(buried(member));
  }

  /// All that are wanted have made this program, and wait.
  std::byte* begin(std::uint64_t program, const StageTask& task) {
    if (program_ != program || used_ == 0) take(program, task);
    began_ = std::chrono::steady_clock::now();
    look();
    return memory_.data();
  }
  void look() {
    if (used_ == 0) throw nn::PlacesLost("a place of a pipeline is gone");
    for (std::size_t i = 0; i < used_; ++i) {
      engine::Channel& channel = *members_[i].channel;
      if (channel.receive(0)) lose(i, "said what nobody asked for");
      if (channel.closed()) lose(i, "");
    }
    if (std::chrono::steady_clock::now() - began_ > kLongestStep) lose(0, "is silent");
  }
  std::uint64_t program() const { return program_; }

  bool is_busy = false;  // under the crews' mutex

 private:
  void take(std::uint64_t program, StageTask task) {
    const std::size_t wanted = task.stages.places.size() - 1;
    // Whoever was lost since is not told of this program: its place is another one's.
    forget_the_dead();
    while (members_.size() < wanted) {
      auto begun = launch_("");
      if (!begun) throw nn::PlacesLost(begun.error().text());
      members_.push_back(*std::move(begun));
    }
    program_ = 0;
    used_ = wanted;
    SharedMemory before = std::move(memory_);
    auto made = SharedMemory::make(task.bytes);
    if (!made) throw std::bad_alloc();
    memory_ = *std::move(made);
    task.memory = memory_.path();
    for (std::size_t i = 0; i < wanted; ++i) {
      task.place = i + 1;
      members_[i].channel->send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    }
    // They wait at what was before.
    if (before.data() != nullptr) wake_all(*reinterpret_cast<SharedWord*>(before.data()));
    for (std::size_t i = 0; i < wanted; ++i) hear(i);
    program_ = program;
  }

  void hear(std::size_t i) {
    engine::Channel& channel = *members_[i].channel;
    const auto answer = channel.receive(kToMakeAProgram);
    if (channel.closed()) lose(i, "");
    if (!answer) lose(i, "makes no program");
    if (static_cast<StageWire>(answer->kind) != StageWire::kTaken) lose(i, "refuses: " + answer->text);
  }

  void forget_the_dead() {
    std::erase_if(members_, [&](engine::Begun& member) {
      while (member.channel->receive(0)) {
      }
      if (!member.channel->closed()) return false;
      tell(member, buried(member));
      return true;
    });
  }

  void tell(const engine::Begun& member, const std::string& reason) const {
    if (told_) told_({member.process, reason});
  }
  /// How it ended, or was ended.
  static std::string buried(const engine::Begun& member) {
    const bool is_gone = member.channel->closed();
    auto how = engine::ended(member.process, is_gone ? kToTellHow : 0);
    if (how) return how->text();
    ::kill(member.process, SIGKILL);
    static_cast<void>(engine::ended(member.process, kToEnd));
    return "was ended";
  }

  [[noreturn]] void lose(std::size_t i, const std::string& why) {
    const engine::Begun gone = std::move(members_[i]);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    program_ = 0;
    used_ = 0;
    const std::string end = buried(gone), reason = why.empty() ? end : why;
    tell(gone, reason);
    throw nn::PlacesLost("process " + std::to_string(gone.process) + " at a place of a pipeline " + reason);
  }

  const engine::LaunchWorker& launch_;
  const std::function<void(const LostPlace&)>& told_;
  std::vector<engine::Begun> members_;
  std::size_t used_ = 0;  // by the program at hand; 0: whatever comes is made anew
  std::uint64_t program_ = 0;
  SharedMemory memory_;
  std::chrono::steady_clock::time_point began_;
};

/// The places of one program, at whatever crew is free.
class StageCrews::Lease final : public nn::StagePlaces {
 public:
  Lease(StageCrews& crews, std::uint64_t program, StageTask task)
      : crews_(crews), program_(program), task_(std::move(task)) {}
  ~Lease() override { leave(); }

  std::byte* enter(std::int64_t bytes, const Digest& program) override {
    task_.bytes = bytes;
    task_.digest = program;
    crew_ = &crews_.borrow(program_);
    try {
      return crew_->begin(program_, task_);
    } catch (...) {
      leave();
      throw;
    }
  }
  void look() override { crew_->look(); }
  void leave() override {
    if (Crew* const crew = std::exchange(crew_, nullptr)) crews_.give_back(*crew);
  }

 private:
  StageCrews& crews_;
  const std::uint64_t program_;
  StageTask task_;
  Crew* crew_ = nullptr;  // during a step
};

StageCrews::StageCrews(engine::LaunchWorker launch, std::function<void(const LostPlace&)> told)
    : launch_(std::move(launch)), told_(std::move(told)) {}

StageCrews::~StageCrews() = default;

std::shared_ptr<nn::StagePlaces> StageCrews::places(StageTask task) {
  const std::lock_guard lock(mutex_);
  return std::make_shared<Lease>(*this, ++programs_, std::move(task));
}

// The crew that has this program already, else one that has none, else any.
StageCrews::Crew& StageCrews::borrow(std::uint64_t program) {
  const std::lock_guard lock(mutex_);
  Crew* best = nullptr;
  for (const auto& crew : crews_) {
    if (crew->is_busy) continue;
    if (crew->program() == program) {
      best = crew.get();
      break;
    }
    if (best == nullptr || (best->program() != 0 && crew->program() == 0)) best = crew.get();
  }
  if (best == nullptr) best = crews_.emplace_back(std::make_unique<Crew>(launch_, told_)).get();
  best->is_busy = true;
  return *best;
}

void StageCrews::give_back(Crew& crew) {
  const std::lock_guard lock(mutex_);
  crew.is_busy = false;
}

engine::LaunchWorker launch_stage(std::string program) {
  return engine::launch_command({program.empty() ? "/proc/self/exe" : std::move(program), "stage"});
}

}  // namespace lanista::runtime
