#include "plug.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "block_cache/adaptive_compression.h"
#include "block_cache/block_cache.h"
#include "db/memtable.h"
#include "kv/rocksdb_options.h"
#include "memtable/tree_memtable_rep.h"
#include "rocksdb/advanced_compression.h"
#include "rocksdb/comparator.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/object_registry.h"

namespace ROCKSDB_NAMESPACE {
namespace {

bool is_plugged(std::string_view part) {
  const char* const chosen = std::getenv("BASALT_CHECK_PARTS");
  if (chosen == nullptr) return true;
  return ("," + std::string(chosen) + ",").find("," + std::string(part) + ",") != std::string::npos;
}

// What files of options name is made anew from its name, and belongs to who asks.
class NamedCompression final : public CompressionManagerWrapper {
 public:
  using CompressionManagerWrapper::CompressionManagerWrapper;
  const char* Name() const override { return wrapped_->Name(); }
};

bool register_compression() {
  ObjectLibrary::Default()->AddFactory<CompressionManager>(
      basalt::block_cache::make_adaptive_compression_manager()->Name(),
      [](const std::string&, std::unique_ptr<CompressionManager>* owned, std::string*) {
        *owned = std::make_unique<NamedCompression>(
            basalt::block_cache::make_adaptive_compression_manager());
        return owned->get();
      });
  return true;
}

ColumnFamilyOptions engine_options() {
  basalt::kv::DatabaseOptions sizes;
  sizes.memtable_bytes = 64 << 20;
  sizes.memtables_total_bytes = 256 << 20;
  return basalt::kv::make_table_family_options(sizes, nullptr, nullptr);
}

}  // namespace

MemTableRep* NewPluggedMemTable(const MemTableRep::KeyComparator& compare, Allocator* allocator) {
  const auto* const keys = dynamic_cast<const MemTable::KeyComparator*>(&compare);
  if (!is_plugged("memtable") || keys == nullptr ||
      keys->comparator.user_comparator() != BytewiseComparator()) {
    return nullptr;
  }
  static const std::shared_ptr<MemTableRepFactory> factory =
      basalt::memtable::make_tree_memtable_factory();
  return factory->CreateMemTableRep(compare, allocator, nullptr, nullptr);
}

std::shared_ptr<Cache> NewPluggedCache(size_t capacity) {
  if (!is_plugged("cache")) return nullptr;
  return std::make_shared<basalt::block_cache::BlockCache>(capacity);
}

void PlugCompression(ColumnFamilyOptions& options) {
  // The engine's options begin as all options do: here.
  static thread_local bool is_inside = false;
  if (is_inside || !is_plugged("compression") || !HasBuiltinCompressionManager()) return;
  is_inside = true;
  static const bool is_registered = register_compression();
  static_cast<void>(is_registered);
  static const ColumnFamilyOptions engine = engine_options();
  is_inside = false;
  options.compression = engine.compression;
  options.bottommost_compression = engine.bottommost_compression;
  options.bottommost_compression_opts = engine.bottommost_compression_opts;
  options.compression_manager = engine.compression_manager;
}

}  // namespace ROCKSDB_NAMESPACE
