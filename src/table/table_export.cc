#include "table/table_export.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "bulk/durable_file.h"
#include "bulk/sst_writer.h"
#include "table/entry_files.h"
#include "table/exported_files.h"

namespace basalt::table {
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
  BASALT_TRY(remove_exported(database, path));
  BASALT_TRY(made->write(table, interruption));
  return made;
}

TableExport::~TableExport() { remove_exported(database_, path_).ignore("the error log tells it"); }

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

}  // namespace basalt::table
