// Measures what locks cost: a free one, one of a million, one that is handed over.
//
//   g++ -std=c++20 -O2 -Isrc src/lock/lock_manager_bench.cc $BUILD/libbasalt_{lock,base}.a
//
// with $BUILD of flavour release.
//
// Compare two builds on one quiet machine; never numbers across machines.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "lock/lock_manager.h"

namespace basalt::lock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr WaitPolicy kPolicy;

double ns_since(Clock::time_point begin, std::size_t operations) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() /
         static_cast<double>(operations);
}

// 24 bytes: an index id and two columns.
std::vector<std::string> row_keys(std::uint32_t index_id, std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    append_be32(keys[i], index_id);
    append_be64(keys[i], i);
    append_be32(keys[i], static_cast<std::uint32_t>(i));
    append_be64(keys[i], i * i);
  }
  return keys;
}

void lock_rows(LockManager& manager, LockOwner& owner, const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    if (!manager.lock(owner, key, LockMode::kExclusive, kPolicy).is_ok()) std::abort();
  }
}

void measure_transactions(std::size_t rows) {
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const auto keys = row_keys(1, rows);
  const std::size_t rounds = 4'000'000 / rows;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < rounds; ++i) {
    lock_rows(manager, owner, keys);
    manager.release_all(owner);
  }
  std::printf("lock + release, %7zu rows a transaction: %6.0f ns\n", rows,
              ns_since(begin, rounds * rows));
}

void measure_unlock() {
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const auto keys = row_keys(1, 1000);
  const auto begin = Clock::now();
  for (int i = 0; i < 4000; ++i) {
    for (const auto& key : keys) {
      if (!manager.lock(owner, key, LockMode::kExclusive, kPolicy).is_ok()) std::abort();
      manager.unlock(owner, key);
    }
  }
  std::printf("lock + unlock of one row at once:           %6.0f ns\n", ns_since(begin, 4'000'000));
}

void measure_memory() {
  constexpr std::size_t kRows = 1'000'000;
  const auto keys = row_keys(1, kRows);
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = in_use();
  const auto locking = Clock::now();
  lock_rows(manager, owner, keys);
  const double lock_ns = ns_since(locking, kRows);
  const std::size_t bytes = in_use() - before;
  const auto releasing = Clock::now();
  manager.release_all(owner);
  std::printf("one transaction of %zu rows: lock %.0f ns, release %.0f ns, %.1f bytes a lock\n",
              kRows, lock_ns, ns_since(releasing, kRows),
              static_cast<double>(bytes) / static_cast<double>(kRows));
}

void measure_threads(std::uint32_t threads) {
  LockManager manager(LockManager::Options{});
  std::vector<std::thread> running;
  constexpr std::size_t kRows = 10, kRounds = 200'000;
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&manager, i] {
      LockOwner owner(i);
      const auto keys = row_keys(i, kRows);
      for (std::size_t round = 0; round < kRounds; ++round) {
        lock_rows(manager, owner, keys);
        manager.release_all(owner);
      }
    });
  }
  for (auto& thread : running) thread.join();
  std::printf("lock + release in %u threads, own rows:      %6.0f ns of wall time a thread\n",
              threads, ns_since(begin, kRows * kRounds));
}

void measure_hot_row(std::uint32_t threads) {
  LockManager manager(LockManager::Options{});
  std::vector<std::thread> running;
  constexpr std::size_t kRounds = 2'000;
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&manager, i] {
      LockOwner owner(i);
      const auto keys = row_keys(1, 1);
      for (std::size_t round = 0; round < kRounds; ++round) {
        lock_rows(manager, owner, keys);
        std::this_thread::yield();
        manager.release_all(owner);
      }
    });
  }
  for (auto& thread : running) thread.join();
  std::printf("one row, %3u threads in its queue:           %6.0f ns a lock\n", threads,
              ns_since(begin, kRounds * threads));
}

}  // namespace
}  // namespace basalt::lock

int main() {
  using namespace basalt::lock;
  for (const std::size_t rows : {1, 10, 1000, 1'000'000}) measure_transactions(rows);
  measure_unlock();
  measure_memory();
  for (const std::uint32_t threads : {1, 2}) measure_threads(threads);
  for (const std::uint32_t threads : {2, 16, 128}) measure_hot_row(threads);
}
