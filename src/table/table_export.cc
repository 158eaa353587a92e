#include "table/table_export.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "bulk/durable_file.h"
#include "bulk/sst_writer.h"
#include "table/entry_files.h"

namespace basalt::table {
namespace {

void remove_or_tell(kv::Database& database, const std::string& path) {
  const Status removed = bulk::remove_file(*database.build_place().files, path);
  if (removed.is_ok()) return;
  log_message(
      LogLevel::kWarning,
      "the file '" + path + "' of an exported table cannot be removed: " + removed.message());
}

}  // namespace

Result<std::unique_ptr<TableExport>> TableExport::make(kv::Database& database, const Table& table,
                                                       ExportedTable described,
                                                       const std::string& path,
                                                       const Interruption& interruption) {
  std::unique_ptr<TableExport> made(new TableExport(database, path));
  ExportedTable& exported = made->exported_;
  exported = std::move(described);
  exported.definition = table.definition();
  exported.indexes.resize(table.index_count());
  if (table.has_hidden_key()) exported.next_row_id = table.state().hidden_row_id.next();
  remove_exported(database, path, table.index_count());
  BASALT_TRY(made->write(table, interruption));
  return made;
}

TableExport::~TableExport() { remove_exported(database_, path_, exported_.indexes.size()); }

Status TableExport::write(const Table& table, const Interruption& interruption) {
  const std::unique_ptr<kv::Snapshot> snapshot = database_.take_snapshot();
  for (std::size_t i = 0; i < table.index_count(); ++i) {
    BASALT_TRY(write_index(table, i, *snapshot, interruption));
  }
  BASALT_FAILPOINT("table.export.before_definition");
  return bulk::write_durable_file(*database_.build_place().files, exported_definition_path(path_),
                                  pack_exported(exported_));
}

Status TableExport::write_index(const Table& table, std::size_t number,
                                const kv::Snapshot& snapshot, const Interruption& interruption) {
  ExportedIndex& index = exported_.indexes[number];
  const std::string prefix = exported_file_path(path_, exported_file_prefix(number));
  const auto writer =
      database_.new_sst_writer(table.family(number), prefix, kv::WrittenFiles::kExported);
  const std::atomic<bool> has_failed = false;  // one thread reads
  Watch watch(interruption, has_failed);
  const auto put_all = [&]() -> Status {
    kv::Iterator iterator =
        database_.new_iterator(table.family(number), {&snapshot, false}, table.whole_range(number));
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      BASALT_TRY(watch.check());
      BASALT_TRY(writer->put(iterator.key(), iterator.value()));
      ++index.entries;
      index.checksum = checksum_with(index.checksum, iterator.key(), iterator.value());
    }
    BASALT_TRY(iterator.status());
    return writer->finish();
  };
  BASALT_TRY(put_all());
  for (const std::string& path : writer->paths()) {
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(path, error);
    if (error) return Status(ErrorCode::kIoError, "'" + path + "': " + error.message());
    index.files.push_back({path.substr(path_.size() + 1), bytes});
    BASALT_DEBUG_ASSERT(index.files.back().suffix ==
                        exported_file_suffix(number, index.files.size()));
  }
  return Status::ok();
}

void remove_exported(kv::Database& database, const std::string& path, std::size_t index_count) {
  const std::string definition = exported_definition_path(path);
  // That of another table, perhaps.
  const Result<std::string> bytes = bulk::read_file(*database.build_place().files, definition);
  if (bytes.is_ok() && is_exported(bytes.value())) {
    const Result<ExportedTable> exported = parse_exported(bytes.value());
    if (exported.is_ok()) index_count = std::max(index_count, exported.value().indexes.size());
    remove_or_tell(database, definition);
  }
  for (std::size_t index = 0; index < index_count; ++index) {
    for (std::size_t number = 1;; ++number) {
      const std::string file = exported_file_path(path, exported_file_suffix(index, number));
      std::error_code error;
      if (!std::filesystem::exists(file, error)) break;
      remove_or_tell(database, file);
    }
  }
}

}  // namespace basalt::table
