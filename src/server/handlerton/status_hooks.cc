#include <string>

#include "base/time_text.h"
#include "kv/reports.h"
#include "server/handlerton/hooks.h"
#include "server/introspect/names.h"
#include "server/plugin.h"
#include "server/status_variables.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// What SHOW ENGINE STATUS has of one subject: rows of a type, which have names.
class Section {
 public:
  Section(THD* thd, stat_print_fn* stat_print) : thd_(thd), stat_print_(stat_print) {}

  void print(std::string_view type, std::string_view name, const std::string& text) {
    has_failed_ |= stat_print_(thd_, type.data(), type.size(), name.data(), name.size(),
                               text.data(), text.size());
  }
  void print(std::string_view type, const std::string& text) { print(type, "rocksdb", text); }
  bool has_failed() const { return has_failed_; }

 private:
  THD* const thd_;
  stat_print_fn* const stat_print_;
  bool has_failed_ = false;
};

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

std::string describe_deadlock(const lock::DeadlockInfo& deadlock) {
  std::string text = time_text(deadlock.found_at) + "\n";
  for (const lock::DeadlockInfo::Wait& wait : deadlock.cycle) {
    text += "transaction " + std::to_string(wait.owner_id) + " waits for " +
            (wait.mode == lock::LockMode::kShared ? "a shared" : "an exclusive") +
            " lock: " + key_text(wait.key) + "\n";
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

// Since the start, and what writes have been hindered by.
std::string describe_statistics() {
  kv::Database& database = the_engine().database();
  const auto stops = kv::number_property(database, kv::kDefaultFamily, "rocksdb.is-write-stopped");
  return database.events().describe() +
         "rocksdb.is_write_stopped COUNT : " + std::to_string(stops) + "\n";
}

std::string describe_memory() {
  const kv::MemoryReport memory = kv::memory_report(the_engine().database());
  return "MemTable Total: " + std::to_string(memory.memtables) +
         "\nMemTable Unflushed: " + std::to_string(memory.memtables_unflushed) +
         "\nTable Readers Total: " + std::to_string(memory.table_readers) +
         "\nCache Total: " + std::to_string(memory.block_cache) +
         "\nDefault Cache Capacity: " + std::to_string(memory.block_cache_capacity) + "\n";
}

std::string describe_thread(const kv::ThreadReport& thread) {
  return "thread_type: " + thread.kind + "\ncf_name: " + thread.family +
         "\noperation_type: " + thread.operation + "\noperation_stage: " + thread.stage +
         "\nelapsed_time_ms: " + std::to_string(thread.elapsed_ms) +
         "\nstate_type: " + thread.state + "\n";
}

void print_own(Section& section) {
  section.print("HEALTH", describe_health());
  section.print("LOCKS", describe_locks());
  const auto deadlock = the_engine().locks().last_deadlock();
  if (deadlock.has_value()) {
    section.print("LATEST DETECTED DEADLOCK", describe_deadlock(*deadlock));
  }
  const std::string failure = g_plugin->foreign_key_failures.latest();
  if (!failure.empty()) section.print("LATEST FOREIGN KEY ERROR", failure);
}

// The sections that MyRocks has.
void print_database(Section& section) {
  kv::Database& database = the_engine().database();
  section.print("STATISTICS", describe_statistics());
  section.print("DBSTATS", database.property(kv::kDefaultFamily, "rocksdb.dbstats"));
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    const kv::FamilyHold hold = database.hold_family(family.id);
    if (hold == nullptr) continue;
    section.print("CF_COMPACTION", family.name, database.property(family.id, "rocksdb.cfstats"));
  }
  section.print("MEMORY_STATS", describe_memory());
  for (const kv::ThreadReport& thread : kv::thread_reports()) {
    section.print("BG_THREADS", std::to_string(thread.id), describe_thread(thread));
  }
}

// SHOW ENGINE ROCKSDB STATUS. Returns true on error.
bool show_status(handlerton*, THD* thd, stat_print_fn* stat_print, ha_stat_type type) noexcept {
  if (type != HA_ENGINE_STATUS) return false;
  Section section(thd, stat_print);
  print_own(section);
  print_database(section);
  return section.has_failed();
}

}  // namespace

void install_status_hooks(handlerton* hton) { hton->show_status = show_status; }

}  // namespace basalt::server
