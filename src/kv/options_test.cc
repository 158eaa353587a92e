#include "kv/options.h"

#include "base/test_support.h"

// Goal: sizes that are not set fit the machine, and those that are set stay as they are.
namespace basalt::kv {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

TEST(MachineDefaults, EveryUnsetSizeIsChosenWithinMemory) {
  const std::uint64_t memory = available_memory_bytes();
  ASSERT_GT(memory, 16u << 20);
  const DatabaseOptions options = with_machine_defaults({});
  EXPECT_GT(options.block_cache_bytes, 0u);
  EXPECT_LE(options.block_cache_bytes, memory / 2);
  EXPECT_GE(options.memtable_bytes, 4u << 20);
  EXPECT_GE(options.memtables_total_bytes, options.memtable_bytes);
  EXPECT_LE(options.memtables_total_bytes, memory / 2);
  EXPECT_GE(options.max_total_wal_bytes, options.memtables_total_bytes);
  EXPECT_GE(options.background_jobs, 3);
  EXPECT_LE(options.background_jobs, 8);
}

TEST(MachineDefaults, MemtablesTakeAnEighthOfMemoryUpToABound) {
  for (const std::uint64_t memory : {256 * kMiB, 512 * kMiB, 1024 * kMiB, 2048 * kMiB}) {
    const DatabaseOptions options = with_defaults_for({.memory_bytes = memory, .cores = 2}, {});
    EXPECT_EQ(options.memtable_bytes, memory / 32);
    EXPECT_EQ(options.memtables_total_bytes, memory / 8);
  }
  const DatabaseOptions large =
      with_defaults_for({.memory_bytes = 64 * 1024 * kMiB, .cores = 32}, {});
  EXPECT_EQ(large.memtable_bytes, 64 * kMiB);
}

TEST(MachineDefaults, BlocksTakeHalfOfWhatServerAndMemtablesLeave) {
  const auto blocks = [](std::uint64_t memory) {
    return with_defaults_for({.memory_bytes = memory, .is_memory_ours = true, .cores = 2}, {})
        .block_cache_bytes;
  };
  EXPECT_EQ(blocks(384 * kMiB), 56 * kMiB) << "224 MiB for the server, 48 for memtables";
  EXPECT_EQ(blocks(1024 * kMiB), 336 * kMiB) << "224 MiB for the server, an eighth for memtables";
  EXPECT_EQ(blocks(100 * kMiB), 8 * kMiB) << "too little for anything";
}

TEST(MachineDefaults, BlocksTakeMostOfThatWhereThereIsNoPageCacheBesides) {
  const auto chosen = [](Machine machine) {
    machine.memory_bytes = 1024 * kMiB;
    machine.cores = 2;
    return with_defaults_for(machine, {});
  };
  const DatabaseOptions options = chosen({.is_memory_ours = true, .has_direct_io = true});
  EXPECT_EQ(options.direct_io, DirectIo::kOn);
  EXPECT_EQ(options.block_cache_bytes, 504 * kMiB);
  EXPECT_EQ(chosen({.is_memory_ours = true, .has_direct_io = false}).direct_io, DirectIo::kOff);
  EXPECT_EQ(chosen({.is_memory_ours = false, .has_direct_io = true}).direct_io, DirectIo::kOff)
      << "what others leave of the machine's memory keeps pages";
}

TEST(MachineDefaults, ACacheWhoseSizeIsSetGivesWayWhereItIsChosenToo) {
  Machine machine{
      .memory_bytes = 1024 * kMiB, .is_memory_ours = true, .has_direct_io = true, .cores = 2};
  DatabaseOptions given;
  given.block_cache_bytes = 800 * kMiB;
  const DatabaseOptions used = with_defaults_for(machine, given);
  EXPECT_EQ(used.process_memory_bytes, 1024 * kMiB);
  EXPECT_EQ(used.block_cache_bytes, 800 * kMiB);

  machine.is_memory_ours = false;
  EXPECT_EQ(with_defaults_for(machine, given).process_memory_bytes, 0u);
}

TEST(MachineDefaults, BlocksTakeAQuarterOfAMachineThatIsPerhapsShared) {
  const Machine machine{.memory_bytes = 24 * 1024 * kMiB, .is_memory_ours = false, .cores = 2};
  EXPECT_EQ(with_defaults_for(machine, {}).block_cache_bytes, 6 * 1024 * kMiB);
}

TEST(MachineDefaults, ASecondCompactionMayRunOnTheSmallestMachine) {
  constexpr int kOneFlushAndTwoCompactions = 3;
  EXPECT_EQ(with_defaults_for({.memory_bytes = 512 * kMiB, .cores = 1}, {}).background_jobs,
            kOneFlushAndTwoCompactions);
  EXPECT_EQ(with_defaults_for({.memory_bytes = 512 * kMiB, .cores = 64}, {}).background_jobs, 8);
}

TEST(MachineDefaults, WhatIsSetStays) {
  DatabaseOptions options;
  options.directory = "/somewhere";
  options.block_cache_bytes = 1;
  options.memtable_bytes = 2;
  options.memtables_total_bytes = 3;
  options.max_total_wal_bytes = 4;
  options.background_jobs = 5;
  options.direct_io = DirectIo::kOn;
  options.create_if_missing = false;
  options = with_machine_defaults(options);
  EXPECT_EQ(options.directory, "/somewhere");
  EXPECT_EQ(options.block_cache_bytes, 1u);
  EXPECT_EQ(options.memtable_bytes, 2u);
  EXPECT_EQ(options.memtables_total_bytes, 3u);
  EXPECT_EQ(options.max_total_wal_bytes, 4u);
  EXPECT_EQ(options.background_jobs, 5);
  EXPECT_EQ(options.direct_io, DirectIo::kOn);
  EXPECT_FALSE(options.create_if_missing);
}

TEST(MachineDefaults, ChosenSizesFollowTheOnesThatAreSet) {
  DatabaseOptions options;
  options.memtable_bytes = 1 << 30;
  options = with_machine_defaults(options);
  EXPECT_GE(options.memtables_total_bytes, 1u << 30);
  EXPECT_GE(options.max_total_wal_bytes, options.memtables_total_bytes);
}

}  // namespace
}  // namespace basalt::kv
