// Compiles CUDA text with NVRTC, which is opened at run time, and caches the result.
#include "lanista/exec/backends/cuda_compile.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>

#include "lanista/base/digest.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/backends/dynamic_library.h"

namespace lanista::device {
namespace {

constexpr const char* kSplit = "--split-compile=0";

struct Compiler {
  DynamicLibrary library;
  int (*version)(int*, int*) = nullptr;
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*cubin_size)(void*, std::size_t*) = nullptr;
  int (*cubin)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  Result<void> open(std::vector<std::string> names) {
    names.insert(names.end(), {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
    LANISTA_TRY(library.open(names));
    library.find("nvrtcVersion", version);
    library.find("nvrtcCreateProgram", create);
    library.find("nvrtcCompileProgram", compile);
    library.find("nvrtcGetProgramLogSize", log_size);
    library.find("nvrtcGetProgramLog", log);
    library.find("nvrtcGetCUBINSize", cubin_size);
    library.find("nvrtcGetCUBIN", cubin);
    library.find("nvrtcDestroyProgram", destroy);
    return library.check_symbols();
  }
};

std::vector<std::string> options_of(const CudaSource& text, int architecture, bool prints_registers = false) {
  std::vector<std::string> options = text.options;
  if (prints_registers) options.emplace_back("--ptxas-options=-v");
  options.emplace_back("--gpu-architecture=sm_").append(std::to_string(architecture));
  return options;
}

// Folder of compiled texts: $LANISTA_BLOCK_CACHE, else the user's cache folder; empty if there is neither.
std::filesystem::path cache_folder() {
  if (const char* const asked = std::getenv("LANISTA_BLOCK_CACHE"); asked != nullptr && *asked != '\0') return asked;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "lanista";
  }
  if (const char* const user_folder = std::getenv("HOME"); user_folder != nullptr && *user_folder != '\0') {
    return std::filesystem::path(user_folder) / ".cache" / "lanista";
  }
  return {};
}

std::filesystem::path cache_file(const CudaSource& text, const std::vector<std::string>& options) {
  std::string all = text.source;
  for (const std::string& each : options) all += "\n" + each;
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / (text.name + "-" + hash_text(all).hex() + ".cubin");
}

// Processes that write at the same time write the same bytes. A cache that cannot be written is not an error.
void write_cache(const std::filesystem::path& file, const std::string& cubin) {
  const std::string folder = file.parent_path().string();
  const auto files = real_file_system().confined_to(folder);
  if (files->make_folder(folder)) static_cast<void>(write_atomically(*files, file.string(), cubin));
}

Result<std::string> compiled(const CudaSource& text, int architecture, const std::vector<std::string>& libraries,
                             std::string* log) {
  Compiler nvrtc;
  if (auto opened = nvrtc.open(libraries); !opened) {
    return unavailable("the CUDA run-time compiler (libnvrtc.so.12 or .13) cannot be opened: " +
                       opened.error().message);
  }
  std::vector<std::string> options = options_of(text, architecture, log != nullptr);
  const auto entry_of = [&] {
    std::vector<const char*> texts;
    for (const std::string& each : options) texts.push_back(each.c_str());
    return texts;
  };
  void* program = nullptr;
  const std::string file = text.name + ".cu";
  const auto create = [&] { return nvrtc.create(&program, text.source.c_str(), file.c_str(), 0, nullptr, nullptr); };
  if (const int code = create(); code != 0)
    return unavailable("nvrtcCreateProgram failed with " + std::to_string(code));
  // With several threads, if the compiler supports the option.
  constexpr int kInvalidOption = 5;
  options.emplace_back(kSplit);
  auto texts = entry_of();
  int code = nvrtc.compile(program, static_cast<int>(texts.size()), texts.data());
  if (code == kInvalidOption) {
    nvrtc.destroy(&program);
    options.pop_back();
    texts = entry_of();
    if (create() != 0) return unavailable("nvrtcCreateProgram failed");
    code = nvrtc.compile(program, static_cast<int>(texts.size()), texts.data());
  }
  std::size_t size = 0;
  std::string output;
  if (nvrtc.log_size(program, &size) == 0) {
    output.resize(size);
    nvrtc.log(program, output.data());
  }
  if (log != nullptr) *log = output;
  std::string cubin;
  if (code == 0 && nvrtc.cubin_size(program, &size) == 0) {
    cubin.resize(size);
    if (nvrtc.cubin(program, cubin.data()) != 0) cubin.clear();
  }
  nvrtc.destroy(&program);
  if (!cubin.empty()) return cubin;
  return unavailable("the CUDA text '" + text.name + "' does not compile for sm_" + std::to_string(architecture) +
                     " (NVRTC error " + std::to_string(code) + "): " + output);
}

}  // namespace

Result<std::string> compile_cuda(const CudaSource& text, int architecture, const std::vector<std::string>& libraries,
                                 std::string* log) {
  if (log != nullptr) return compiled(text, architecture, libraries, log);
  const std::filesystem::path file = cache_file(text, options_of(text, architecture));
  if (!file.empty()) {
    // A file of another user is not loaded, nor is a link followed.
    const auto files = real_file_system().confined_to(file.parent_path().string());
    const bool is_own = files->kind(file.string()) == FileKind::kFile;
    if (auto cubin = is_own ? files->read(file.string()) : Result<std::string>(std::string());
        cubin && !cubin->empty()) {
      return *std::move(cubin);
    }
  }
  LANISTA_ASSIGN(std::string cubin, compiled(text, architecture, libraries, nullptr));
  if (!file.empty()) write_cache(file, cubin);
  return cubin;
}

}  // namespace lanista::device
