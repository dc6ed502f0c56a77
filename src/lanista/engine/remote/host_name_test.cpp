#include "lanista/ipc/host_name.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <string>

#include "lanista/engine/remote/worker_protocol.h"

namespace lanista::engine {
namespace {

TEST(HostName, IsSystemHostName) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_EQ(local_host_name(), system.nodename);
}

TEST(HostName, SanitizesForeignNames) {
  EXPECT_EQ(sanitize_host_name("gpu-07.cluster_A~"), "gpu-07.cluster_A~");
  EXPECT_EQ(sanitize_host_name("a\x1b[2Jb\nc d\x7f\te"), "a?[2Jb?c?d??e");
  EXPECT_EQ(sanitize_host_name(std::string("n\0de", 4)), "n?de");
  EXPECT_EQ(sanitize_host_name("n\xc3\xb6"
                               "de"),
            "n??de");
  EXPECT_EQ(sanitize_host_name(std::string(1000, 'n')), std::string(64, 'n'));
  EXPECT_EQ(sanitize_host_name(""), "");
  for (int c = 0; c < 256; ++c) {
    const std::string plain = sanitize_host_name(std::string(1, static_cast<char>(c)));
    EXPECT_EQ(plain == "?", c == '?' || c < 33 || c > 126) << c;
  }
}

TEST(HostName, IsPartOfHello) {
  const auto received = decode_hello(encode(Hello{kWorkerProtocol, "b", 7, "node\x1b 2"}));
  ASSERT_TRUE(received);
  EXPECT_EQ(received->host, "node\x1b 2") << "its users sanitize it";
  EXPECT_EQ(received->process, 7);
  // An older build sends none, and must receive the error about its version.
  const auto before = decode_hello(R"({"protocol": 2, "build": "a", "process": 7})");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->host, "");
  EXPECT_FALSE(decode_hello(R"({"protocol": 2, "build": "a", "process": 7, "host": 3})"));
}

}  // namespace
}  // namespace lanista::engine
