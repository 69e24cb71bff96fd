// What a function runs on in a test: memory for its arguments, placed between guards, on the host or copied
// to where it runs; and the comparison of what two runs left there.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/host_check.h"

namespace heddle::test {

// Memory between two pages that can't be touched.
class Guarded {
 public:
  explicit Guarded(size_t bytes);
  Guarded(const Guarded&) = delete;
  ~Guarded();

  // Copies `content` flush against one of the pages; all other bytes of the room become 0xa5.
  char* place(const std::vector<char>& content, bool at_end);
  std::vector<char> room() const { return {room_base_, room_base_ + room_}; }
  size_t bytes() const { return bytes_; }
  size_t start(bool at_end) const { return at_end ? room_ - bytes_ : 0; }

 private:
  size_t bytes_, room_, mapped_;
  char *base_, *room_base_;
};

// Each memory's bytes with the guards around them, by its number.
using Rooms = std::map<int, std::vector<char>>;

class Problem {
 public:
  Problem(const ir::Function& function, const std::vector<HostArgument>& arguments,
          const HostCheckOptions& options);

  // Places the memory, calls run(slots), and returns what memory holds then.
  Rooms after(bool at_end, const std::function<void(const int64_t* slots)>& run);
  // The same where memory is elsewhere: run(rooms, slots_for) changes the rooms in place; slots_for gives the
  // arguments once it knows each room's address there.
  using SlotsFor = std::function<std::vector<int64_t>(const std::map<int, int64_t>& addresses)>;
  Rooms after_elsewhere(bool at_end, const std::function<void(Rooms& rooms, const SlotsFor& slots_for)>& run);

  // Empty when equal, NaN being NaN; else the first difference.
  std::string compare(const Rooms& expected, const Rooms& found, bool at_end) const;

 private:
  struct Memory {
    DType type = DType::i8;
    int64_t elements = 0;
    std::vector<double> values;
    std::vector<uint64_t> bits;
    std::vector<char> content;
    std::unique_ptr<Guarded> place;
  };

  uint64_t initial_bits(const Memory& memory, size_t element, std::mt19937_64& random) const;
  void measure(size_t argument);
  // `bases`: of each memory's first byte.
  std::vector<int64_t> slots(const std::map<int, int64_t>& bases) const;

  const ir::Function& function_;
  std::vector<HostArgument> arguments_;
  HostCheckOptions options_;
  std::vector<int> numbers_;
  std::vector<int64_t> starts_;  // elements before an argument's own address
  std::map<int, Memory> memories_;
};

}  // namespace heddle::test
