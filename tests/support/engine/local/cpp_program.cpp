#include "support/engine/local/cpp_program.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "lanista/base/check.h"

namespace lanista::runtime::testing {
namespace {

constexpr std::string_view kDriverHead = R"(#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

template <class F>
void run(F predict, std::size_t in, std::size_t out) {
  std::vector<float> x(in), y(out);
  for (int sample = 0; sample < 3; ++sample) {
    if (std::fread(x.data(), sizeof(float), in, stdin) != in) return;
    predict(x.data(), y.data());
    std::fwrite(y.data(), sizeof(float), out, stdout);
  }
}
)";

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lanista_cpp_XXXXXX").string();
  LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
  path_ = pattern;
}

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  LANISTA_CHECK(file.flush().good(), "cannot write " + path.string());
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

int run(const std::filesystem::path& folder, const std::string& command) {
  const int status = std::system(("cd '" + folder.string() + "' && " + command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool compiles(const std::filesystem::path& folder, const std::string& arguments) {
  return run(folder, std::string("'") + LANISTA_TEST_CXX + "' -std=c++17 -O1 -Wall -Wextra -Werror " + arguments) == 0;
}

std::vector<float> predictions(const std::filesystem::path& folder, const std::vector<std::string>& sources,
                               std::string_view x) {
  std::string driver(kDriverHead), calls;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string model = "m" + std::to_string(i);
    write(folder / (model + ".inc"), sources[i]);
    driver += "namespace " + model + " {\n#include \"" + model + ".inc\"\n}\n";
    calls +=
        "  run(" + model + "::model::predict, " + model + "::model::input_size, " + model + "::model::output_size);\n";
  }
  write(folder / "driver.cpp", driver + "int main() {\n" + calls + "}\n");
  write(folder / "x", x);
  LANISTA_CHECK(compiles(folder, "driver.cpp -o driver"), "the sources do not compile");
  LANISTA_CHECK(run(folder, "./driver < x > y") == 0, "the program fails");
  const std::string bytes = read(folder / "y");
  std::vector<float> y(bytes.size() / sizeof(float));
  std::memcpy(y.data(), bytes.data(), y.size() * sizeof(float));
  return y;
}

}  // namespace lanista::runtime::testing
