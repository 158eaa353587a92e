#include "lock/internal/shard.h"

#include <malloc.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: what locks cost, and that tables follow the number of locks.
namespace basalt::lock {
namespace {

using test::kNoWait;
using test::kX;

std::string row_key(std::uint32_t index_id, std::uint64_t row) {
  std::string key;
  append_be32(key, index_id);
  append_be64(key, row);
  append_be64(key, row * row);
  return key;
}

TEST(LockRequest, CostsAtMost64BytesMoreThanItsKey) {
  for (std::size_t size = 0; size < 5000; ++size) {
    ASSERT_LE(LockRequest::bytes_for(size), size + 64);
    ASSERT_GE(LockRequest::bytes_for(size), size + sizeof(LockRequest));
  }
}

TEST(MustWaitFor, FollowsTheTableOfModesAndStates) {
  const auto S = LockMode::kShared;
  const auto X = LockMode::kExclusive;
  const auto request = [](LockMode mode, RequestState state) {
    return LockRequest{.owner = nullptr, .hash = 0, .key_size = 0, .mode = mode, .state = state};
  };
  struct {
    LockRequest waiter, other;
    bool ahead, behind;  // the answer with `other` ahead of the waiter, and behind it
  } const cases[] = {
      {request(S, RequestState::kWaiting), request(S, RequestState::kGranted), false, false},
      {request(S, RequestState::kWaiting), request(X, RequestState::kGranted), true, true},
      {request(S, RequestState::kWaiting), request(S, RequestState::kUpgrading), true, false},
      {request(S, RequestState::kWaiting), request(S, RequestState::kWaiting), false, false},
      {request(S, RequestState::kWaiting), request(X, RequestState::kWaiting), true, false},
      {request(X, RequestState::kWaiting), request(S, RequestState::kGranted), true, true},
      {request(X, RequestState::kWaiting), request(S, RequestState::kUpgrading), true, true},
      {request(X, RequestState::kWaiting), request(S, RequestState::kWaiting), true, false},
      {request(X, RequestState::kWaiting), request(X, RequestState::kWaiting), true, false},
      {request(S, RequestState::kUpgrading), request(S, RequestState::kGranted), true, true},
      {request(S, RequestState::kUpgrading), request(S, RequestState::kUpgrading), true, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(must_wait_for(c.waiter, c.other, true), c.ahead) << &c - cases;
    EXPECT_EQ(must_wait_for(c.waiter, c.other, false), c.behind) << &c - cases;
  }
}

TEST(ShardTable, SpreadsTheRowsOfATableEvenly) {
  constexpr std::size_t kShards = 64, kRows = 64'000;
  const ShardTable table(kShards);
  std::vector<std::size_t> rows(kShards);
  for (std::size_t row = 0; row < kRows; ++row) {
    ++rows[&table.shard_of(ShardTable::hash_of(row_key(7, row))) - &table[0]];
  }
  for (const std::size_t n : rows) {
    EXPECT_GT(n, kRows / kShards / 2);
    EXPECT_LT(n, kRows / kShards * 2);
  }
}

TEST(ShardTable, OneShardIsEnough) {
  const ShardTable table(1);
  EXPECT_EQ(&table.shard_of(0xFFFFFFFF), &table[0]);
}

TEST(Shard, HasAboutAsManyBucketsAsRequestsAndFewAgainWhenEmpty) {
  Shard shard;
  constexpr std::uint32_t kRows = 10'000;
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<LockRequest*> requests;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const std::string key = row_key(7, row);
    memory.push_back(std::make_unique<char[]>(LockRequest::bytes_for(key.size())));
    requests.push_back(new (memory.back().get())
                           LockRequest{.owner = nullptr,
                                       .hash = ShardTable::hash_of(key),
                                       .key_size = static_cast<std::uint32_t>(key.size()),
                                       .mode = kX,
                                       .state = RequestState::kGranted});
    key.copy(memory.back().get() + sizeof(LockRequest), key.size());
    shard.insert(*requests.back(), nullptr);
    ASSERT_GE(shard.bucket_count(), shard.request_count());
  }
  EXPECT_LE(shard.bucket_count(), 2 * kRows);
  for (LockRequest* request : requests) shard.remove(*request);
  EXPECT_EQ(shard.request_count(), 0u);
  EXPECT_EQ(shard.bucket_count(), Shard::kBucketsMin);
}

// Sanitizers replace malloc and do not answer mallinfo2().
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Memory, AMillionLocksOfOneOwnerTakeLessThan100MegabytesAndGiveThemBack) {
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const std::size_t before = in_use();
  for (std::uint64_t row = 0; row < 1'000'000; ++row) {
    ASSERT_TRUE(manager.lock(owner, row_key(7, row), kX, kNoWait).is_ok());
  }
  EXPECT_EQ(owner.held_count(), 1'000'000u);
  EXPECT_LT(in_use() - before, 100'000'000u);
  manager.release_all(owner);
  EXPECT_LT(in_use(), before + 100'000);
}
#endif

}  // namespace
}  // namespace basalt::lock
