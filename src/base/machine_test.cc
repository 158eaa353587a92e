#include "base/machine.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "base/test_directory.h"
#include "base/test_support.h"

// Goal: sizes are chosen by what this process may use, and asking leaves no trace.
namespace basalt {
namespace {

namespace fs = std::filesystem;

std::uint64_t physical_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Machine, MemoryIsThePhysicalOneOrALimitBelowIt) {
  EXPECT_GT(available_memory_bytes(), 16u << 20);
  EXPECT_LE(available_memory_bytes(), physical_bytes());
  const std::uint64_t limited = limited_memory_bytes(7);
  EXPECT_EQ(this_machine("").is_memory_ours, limited != 7);
  if (limited != 7) {
    EXPECT_EQ(limited, available_memory_bytes());
  }
}

TEST(Machine, AProbeForDirectIoLeavesNothingAndMakesNoDirectory) {
  const test::TestDirectory directory;
  this_machine(directory.path());
  const fs::path missing = fs::path(directory.path()) / "not" / "made";
  EXPECT_EQ(this_machine(missing).has_direct_io, this_machine(directory.path()).has_direct_io);
  EXPECT_TRUE(fs::is_empty(directory.path()));
  EXPECT_FALSE(this_machine("").has_direct_io);
}

TEST(Machine, ResidentBytesGrowWithWhatIsUsed) {
  constexpr std::size_t kBytes = 64 << 20;
  const std::uint64_t before = resident_bytes();
  ASSERT_GT(before, 0u);
  const auto memory = std::make_unique_for_overwrite<char[]>(kBytes);
  std::memset(memory.get(), 1, kBytes);
  EXPECT_GE(resident_bytes(), before + kBytes / 2);
}

}  // namespace
}  // namespace basalt
