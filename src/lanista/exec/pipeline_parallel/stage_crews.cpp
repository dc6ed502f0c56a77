#include "lanista/exec/pipeline_parallel/stage_crews.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "lanista/base/futex.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/exec/pipeline_parallel/stage_post.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"

namespace lanista::runtime {
namespace {

constexpr double kToMakeAProgram = 120;                  // seconds
constexpr double kToEnd = 5;                             // seconds, of who was killed
constexpr auto kLongestStep = std::chrono::minutes(10);  // of who lives and says nothing
constexpr auto kShunned = std::chrono::minutes(10);      // a host whose process came to nothing by itself
constexpr double kToTellHow = 0.2;  // seconds between the end of a connection and that of a process

}  // namespace

/// One thread at a time: that of whoever has borrowed it.
class StageCrews::Crew {
 public:
  Crew(const StageHosts& hosts, const std::function<void(const LostPlace&)>& told)
      : hosts_(hosts), told_(told), shunned_until_(hosts.hosts.size()) {}
  ~Crew() {
    post_.reset();
    for (const Member& member : members_) static_cast<void>(buried(member));
  }

  /// All that are wanted have made this program, and wait.
  std::byte* begin(std::uint64_t program, const StageTask& task, const nn::StageMap& map) {
    if (program_ != program || used_ == 0) take(program, task, map);
    began_ = std::chrono::steady_clock::now();
    look();
    return memory_.data();
  }
  void look() {
    if (used_ == 0) throw nn::PlacesLost("a place of a pipeline is gone");
    if (post_) {
      if (const auto fault = post_->fault()) lose(fault->end, fault->why);
    } else {
      for (std::size_t i = 0; i < used_; ++i) {
        engine::Channel& channel = *members_[i].begun.channel;
        if (channel.receive(0)) lose(i, "said what nobody asked for");
        if (channel.closed()) lose(i, "");
      }
    }
    if (std::chrono::steady_clock::now() - began_ > kLongestStep) lose(0, "is silent");
  }
  nn::StageLine* line() const { return post_.get(); }
  std::uint64_t program() const { return program_; }

  bool is_busy = false;  // under the crews' mutex

 private:
  struct Member {
    engine::Begun begun;
    std::size_t host = 0;
    bool has_worked = false;  // it has taken a task
  };
  struct End {
    std::string text;
    bool is_own = false;  // it has ended by itself, or spoke so that it was ended
  };

  void take(std::uint64_t program, StageTask task, const nn::StageMap& map) {
    const std::size_t wanted = task.stages.places.size() - 1;
    post_.reset();
    // Whoever was lost since is not told of this program: its place is another one's.
    forget_the_dead();
    while (members_.size() < wanted) begin_one();
    program_ = 0;
    used_ = wanted;
    SharedMemory before = std::move(memory_);
    auto made = hosts_.apart ? SharedMemory::of_one(task.bytes) : SharedMemory::make(task.bytes);
    if (!made) throw std::bad_alloc();
    memory_ = *std::move(made);
    if (!hosts_.apart) task.memory = memory_.path();
    task.build = engine::build_fingerprint();
    task.number = ++tasks_;
    for (std::size_t i = 0; i < wanted; ++i) {
      task.place = i + 1;
      members_[i].begun.channel->send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    }
    // They wait at what was before.
    if (before.data() != nullptr && !hosts_.apart) wake_all(*reinterpret_cast<SharedWord*>(before.data()));
    for (std::size_t i = 0; i < wanted; ++i) hear(i);
    if (hosts_.apart) {
      std::vector<engine::Channel*> ends;
      for (std::size_t i = 0; i < wanted; ++i) ends.push_back(&*members_[i].begun.channel);
      post_ = std::make_unique<StagePost>(map, memory_.data(), 0, std::move(ends), hosts_.patience);
    }
    program_ = program;
  }

  // Where the fewest are, of hosts that could be reached, or were not tried for long: that takes its time.
  void begin_one() {
    std::vector<std::size_t> count(hosts_.hosts.size());
    for (const Member& member : members_) ++count[member.host];
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (shunned_until_[i] > std::chrono::steady_clock::now()) count[i] = SIZE_MAX;
    }
    const auto fewest = std::ranges::min_element(count);
    if (*fewest == SIZE_MAX) throw nn::PlacesLost("no host has a place for a pipeline; they are asked again later");
    const auto host = static_cast<std::size_t>(fewest - count.begin());
    auto begun = hosts_.hosts[host].launch("");
    if (!begun) throw nn::PlacesLost(begun.error().text());
    members_.push_back({*std::move(begun), host});
  }

  // Its answer to the last task; what it said of those before is of no use any more.
  void hear(std::size_t i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kToMakeAProgram);
    engine::Channel& channel = *members_[i].begun.channel;
    while (true) {
      const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
      const auto answer = channel.receive(std::max(0.0, left.count()));
      if (channel.closed()) lose(i, channel.fault() ? "says " + channel.fault()->message : "");
      if (!answer) lose(i, "makes no program");
      const auto kind = static_cast<StageWire>(answer->kind);
      if (kind == StageWire::kBytes || kind == StageWire::kWord || kind == StageWire::kBeat) continue;
      const auto said = engine::split_token(answer->text);
      if (!said || (kind != StageWire::kTaken && kind != StageWire::kRefused)) {
        lose(i, "said what nobody asked for: a message of kind " + std::to_string(answer->kind));
      }
      if (said->token != tasks_) continue;
      if (kind == StageWire::kTaken) {
        members_[i].has_worked = true;
        return;
      }
      lose(i, "refuses: " + said->text);
    }
  }

  void forget_the_dead() {
    std::erase_if(members_, [&](Member& member) {
      while (member.begun.channel->receive(0)) {
      }
      if (!member.begun.channel->closed()) return false;
      tell(member, buried(member).text);
      return true;
    });
  }

  void tell(const Member& member, const std::string& reason) const {
    if (told_) told_({member.begun.process, reason, hosts_.hosts[member.host].host});
  }
  /// How it ended, or was ended.
  static End buried(const Member& member) {
    const bool is_gone = member.begun.channel->closed();
    const auto how = engine::ended(member.begun.process, is_gone ? kToTellHow : 0);
    if (how) return {how->as_told().text(), how->as_told().signal == 0};
    ::kill(member.begun.process, SIGKILL);
    static_cast<void>(engine::ended(member.begun.process, kToEnd));
    return {"was ended", true};
  }

  [[noreturn]] void lose(std::size_t i, const std::string& why) {
    if (post_) {  // whoever does the step has a pointer to it
      post_->say({.kind = nn::StageWord::Kind::kStop, .reason = "a place is gone"});
      post_->end();
    }
    const Member gone = std::move(members_[i]);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    program_ = 0;
    used_ = 0;
    const End end = buried(gone);
    if (hosts_.apart && !gone.has_worked && end.is_own) {
      shunned_until_[gone.host] = std::chrono::steady_clock::now() + kShunned;
    }
    const std::string& reason = why.empty() ? end.text : why;
    tell(gone, reason);
    const std::string& host = hosts_.hosts[gone.host].host;
    throw nn::PlacesLost("process " + std::to_string(gone.begun.process) + (host.empty() ? "" : " on " + host) +
                         " at place " + std::to_string(i + 1) + " of a pipeline " + reason);
  }

  const StageHosts& hosts_;
  const std::function<void(const LostPlace&)>& told_;
  std::vector<Member> members_;
  std::size_t used_ = 0;  // by the program at hand; 0: whatever comes is made anew
  std::uint64_t program_ = 0;
  std::uint64_t tasks_ = 0;  // that were told so far
  std::vector<std::chrono::steady_clock::time_point> shunned_until_;  // of each host
  SharedMemory memory_;
  std::unique_ptr<StagePost> post_;  // where places do not see the memory, of the program at hand
  std::chrono::steady_clock::time_point began_;
};

/// The places of one program, at whatever crew is free.
class StageCrews::Lease final : public nn::StagePlaces {
 public:
  Lease(StageCrews& crews, std::uint64_t program, StageTask task)
      : crews_(crews), program_(program), task_(std::move(task)) {}
  ~Lease() override { leave(); }

  std::byte* enter(const nn::StageMap& map) override {
    task_.bytes = map.bytes;
    task_.digest = map.program;
    crew_ = &crews_.borrow(program_);
    try {
      return crew_->begin(program_, task_, map);
    } catch (...) {
      leave();
      throw;
    }
  }
  void look() override { crew_->look(); }
  nn::StageLine* line() override { return crew_->line(); }
  void leave() override {
    if (Crew* const crew = std::exchange(crew_, nullptr)) crews_.give_back(*crew);
  }

 private:
  StageCrews& crews_;
  const std::uint64_t program_;
  StageTask task_;
  Crew* crew_ = nullptr;  // during a step
};

StageCrews::StageCrews(StageHosts hosts, std::function<void(const LostPlace&)> told)
    : hosts_(std::move(hosts)), told_(std::move(told)) {}

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
  if (best == nullptr) best = crews_.emplace_back(std::make_unique<Crew>(hosts_, told_)).get();
  best->is_busy = true;
  return *best;
}

void StageCrews::give_back(Crew& crew) {
  const std::lock_guard lock(mutex_);
  crew.is_busy = false;
}

StageHosts stages_here(std::string program) {
  return {.hosts = {{engine::launch_command({program.empty() ? "/proc/self/exe" : std::move(program), "stage"})}}};
}

StageHosts stages_at(const std::vector<engine::Elsewhere>& places) {
  StageHosts out{.hosts = {}, .apart = true};
  for (const engine::Elsewhere& place : places) {
    if (place.words.empty()) {
      out.hosts.push_back(stages_here().hosts.front());
    } else {
      out.hosts.push_back({engine::launch_command(place.words), place.host});
    }
  }
  return out;
}

}  // namespace lanista::runtime
