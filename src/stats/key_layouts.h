#pragma once
#include <cstdint>
#include <memory>

#include "catalog/catalog.h"
#include "codec/collation_source.h"
#include "index_stats/key_structure.h"

// What the dictionary alone tells of the keys of an index: so that distinct values can be counted
// where no table is open, in the background threads that write files.
namespace basalt::stats {

// Threads     Safe from any thread.
class KeyLayouts final : public index_stats::KeyStructureSource {
 public:
  // Without `collations` indexes of strings stay unknown.
  KeyLayouts(const catalog::Catalog& catalog, codec::CollationSource* collations)
      : catalog_(catalog), collations_(collations) {}

  // Made anew at each call: callers keep it for as long as they are busy with the index.
  std::shared_ptr<const index_stats::KeyStructure> find(std::uint32_t index_id) override;

 private:
  const catalog::Catalog& catalog_;
  codec::CollationSource* const collations_;
};

}  // namespace basalt::stats
