#include <string>

#include "server/handlerton/hooks.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

bool print(THD* thd, stat_print_fn* stat_print, std::string_view name, const std::string& text) {
  constexpr std::string_view kType = "ROCKSDB";
  return stat_print(thd, kType.data(), kType.size(), name.data(), name.size(), text.data(),
                    text.size());
}

std::string describe_locks() {
  lock::LockManager& locks = the_engine().locks();
  std::string text = "deadlocks: " + std::to_string(locks.deadlock_count()) + "\n";
  const auto snapshot = locks.snapshot();
  std::size_t waiting = 0;
  for (const auto& lock : snapshot) waiting += lock.granted ? 0 : 1;
  text += "row locks held: " + std::to_string(snapshot.size() - waiting) + "\n";
  text += "row locks waited for: " + std::to_string(waiting) + "\n";
  return text;
}

// SHOW ENGINE ROCKSDB STATUS. Returns true on error.
bool show_status(handlerton*, THD* thd, stat_print_fn* stat_print, ha_stat_type type) noexcept {
  if (type != HA_ENGINE_STATUS) return false;
  kv::Database& database = the_engine().database();
  bool failed = print(thd, stat_print, "DBSTATS",
                      database.property(kv::kDefaultFamily, "rocksdb.dbstats"));
  const std::vector<std::string> families = database.family_names();
  for (std::size_t i = 0; i < families.size(); ++i) {
    failed |= print(thd, stat_print, "CF_COMPACTION " + families[i],
                    database.property(static_cast<kv::FamilyId>(i), "rocksdb.cfstats"));
  }
  failed |= print(thd, stat_print, "LOCKS", describe_locks());
  return failed;
}

}  // namespace

void install_status_hooks(handlerton* hton) { hton->show_status = show_status; }

}  // namespace basalt::server
