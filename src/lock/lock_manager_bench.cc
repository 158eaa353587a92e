// Measures what locks cost: a free one, one of a million, one that is handed over.
#include "lock/lock_manager.h"

#include <malloc.h>
#include <benchmark/benchmark.h>

#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"

namespace basalt::lock {
namespace {

constexpr WaitPolicy kPolicy;

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

void lock_rows(benchmark::State& state, LockManager& manager, LockOwner& owner,
               const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    if (!manager.lock(owner, key, LockMode::kExclusive, kPolicy).is_ok()) {
      state.SkipWithError("a lock was refused");
    }
  }
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void lock_and_release(benchmark::State& state) {
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const auto keys = row_keys(1, static_cast<std::size_t>(state.range(0)));
  const std::size_t before = bytes_in_use();
  std::size_t bytes = 0;
  for (auto _ : state) {
    lock_rows(state, manager, owner, keys);
    if (bytes == 0) bytes = bytes_in_use() - before;
    manager.release_all(owner);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_a_lock"] = static_cast<double>(bytes) / static_cast<double>(state.range(0));
}
BENCHMARK(lock_and_release)->Arg(1)->Arg(10)->Arg(1000)->Arg(1'000'000);

void lock_and_unlock(benchmark::State& state) {
  LockManager manager(LockManager::Options{});
  LockOwner owner(1);
  const auto keys = row_keys(1, 1);
  for (auto _ : state) {
    lock_rows(state, manager, owner, keys);
    manager.unlock(owner, keys[0]);
  }
}
BENCHMARK(lock_and_unlock);

LockManager& shared_manager() {
  static LockManager manager(LockManager::Options{});
  return manager;
}

// Ten rows a transaction, which no other thread locks.
void lock_own_rows(benchmark::State& state) {
  const auto number = static_cast<std::uint32_t>(state.thread_index());
  LockOwner owner(number);
  const auto keys = row_keys(number, 10);
  for (auto _ : state) {
    lock_rows(state, shared_manager(), owner, keys);
    shared_manager().release_all(owner);
  }
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(lock_own_rows)->Threads(1)->Threads(2);

// A scan locks the gaps of 100,000 rows, one by one, while others wait to insert elsewhere.
void lock_gaps_beside_waiting_inserts(benchmark::State& state) {
  LockManager manager(LockManager::Options{});
  LockOwner holder(1);
  LockOwner scan(2);
  const auto keys = row_keys(1, 100'000);
  const auto key_behind = [&keys](std::int64_t i) {
    return keys.back() + std::string(1, '\1') + std::to_string(i);
  };
  manager.lock_gap(holder, keys.back() + '\1', keys.back() + '\2');
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    threads.emplace_back([&manager, &state, key = key_behind(i), i] {
      LockOwner owner(static_cast<std::uint64_t>(10 + i));
      if (!manager.await_insert(owner, key, kPolicy).is_ok()) state.SkipWithError("no insert");
    });
  }
  while (manager.waiting_count() < threads.size()) std::this_thread::yield();
  for (auto _ : state) {
    for (std::size_t i = 1; i < keys.size(); ++i) manager.lock_gap(scan, keys[i - 1], keys[i]);
    manager.release_all(scan);
  }
  manager.release_all(holder);
  for (std::thread& thread : threads) thread.join();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}
BENCHMARK(lock_gaps_beside_waiting_inserts)->Arg(0)->Arg(200)->UseRealTime();

// All threads in one row's queue.
void lock_hot_row(benchmark::State& state) {
  LockOwner owner(static_cast<std::uint64_t>(state.thread_index()));
  const auto keys = row_keys(1, 1);
  for (auto _ : state) {
    lock_rows(state, shared_manager(), owner, keys);
    std::this_thread::yield();
    shared_manager().release_all(owner);
  }
}
BENCHMARK(lock_hot_row)->Threads(2)->Threads(16)->UseRealTime();

}  // namespace
}  // namespace basalt::lock
