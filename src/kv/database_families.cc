// The column families of a database: which it has, with what options, made and removed.
#include <rocksdb/utilities/transaction_db.h>

#include "base/failpoint.h"
#include "block_cache/block_cache.h"
#include "kv/database.h"
#include "kv/early_compaction.h"
#include "kv/given_options.h"
#include "kv/rocksdb_options.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {

Result<rdb::ColumnFamilyOptions> Database::table_family_options(std::string_view name) {
  rdb::ColumnFamilyOptions options = make_table_family_options(options_, cache_, key_structures_);
  // Those that are made while the database is open have what an administrator has set since.
  if (db_ != nullptr) share_early_compaction(db_->GetOptions(), options);
  options.table_properties_collector_factories.push_back(events_.make_entry_counter());
  options.compaction_filter_factory =
      make_expiry_filter_factory(lifetimes_, expiry_clock_, events_);
  // With a factory RocksDB would rewrite every file once a month: see compact_periodically().
  options.periodic_compaction_seconds = 0;
  const MutexLock guard(resume_mutex_);
  BASALT_TRY(family_options_->put_on_top(name, options));
  return options;
}

// Those that the database has and those that every one has. A family that a crash has left without
// a definition that says so is as good as any other.
Result<std::vector<rdb::ColumnFamilyDescriptor>> Database::stored_families(
    const rdb::DBOptions& options) {
  std::vector<std::string> names;
  // Without this file there is no database, and the opening makes one, or says why not.
  if (env_->FileExists(options_.directory + "/CURRENT").ok()) {
    BASALT_TRY(rdb::from_rocksdb(rdb::DB::ListColumnFamilies(options, options_.directory, &names)));
  }
  std::vector<rdb::ColumnFamilyDescriptor> descriptors;
  const auto add = [&](std::string_view name) -> Status {
    Result<rdb::ColumnFamilyOptions> family = table_family_options(name);
    if (!family.is_ok()) return family.take_status();
    descriptors.emplace_back(std::string(name), std::move(family.value()));
    return Status::ok();
  };
  BASALT_TRY(add(kDefaultFamilyName));
  descriptors.emplace_back(std::string(kSystemFamilyName), make_system_family_options(options_));
  for (const std::string& name : names) {
    if (name != kDefaultFamilyName && name != kSystemFamilyName) BASALT_TRY(add(name));
  }
  return descriptors;
}

Result<FamilyId> Database::ensure_family(std::string_view name) {
  if (const std::optional<FamilyId> known = find_family(name)) return FamilyId{*known};
  BASALT_TRY(check_family_name(name));
  BASALT_TRY(health_->check_writable());
  // RocksDB notes with a new family that it needs no WAL from before it. That all families say so
  // of WALs only when files have what was in them is relied on: wal/wal_continuity.h.
  BASALT_TRY(flush());
  BASALT_FAILPOINT("kv.ensure_family.before_make");
  const Result<rdb::ColumnFamilyOptions> options = table_family_options(name);
  if (!options.is_ok()) return options.status().clone();
  Result<FamilyId> made = families_.make(name, options.value());
  BASALT_FAILPOINT("kv.ensure_family.after_make");
  return made;
}

Status Database::remove_family(FamilyId family) {
  BASALT_TRY(health_->check_not_read_only());
  // Their memtables and files go with the last who reads them.
  release_idle();
  BASALT_FAILPOINT("kv.remove_family.before");
  return families_.remove(family);
}

}  // namespace basalt::kv
