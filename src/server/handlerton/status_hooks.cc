#include <string>

#include "base/bytes.h"
#include "base/time_text.h"
#include "server/handlerton/hooks.h"
#include "server/plugin.h"
#include "server/status_variables.h"
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
  text += "ranges held: " + std::to_string(locks.range_snapshot().size()) + "\n";
  return text;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

// A lock's key begins with the id of its index.
std::string describe_key(std::string_view key) {
  if (key.size() < lock::kSpaceBytes) return to_hex(key);
  const catalog::IndexId id = load_be32(key.data());
  const catalog::TablePointer table = the_engine().catalog().find_by_index(id);
  std::string text = "index " + std::to_string(id);
  if (table != nullptr) {
    for (const catalog::IndexDefinition& index : table->indexes) {
      if (index.id == id) text = "index " + index.name + " of " + table->name;
    }
  }
  return text + ", key " + to_hex(key.substr(lock::kSpaceBytes));
}

std::string describe_deadlock(const lock::DeadlockInfo& deadlock) {
  std::string text = time_text(deadlock.found_at) + "\n";
  for (const lock::DeadlockInfo::Wait& wait : deadlock.cycle) {
    text += "transaction " + std::to_string(wait.owner_id) + " waits for " +
            (wait.mode == lock::LockMode::kShared ? "a shared" : "an exclusive") +
            " lock: " + describe_key(wait.key) + "\n";
  }
  text += "transaction " + std::to_string(deadlock.victim_id) + " was rolled back\n";
  return text;
}

std::string describe_health() {
  wal::Health& health = the_engine().database().health();
  std::string text = "state: " + std::string(name_of(health.access())) + "\n";
  const std::string cause = health.cause();
  if (!cause.empty()) text += "cause: " + cause + "\n";
  text += "failures noticed: " + std::to_string(health.failures()) + "\n";
  text += "decided transactions that wait to be written: " +
          std::to_string(the_engine().transactions().decided_count()) + "\n";
  text += "free on the device: " + std::to_string(health.free_bytes() >> 20) + " MiB, of which " +
          std::to_string(health.reserved_bytes() >> 20) + " MiB are kept in reserve\n";
  return text;
}

// SHOW ENGINE ROCKSDB STATUS. Returns true on error.
bool show_status(handlerton*, THD* thd, stat_print_fn* stat_print, ha_stat_type type) noexcept {
  if (type != HA_ENGINE_STATUS) return false;
  kv::Database& database = the_engine().database();
  bool failed = print(thd, stat_print, "HEALTH", describe_health());
  failed |=
      print(thd, stat_print, "DBSTATS", database.property(kv::kDefaultFamily, "rocksdb.dbstats"));
  for (const kv::Family& family : database.families()) {
    const kv::FamilyHold hold = database.hold_family(family.id);
    if (hold == nullptr) continue;
    failed |= print(thd, stat_print, "CF_COMPACTION " + family.name,
                    database.property(family.id, "rocksdb.cfstats"));
  }
  failed |= print(thd, stat_print, "LOCKS", describe_locks());
  const auto deadlock = the_engine().locks().last_deadlock();
  if (deadlock.has_value()) {
    failed |= print(thd, stat_print, "LATEST DETECTED DEADLOCK", describe_deadlock(*deadlock));
  }
  return failed;
}

}  // namespace

void install_status_hooks(handlerton* hton) { hton->show_status = show_status; }

}  // namespace basalt::server
