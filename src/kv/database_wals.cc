#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/wal_filter.h>

#include <memory>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/remedies.h"
#include "kv/database.h"
#include "rdb/status_conversion.h"
#include "wal/guarded_file_system.h"
#include "wal/wal_check.h"
#include "wal/wal_continuity.h"
#include "wal/wal_paths.h"

// Whether the WALs of a database that is being opened are whole, and what becomes of it if not.
namespace basalt::kv {
namespace {

constexpr int kFilesOpenAtOnce = 16;

// Has nothing of the WALs replayed.
class NoReplay final : public rdb::WalFilter {
 public:
  const char* Name() const override { return "BasaltNoReplay"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&, const rdb::WriteBatch&,
                                     rdb::WriteBatch*, bool*) override {
    return WalProcessingOption::kStopReplay;
  }
};

// The numbers in [first, end) of which a data file has all that there is: each is the only number
// of a file's entries. An ingested file has such a one, if it has taken a number.
Result<std::set<std::uint64_t>> numbers_of_files(
    rdb::DBOptions options, const std::string& directory,
    const std::vector<rdb::ColumnFamilyDescriptor>& families, std::uint64_t first,
    std::uint64_t end) {
  NoReplay no_replay;
  options.wal_filter = &no_replay;
  options.listeners.clear();
  // Only the manifest is of interest.
  options.max_open_files = kFilesOpenAtOnce;
  std::vector<rdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rdb::DB> database;
  BASALT_TRY(rdb::from_rocksdb(
      rdb::DB::OpenForReadOnly(options, directory, families, &handles, &database)));
  std::vector<rdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  for (rdb::ColumnFamilyHandle* handle : handles) {
    BASALT_TRY(rdb::from_rocksdb(database->DestroyColumnFamilyHandle(handle)));
  }
  std::set<std::uint64_t> numbers;
  for (const rdb::LiveFileMetaData& file : files) {
    const std::uint64_t number = file.smallest_seqno;
    if (number == file.largest_seqno && number >= first && number < end) numbers.insert(number);
  }
  return numbers;
}

}  // namespace

// RocksDB reads a WAL up to the first record that does not check out. Here it is decided whether
// that is its end; it sees no more of it.
Status Database::verify_wals() {
  Result<std::optional<wal::WalDamage>> manifest = wal::check_manifest(options_.directory);
  if (!manifest.is_ok()) return manifest.take_status();
  if (const std::optional<wal::WalDamage>& torn = manifest.value()) {
    files_->cut(torn->path, torn->offset);
  }
  Result<std::vector<wal::WalDamage>> damaged = wal::check_wals(options_.directory);
  if (!damaged.is_ok()) return damaged.take_status();
  for (const wal::WalDamage& damage : damaged.value()) {
    const bool has_more = damage.records_behind + damage.records_in_newer_wals > 0;
    const std::string place =
        "the WAL '" + damage.path + "' from byte " + std::to_string(damage.offset) + " on";
    if (!damage.is_unwritten && has_more && !options_.accept_wal_damage) {
      return Status(ErrorCode::kCorruption,
                    "the WAL '" + damage.path + "' is damaged at byte " +
                        std::to_string(damage.offset) + ", and " +
                        std::to_string(damage.records_behind + damage.records_in_newer_wals) +
                        " sound records follow" + wal::damage_remedy());
    }
    // RocksDB would take a torn end for the end of all WALs, until one begins with the next change:
    // which the next recovery may wait for in vain, as long as the torn WAL is there.
    files_->cut(damage.path, damage.offset);
    if (damage.is_unwritten && damage.records_behind == 0) continue;
    log_message(LogLevel::kWarning,
                place +
                    (damage.is_unwritten ? " was not written before a crash of the machine"
                                         : " is damaged") +
                    "; it is not replayed");
  }
  return Status::ok();
}

// How many numbers before the WAL behind the gap were taken by files that were ingested; 0 if that
// does not explain it.
Result<std::uint64_t> Database::numbers_taken_in(
    const wal::WalGap& gap, const rdb::DBOptions& db_options,
    const std::vector<rdb::ColumnFamilyDescriptor>& families) {
  BASALT_ASSERT(gap.number > gap.missing);
  const std::uint64_t missing = gap.number - gap.missing;
  // An ingestion that had gone on would have been told of by a mark that was replayed.
  if (!gap.is_behind_a_mark) {
    Result<std::uint64_t> taken =
        wal::numbers_taken_before(options_.directory, wal::wal_number(gap.path).value_or(0));
    if (!taken.is_ok() || taken.value() >= missing) return taken;
  }
  // The process has ended before it could write the mark. Where each missing number is found in
  // files nothing is lost, whoever has put it there.
  Result<std::set<std::uint64_t>> found =
      numbers_of_files(db_options, options_.directory, families, gap.missing, gap.number);
  if (!found.is_ok()) {
    log_message(LogLevel::kWarning,
                "what data files have of the changes that a WAL lacks cannot be "
                "read: " +
                    found.status().message());
  }
  if (!found.is_ok() || found.value().size() != missing) return std::uint64_t{0};
  log_message(LogLevel::kInfo, "the WAL '" + gap.path + "' begins with change " +
                                   std::to_string(gap.number) + "; those from " +
                                   std::to_string(gap.missing) +
                                   " on are in files that were ingested");
  // A later start may meet the same gap, and a compaction have rewritten the files.
  const MutexLock no_ingestion(ingestion_mutex_);
  taken_numbers_ += missing;
  return missing;
}

// Decides what becomes of an opening that has met a gap between two WALs: an error, or another one
// that goes on behind it, or without what lies there.
Status Database::handle_wal_gap(const rdb::DBOptions& db_options,
                                const std::vector<rdb::ColumnFamilyDescriptor>& families,
                                wal::WalContinuity::TakenBefore& taken_before) {
  const wal::WalGap& gap = *continuity_->gap();
  // Each WAL is asked once.
  const std::uint64_t wal = wal::wal_number(gap.path).value_or(0);
  if (!taken_before.contains(wal)) {
    // What opens it now changes nothing.
    files_->refuse_no_more();
    Result<std::uint64_t> taken = numbers_taken_in(gap, db_options, families);
    if (!taken.is_ok()) return taken.take_status();
    taken_before[wal] = taken.value();
    if (taken.value() > 0) return Status::ok();
  }
  const std::string found = "the WAL '" + gap.path + "' begins with change " +
                            std::to_string(gap.number) + ", and those from " +
                            std::to_string(gap.missing) +
                            " on are missing: the WAL before it has "
                            "lost its end";
  if (gap.is_in_files) {
    return Status(ErrorCode::kCorruption,
                  found + ", and some tables' files hold what was changed later; restore a backup");
  }
  // No crash leaves that: a WAL is on disk before the next one gets its first record.
  if (!options_.accept_wal_damage) {
    return Status(ErrorCode::kCorruption, found + wal::damage_remedy());
  }
  files_->refuse_no_more();
  std::string folder;
  BASALT_TRY(files_->set_aside_wals_from(gap.path, folder));
  log_message(LogLevel::kWarning, found + "; it is not replayed, and kept in '" + folder + "'");
  return Status::ok();
}

}  // namespace basalt::kv
