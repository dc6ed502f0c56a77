#include "lanista/app/cli/doctor.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/version.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/backends/device.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/ipc/worker_socket.h"

namespace lanista::cli {
namespace {

/// One line of the report. `advice` is empty if nothing limits a run. `facts` are its numbers, for JSON.
struct DeviceCheck {
  std::string name, value, advice;
  nlohmann::json facts = nlohmann::json::object();
};

double gib(double bytes) { return bytes / 1073741824.0; }

std::string one_decimal(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

DeviceCheck disk() {
  struct statvfs space {};
  if (::statvfs(".", &space) != 0) return {"disk", "unknown", ""};
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return {"disk", one_decimal(gib(free), "GiB") + " free here",
          free < 1e9 ? "less than 1 GB free: checkpoints may not fit" : ""};
}

DeviceCheck file_system() {
  struct statfs kind {};
  if (::statfs(".", &kind) != 0) return {"file system", "unknown", ""};
  constexpr long kNfs = 0x6969;
  if (static_cast<long>(kind.f_type) != kNfs) return {"file system", "local", ""};
  return {"file system", "NFS", "locks depend on the server: let one process at a time work on a study"};
}

/// The kinds of workers that a study in the current folder can have.
DeviceCheck isolation() {
  const std::string here = "./.lanista-doctor-" + std::to_string(::getpid());
  const auto socket = engine::WorkerSocket::listen(here);
  if (!socket)
    return {"isolation", "threads only", "run.isolation: process is not available: " + socket.error().text()};
  const bool is_here = socket->path() == here;
  return {"isolation", "threads, or processes (run.isolation)",
          is_here ? "" : "this file system cannot hold sockets; worker processes use the folder for temporary files"};
}

DeviceCheck clock_step() {
  using Clock = std::chrono::steady_clock;
  const auto from = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double waited = std::chrono::duration<double, std::milli>(Clock::now() - from).count();
  return {"scheduler", "a sleep of 1 ms lasts " + std::to_string(waited).substr(0, 4) + " ms",
          waited > 20 ? "the machine is busy: measured speeds will be too low" : ""};
}

/// Measured peak arithmetic and memory bandwidth of one core, the scale of all predicted times.
std::vector<DeviceCheck> speed(kernels::Isa isa) {
  const auto measured = program::measure_cpu_speed(isa);
  DeviceCheck peak{.name = "peak",
                   .value = one_decimal(measured.peak_gflops, "GFLOP/s") + " a core (float32, multiply and add)",
                   .advice = "",
                   .facts = {{"gflops", measured.peak_gflops}}};
  DeviceCheck reads{.name = "reads", .value = "", .advice = ""};
  for (const auto& level : measured.memory) {
    reads.value += (reads.value.empty() ? "" : ", ") + level.level + " " + one_decimal(level.gb_per_second, "GB/s");
    reads.facts[level.level] = {{"bytes", level.bytes}, {"gb_per_second", level.gb_per_second}};
  }
  return {std::move(peak), std::move(reads)};
}

std::vector<DeviceCheck> check_devices() {
  std::vector<DeviceCheck> out;
  const unsigned cores = std::thread::hardware_concurrency();
  out.push_back({"cpu", program::cpu_model() + ", " + std::to_string(cores) + " cores",
                 cores < 2 ? "one core: one trial at a time" : ""});
  const auto isa = kernels::best_isa();
  const std::string override_error(kernels::isa_override_error());
  out.push_back(
      {"kernels",
       std::string(kernels::isa_name(isa)) + ", numeric class " + runtime::numerics(isa)["class"].get<std::string>(),
       !override_error.empty()          ? override_error
       : isa == kernels::Isa::kPortable ? "no AVX2 and FMA: training is several times slower"
                                        : "",
       {{"isa", kernels::isa_name(isa)}, {"class", runtime::numerics(isa)["class"]}}});
  for (auto& finding : speed(isa)) out.push_back(std::move(finding));
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  out.push_back({"memory", one_decimal(gib(memory), "GiB"), ""});
  for (const device::DeviceCheck& each : device::check_devices()) out.push_back({each.name, each.value, each.advice});
  out.push_back(disk());
  out.push_back(file_system());
  out.push_back(isolation());
  out.push_back(clock_step());
  const bool writable = ::access(".", W_OK) == 0;
  out.push_back(
      {"folder", writable ? "writable" : "not writable", writable ? "" : "run needs --out with a folder it can write"});
  const auto terminal = detect_terminal();
  out.push_back({"terminal", terminal.live ? "live progress" : "one line a trial", ""});
  return out;
}

}  // namespace

int doctor(bool json) {
  const auto found = check_devices();
  if (json) {
    nlohmann::json out{{"v", 1}, {"version", kVersion}};
    for (const auto& finding : found) {
      out[finding.name] = finding.facts;
      out[finding.name].update({{"value", finding.value}, {"advice", finding.advice}});
    }
    std::cout << json_line(out);
    return kDone;
  }
  std::cout << "lanista " << kVersion << "\n";
  for (const auto& finding : found) {
    std::cout << (finding.advice.empty() ? " ok    " : " note  ") << printable(finding.name) << ": "
              << printable(finding.value) << "\n";
    if (!finding.advice.empty()) std::cout << "       " << printable(finding.advice) << "\n";
  }
  return kDone;
}

}  // namespace lanista::cli
