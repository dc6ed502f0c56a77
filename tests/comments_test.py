"""Tests of tools/comments.py: which declarations of a header have a comment of their own."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import comments  # noqa: E402


def names(source, **options):
    return [f"{line} {text}" for line, text in comments.findings(source, **options)]


class Comments(unittest.TestCase):
    def test_lists_types_and_functions_without_a_comment(self):
        source = """#pragma once
#include <string>
namespace lanista::graph {
struct Node {
  int id = 0;
};

enum class Kind { kOne, kTwo };

using Rows = std::vector<std::pair<int, int>>;

template <class T>
std::vector<T> values_of(const Node& node, std::function<bool(int)> keep = {});
int depth(const Node& node);
}  // namespace lanista::graph
"""
        self.assertEqual(names(source), ["4 Node", "8 Kind", "10 Rows", "12 values_of", "14 depth"])

    def test_accepts_a_comment_above_and_one_on_the_line(self):
        source = """/// A node.
struct Node {
  int depth() const;  ///< longest path to an input
  /// Adds an input.
  void add(int input, int axis);
};
/* A kind. */
enum class Kind { kOne };
/// Values.
template <class T>
[[nodiscard]] Result<T> values(int a,
                               int b);
"""
        self.assertEqual(names(source), [])

    def test_nested_indices_end_no_scope(self):
        source = """struct Table {
  int at(int i) const { return rows[order[i]]; }
};
[[nodiscard]] int size();
"""
        self.assertEqual(names(source), ["1 Table", "2 Table::at", "4 size"])

    def test_names_a_pointer_to_a_function(self):
        source = "struct Kernels {\n  void (*add)(int count, int* y);\n};\n"
        self.assertEqual(names(source), ["1 Kernels", "2 Kernels::add"])

    def test_a_neighbour_without_its_own_comment_shares_it(self):
        source = """/// Writes and reads.
void write(int x);
int read();

int other();
"""
        self.assertEqual(names(source), ["3 read shares the comment of write", "5 other"])

    def test_overloads_may_share_a_comment(self):
        self.assertEqual(names("/// Writes.\nvoid write(int x);\nvoid write(double x);\n"), [])
        self.assertEqual(names("void write(int x);\nvoid write(double x);\n"), ["1 write", "2 write"])

    def test_a_comment_that_ends_before_a_blank_line_is_no_comment_of_the_declaration(self):
        self.assertEqual(names("/// A page.\n\nvoid write(int x);\n"), ["3 write"])

    def test_a_comment_needs_its_own_subject(self):
        source = "/// Text of a node.\nint encode(int x);\n/// The inverse. Errors: kDataLoss.\nint decode(int x);\n"
        self.assertEqual(names(source), ["4 decode has a comment that needs the one of its neighbour"])
        self.assertEqual(names(source.replace("inverse.", "inverse of encode.")), [])

    def test_private_members_and_trivial_forms_are_left_out(self):
        source = """/// A store.
class Store : public Base<int> {
  int hidden();

 public:
  Store();
  explicit Store(Options options) : options_(std::move(options)), rows_{1, 2} {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() override;
  bool operator==(const Store&) const = default;
  std::size_t size() const;
  int run(int x) override;
  const Options& options() const { return options_; }
  friend void swap(Store& a, Store& b);
  using Row = int;

  int rows(int first) const;
  Store(int first, int second);

 protected:
  void help(int x);

 private:
  struct Part {
    void visit(int x);
  };
  int rows_[2] = {0, 0};
};
class Later;
"""
        self.assertEqual(names(source), ["18 Store::rows", "19 Store::Store"])

    def test_hidden_namespaces_bodies_and_macros_are_left_out(self):
        source = """namespace lanista {
namespace detail {
int helper(int x);
}
namespace {
int local(int x);
}
#define MACRO(x) \\
  int made(int x);
/// Adds.
inline int add(int a, int b) {
  struct Local { int f(int x); };
  if (a < b) { return b; }
  return a + b;
}
inline constexpr std::array<int, 2> kTwo = {1, 2};
}  // namespace lanista
int after(int x);
"""
        self.assertEqual(names(source), ["18 after"])

    def test_fields_are_listed_when_asked_for(self):
        fields = "  int id = 0;\n  std::vector<int> inputs{1};  ///< ids\n  int depth = 1;\n"
        source = "/// A node.\nstruct Node {\n" + fields + "};\n"
        self.assertEqual(names(source), [])
        self.assertEqual(names(source, fields=True), ["3 Node::id", "5 Node::depth"])


if __name__ == "__main__":
    unittest.main()
