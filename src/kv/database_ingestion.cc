#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "bulk/build_directory.h"
#include "bulk/external_sort.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "rdb/status_conversion.h"
#include "wal/wal_marks.h"

// Files that are made beside the database, and become a part of it.
namespace basalt::kv {
namespace {

// Of a family; a flush takes some ten milliseconds then.
constexpr std::uint64_t kSmallMemtableBytes = std::uint64_t{1} << 20;

}  // namespace

PreparedIngestion::PreparedIngestion() = default;
PreparedIngestion::PreparedIngestion(PreparedIngestion&&) noexcept = default;
PreparedIngestion& PreparedIngestion::operator=(PreparedIngestion&&) noexcept = default;
PreparedIngestion::~PreparedIngestion() = default;

bulk::BuildPlace Database::build_place() const {
  return {env_->GetFileSystem(), options_.directory};
}

std::unique_ptr<bulk::ExternalSort> Database::new_external_sort(std::string path,
                                                                std::size_t memory_bytes) {
  return std::make_unique<bulk::ExternalSort>(*env_->GetFileSystem(), *health_, std::move(path),
                                              memory_bytes);
}

std::unique_ptr<bulk::SstWriter> Database::new_sst_writer(FamilyId family, std::string path,
                                                          WrittenFiles kind) {
  rdb::ColumnFamilyHandle* const handle = family_handle(family);
  rdb::Options options = db_->GetBaseDB()->GetOptions(handle);
  std::uint64_t file_bytes_max = options.target_file_size_base;
  // rdb::SstFileReader reads the dictionary anew with each block that it decompresses.
  if (kind != WrittenFiles::kIngested) {
    options.compression_opts.max_dict_bytes = 0;
    options.bottommost_compression_opts.max_dict_bytes = 0;
  }
  if (kind == WrittenFiles::kOneFile) {
    file_bytes_max = std::numeric_limits<std::uint64_t>::max();
    // As files of level 0 are, which most of these become: RocksDB would take what the lowest level
    // has, or the last of those that are given.
    options.bottommost_compression = rdb::kDisableCompressionOption;
    if (!options.compression_per_level.empty()) {
      options.compression = options.compression_per_level.front();
      options.compression_per_level.clear();
    }
  }
  return std::make_unique<bulk::SstWriter>(options, handle, *health_, std::move(path),
                                           file_bytes_max);
}

Status Database::ingest(FamilyId family, const std::vector<std::string>& paths) {
  const FamilyFiles files{family, paths};
  return ingest({&files, 1}, Ingested::kSeenByAll);
}

void append_files(std::vector<FamilyFiles>& files, FamilyId family,
                  std::span<const std::string> paths) {
  const auto same = std::ranges::find(files, family, &FamilyFiles::family);
  FamilyFiles& all = same == files.end() ? files.emplace_back() : *same;
  all.family = family;
  all.paths.insert(all.paths.end(), paths.begin(), paths.end());
}

Status Database::ingest(std::span<const FamilyFiles> files, Ingested seen) {
  Result<PreparedIngestion> ready = prepare_ingestion(files, seen);
  if (!ready.is_ok()) return ready.take_status();
  return ingest(std::move(ready.value()));
}

Result<PreparedIngestion> Database::prepare_ingestion(std::span<const FamilyFiles> files,
                                                      Ingested seen) {
  rdb::IngestExternalFileOptions options;
  options.move_files = true;
  // A sequence number of the files' own, which snapshots of before do not see.
  options.snapshot_consistency = seen == Ingested::kNewToSnapshots;
  // What is read of the files to take them in says nothing of what queries will want.
  options.fill_cache = false;
  options.prefetch_lmax_index_and_filter_blocks = false;
  PreparedIngestion ready;
  ready.seen_ = seen;
  std::vector<rdb::IngestExternalFileArg> families;
  for (const FamilyFiles& of_family : files) {
    if (of_family.paths.empty()) continue;
    ready.file_count_ += of_family.paths.size();
    rdb::IngestExternalFileArg& argument = families.emplace_back();
    argument.column_family = family_handle(of_family.family);
    argument.external_files = of_family.paths;
    argument.options = options;
  }
  if (families.empty()) return ready;
  // What is committed is finished before a database that was read-only lets others write.
  if (seen == Ingested::kSeenByAll) BASALT_TRY(health_->check_not_read_only());
  BASALT_TRY(rdb::from_rocksdb(db_->GetBaseDB()->PrepareFileIngestion(families, &ready.handle_)));
  return ready;
}

Status Database::ingest(PreparedIngestion ready) {
  if (ready.is_empty()) return Status::ok();
  BASALT_DEBUG_ASSERT(ready.file_count_ > 0);
  if (ready.seen_ == Ingested::kSeenByAll) BASALT_TRY(health_->check_not_read_only());
  // As long as there is one, files get a sequence number. A snapshot that is taken while RocksDB
  // writes the manifest would see the files only later if there was none before.
  std::unique_ptr<Snapshot> snapshot;
  if (ready.seen_ == Ingested::kNewToSnapshots) snapshot = take_snapshot();
  // One at a time, as the marks are. Files that come into the way of a compaction or of a snapshot
  // take sequence numbers that no record has, one each at most.
  const MutexLock guard(ingestion_mutex_);
  if (taken_numbers_ != 0) BASALT_TRY(tell_of_taken_numbers());
  BASALT_TRY(write_mark({wal::WalMark::Kind::kIngesting, ready.file_count_}));
  // What was committed before comes to disk no later than the files. Not by the write of the mark,
  // for which others would wait.
  BASALT_TRY(sync_wal_once());
  BASALT_HOLDPOINT("kv.ingest.begun");
  // Also if it fails.
  taken_numbers_ += ready.file_count_;
  Status status = write_wal(
      [&] { return db_->GetBaseDB()->CommitFileIngestionHandle(std::move(ready.handle_)); });
  BASALT_HOLDPOINT("kv.ingest.done");
  BASALT_FAILPOINT("kv.ingest.before_mark");
  // Where it cannot be told now, resume() does.
  Status told = tell_of_taken_numbers();
  return status.is_ok() ? std::move(told) : std::move(status);
}

Status Database::tell_of_taken_numbers() {
  using Kind = wal::WalMark::Kind;
  BASALT_TRY(write_mark({taken_numbers_ == 0 ? Kind::kNone : Kind::kIngested, taken_numbers_}));
  taken_numbers_ = 0;
  return Status::ok();
}

Status Database::make_way(std::span<const FamilyId> families, const KeyRange& range) {
  BASALT_DEBUG_ASSERT(range.lower <= range.upper && !range.upper.empty());
  // No flush begins then; ingest() waits for one if it needs it.
  if (!check_not_paused().is_ok()) return Status::ok();
  BASALT_TRY(health_->check_not_read_only());
  std::vector<rdb::ColumnFamilyHandle*> in_the_way;
  for (const FamilyId family : families) {
    std::uint64_t bytes = 0;
    db_->GetIntProperty(family_handle(family), rdb::DB::Properties::kCurSizeAllMemTables, &bytes);
    if (bytes <= kSmallMemtableBytes || estimate_memtable_entries(family, range) == 0) continue;
    in_the_way.push_back(family_handle(family));
  }
  if (in_the_way.empty()) return Status::ok();
  rdb::FlushOptions options;
  // ingest() would not wait for compactions either.
  options.allow_write_stall = true;
  Status status = rdb::from_rocksdb(db_->Flush(options, in_the_way));
  if (!status.is_ok()) await_cause();
  return status;
}

}  // namespace basalt::kv
