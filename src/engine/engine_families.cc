// Which indexes are in which column family.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "base/log.h"
#include "engine/engine.h"

namespace basalt::engine {
namespace {

constexpr std::chrono::milliseconds kPause{100};
// How the name of a family begins that has its entries in descending order in MyRocks.
constexpr std::string_view kReverse = "rev:";

Status no_family(std::string_view name) {
  return Status(ErrorCode::kNotFound, "there is no column family '" + std::string(name) + "'");
}

// Definitions that come from MyRocks name such families for their speed alone, and often in many
// tables: it is told once, and not of each statement.
void note_order(std::string_view family) {
  if (!family.starts_with(kReverse)) return;
  log_message(LogLevel::kInfo, "column family '" + std::string(family) +
                                   "' has its entries in ascending order, as all families have; "
                                   "for fast descending scans let columns of its indexes be DESC");
}

}  // namespace

Status Engine::place(catalog::TableDefinition& table, const FamilyNames& families) {
  BASALT_DEBUG_ASSERT(families.size() <= table.indexes.size());
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].empty()) continue;
    const bool is_new = !database_->find_family(families[i]);
    Result<kv::FamilyId> family = database_->ensure_family(families[i]);
    if (!family.is_ok()) return family.take_status();
    table.indexes[i].family = family.value();
    if (is_new) note_order(families[i]);
  }
  return Status::ok();
}

Status Engine::remove_family(std::string_view name, const std::function<bool()>& may_wait) {
  const auto refused = [name](const std::string& why) {
    return Status(ErrorCode::kInvalidArgument,
                  "column family '" + std::string(name) + "' cannot be removed: " + why);
  };
  if (name == kv::kDefaultFamilyName || name == kv::kSystemFamilyName) {
    return refused("the engine needs it");
  }
  while (true) {
    std::vector<catalog::IndexId> dropped;
    {
      const MutexLock guard(placement_mutex_);
      const std::optional<kv::FamilyId> family = database_->find_family(name);
      if (!family) return no_family(name);
      std::string user;
      if (catalog_->is_family_in_use(*family, user)) return refused(user + " is in it");
      for (const catalog::DroppedIndex& index : catalog_->dropped_indexes()) {
        if (index.family == *family) dropped.push_back(index.id);
      }
      if (dropped.empty()) return database_->remove_family(*family);
    }
    if (transactions_->undecided().exist_in(dropped)) {
      return refused("a transaction that has not ended has changed a table that was dropped");
    }
    BASALT_TRY(database_->health().check_not_read_only());
    if (!may_wait()) return Status::of(ErrorCode::kInterrupted);
    worker_->wake();
    std::this_thread::sleep_for(kPause);
  }
}

Status Engine::compact_family(std::string_view name, const std::function<bool()>& is_interrupted) {
  const std::optional<kv::FamilyId> family = database_->find_family(name);
  const kv::FamilyHold hold = family ? database_->hold_family(*family) : nullptr;
  if (hold == nullptr) return no_family(name);
  return database_->compact(*family, {}, is_interrupted);
}

}  // namespace basalt::engine
