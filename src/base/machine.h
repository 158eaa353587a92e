#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// What this process finds around it. All of it is asked of the system anew by each call.
namespace basalt {

// What sizes are chosen by.
struct Machine {
  std::uint64_t memory_bytes = 0;
  // Whether the memory is this process's own by a limit, not the machine's.
  bool is_memory_ours = false;
  // Whether the files of a certain directory can be read and written past the page cache.
  bool has_direct_io = false;
  int cores = 0;
};

// This machine, as far as this process may use it, for files in `directory`, or where it is to be
// made; direct I/O is tried with a file that is gone at once. None if `directory` is empty.
Machine this_machine(const std::string& directory);

// The memory this process may use: the smallest limit of its control groups, of version 1 or 2, or
// the machine's.
std::uint64_t available_memory_bytes();
// The same where control groups limit it now; `otherwise` where they do not.
std::uint64_t limited_memory_bytes(std::uint64_t otherwise);

// How many threads a statement may use that reads or rewrites a table: half of the cores, which
// leaves the others to queries, but 2 on the smallest machines, and at most 4.
std::size_t threads_of_statement();

// Bytes of this process that are in memory, code included; 0 if the system does not say.
std::uint64_t resident_bytes();

}  // namespace basalt
