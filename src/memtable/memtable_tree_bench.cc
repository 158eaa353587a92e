#include <benchmark/benchmark.h>
#include <memory/arena.h>
#include <rocksdb/memtablerep.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "base/bytes.h"
#include "memtable/memtable_tree.h"
#include "memtable/tree_memtable_rep.h"
#include "rdb/slice.h"

// Memtables as RocksDB sees them, of a tree and of its own skip list: entries of four indexes with
// keys of 12 bytes and values of 40, one index in order and the others at random.
namespace basalt::memtable {
namespace {

class BytewiseOrder final : public rdb::MemTableRep::KeyComparator {
 public:
  rdb::Slice decode_key(const char* entry) const override {
    return {entry + 1, static_cast<std::size_t>(*entry)};
  }
  int operator()(const char* a, const char* b) const override {
    return InternalKey::of_entry(a).compare(InternalKey::of_entry(b));
  }
  int operator()(const char* a, const rdb::Slice& b) const override {
    return InternalKey::of_entry(a).compare(InternalKey::parse(rdb::view_of(b)));
  }
};

struct Memtable {
  // Whether of a tree, and how many entries it has at first.
  Memtable(bool is_tree, std::int64_t entries)
      : factory(is_tree ? make_tree_memtable_factory() : std::make_shared<rdb::SkipListFactory>()),
        rep(factory->CreateMemTableRep(order, &arena, nullptr, nullptr)) {
    for (std::int64_t i = 0; i < entries; ++i) insert(static_cast<std::uint64_t>(i));
  }

  static void append_key(std::string& out, std::uint32_t index, std::uint64_t number) {
    append_be32(out, index);
    append_be32(out, 0x80000000U);
    append_be32(out, static_cast<std::uint32_t>(number));
    out.resize(out.size() + 8, 1);
  }
  void insert(std::uint64_t number) {
    const auto index = static_cast<std::uint32_t>(number % 4);
    std::string entry(1, 20);
    append_key(entry, index, index == 0 ? number : random());
    entry.resize(entry.size() + 41, 40);
    char* memory;
    const rdb::KeyHandle handle = rep->Allocate(entry.size(), &memory);
    entry.copy(memory, entry.size());
    rep->InsertKey(handle);
  }

  BytewiseOrder order;
  rdb::Arena arena{1024 * 1024};
  std::shared_ptr<rdb::MemTableRepFactory> factory;
  std::unique_ptr<rdb::MemTableRep> rep;
  std::mt19937 random{std::mt19937::default_seed};
};

// Per entry, into a memtable that grows to so many.
void insert_entries(benchmark::State& state) {
  auto memtable = std::make_unique<Memtable>(state.range(0) != 0, 0);
  std::int64_t entries = 0;
  for (auto _ : state) {
    memtable->insert(static_cast<std::uint64_t>(entries));
    if (++entries == state.range(1)) {
      state.PauseTiming();
      state.counters["bytes_per_entry"] =
          static_cast<double>(memtable->arena.MemoryAllocatedBytes()) / entries;
      memtable = std::make_unique<Memtable>(state.range(0) != 0, 0);
      entries = 0;
      state.ResumeTiming();
    }
  }
}
BENCHMARK(insert_entries)->ArgNames({"tree", "entries"})->ArgsProduct({{0, 1}, {10'000, 500'000}});

void seek_entry(benchmark::State& state) {
  Memtable memtable(state.range(0) != 0, state.range(1));
  const std::unique_ptr<rdb::MemTableRep::Iterator> iterator(memtable.rep->GetIterator());
  std::string key;
  for (auto _ : state) {
    key.clear();
    const auto index = static_cast<std::uint32_t>(memtable.random() % 4);
    Memtable::append_key(key, index, memtable.random());
    iterator->Seek(key, nullptr);
    benchmark::DoNotOptimize(iterator->Valid());
  }
}
BENCHMARK(seek_entry)->ArgNames({"tree", "entries"})->ArgsProduct({{0, 1}, {10'000, 500'000}});

// Per entry, its key read.
void next_entry(benchmark::State& state) {
  Memtable memtable(state.range(0) != 0, state.range(1));
  const std::unique_ptr<rdb::MemTableRep::Iterator> iterator(memtable.rep->GetIterator());
  for (auto _ : state) {
    if (!iterator->Valid()) iterator->SeekToFirst();
    benchmark::DoNotOptimize(InternalKey::of_entry(iterator->key()).trailer);
    iterator->Next();
  }
}
BENCHMARK(next_entry)->ArgNames({"tree", "entries"})->ArgsProduct({{0, 1}, {10'000, 500'000}});

}  // namespace
}  // namespace basalt::memtable
