#include "table/table_import.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/failpoint.h"
#include "bulk/build_directory.h"
#include "bulk/durable_file.h"
#include "bulk/sst_writer.h"
#include "table/entry_files.h"
#include "txn/spilled_run.h"

namespace basalt::table {
namespace {

Status not_what_it_was(const std::string& path, const std::string& cause) {
  return Status(ErrorCode::kInvalidArgument, "the file '" + path + "' of the exported table " +
                                                 cause +
                                                 "; copy it anew, while "
                                                 "FLUSH TABLES ... FOR EXPORT holds the table");
}

// The entries of one index, on their way to the files of another one.
class EntryImport {
 public:
  // Keys have that many bytes, the index id included.
  struct KeyBytes {
    std::size_t least = kIndexIdBytes;
    std::size_t most = SIZE_MAX;
  };

  EntryImport(catalog::IndexId from, catalog::IndexId to, KeyBytes key_bytes,
              bulk::SstWriter& writer, Watch watch)
      : writer_(writer), watch_(watch), key_bytes_(key_bytes) {
    append_be32(from_, from);
    append_be32(to_, to);
  }

  Status add(std::string_view key, std::string_view value) {
    BASALT_TRY(watch_.check());
    if (!key.starts_with(from_) || key <= previous_ || key.size() < key_bytes_.least ||
        key.size() > key_bytes_.most) {
      return Status(ErrorCode::kCorruption, "keys of another index, or in another order");
    }
    checksum_ = checksum_with(checksum_, key, value);
    previous_ = key;
    to_.resize(kIndexIdBytes);
    to_.append(key.substr(kIndexIdBytes));
    ++count_;
    return writer_.put(to_, value);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t checksum() const { return checksum_; }

 private:
  bulk::SstWriter& writer_;
  Watch watch_;
  const KeyBytes key_bytes_;
  std::string from_;
  std::string to_;
  std::string previous_;
  std::uint64_t count_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace

Result<ExportedTable> read_exported(kv::Database& database, const std::string& path) {
  const std::string definition = exported_definition_path(path);
  Result<std::string> bytes = bulk::read_file(*database.build_place().files, definition);
  if (!bytes.is_ok()) return bytes.take_status();
  Result<ExportedTable> exported = parse_exported(bytes.value());
  if (!exported.is_ok()) {
    return Status(exported.status().code(), "'" + definition + "': " + exported.status().message());
  }
  for (const ExportedIndex& index : exported.value().indexes) {
    for (const ExportedFile& file : index.files) {
      const std::string data = exported_file_path(path, file.suffix);
      std::error_code error;
      const std::uint64_t size = std::filesystem::file_size(data, error);
      if (error) return not_what_it_was(data, "cannot be read: " + error.message());
      if (size != file.bytes) {
        return not_what_it_was(
            data, "has " + std::to_string(size) + " bytes and not " + std::to_string(file.bytes));
      }
    }
  }
  return exported;
}

Status import_entries(kv::Database& database, const ExportedTable& exported,
                      const std::string& path, const catalog::TableDefinition& table,
                      std::size_t row_key_bytes_max, const Interruption& interruption,
                      std::uint64_t& rows) {
  BASALT_ASSERT(exported.indexes.size() == table.indexes.size());
  Result<std::unique_ptr<bulk::BuildDirectory>> directory =
      bulk::BuildDirectory::make(database.build_place(), table.indexes.front().id);
  if (!directory.is_ok()) return directory.take_status();
  const std::atomic<bool> has_failed = false;  // one thread reads
  std::vector<kv::FamilyFiles> files;
  for (std::size_t i = 0; i < table.indexes.size(); ++i) {
    const catalog::IndexDefinition& index = table.indexes[i];
    const auto writer = database.new_sst_writer(
        index.family, directory.value()->path() + "/" + std::to_string(i) + "-");
    EntryImport::KeyBytes key_bytes;
    if (i == 0) key_bytes.most = kIndexIdBytes + row_key_bytes_max;
    if (i == 0 && table.has_hidden_key()) key_bytes.least = key_bytes.most;
    EntryImport entries(exported.definition.indexes[i].id, index.id, key_bytes, *writer,
                        Watch(interruption, has_failed));
    for (const ExportedFile& file : exported.indexes[i].files) {
      const std::string data = exported_file_path(path, file.suffix);
      Status status = txn::visit_sorted_file(
          database, index.family, data,
          [&](std::string_view key, std::string_view value) { return entries.add(key, value); });
      if (status.is(ErrorCode::kCorruption))
        return not_what_it_was(data, "is damaged: " + status.message());
      BASALT_TRY(std::move(status));
    }
    if (entries.count() != exported.indexes[i].entries ||
        entries.checksum() != exported.indexes[i].checksum) {
      return not_what_it_was(exported_definition_path(path),
                             "tells of other entries of index " + std::to_string(i) +
                                 " than there are in the other files, which are of another export");
    }
    BASALT_TRY(writer->finish());
    if (!writer->paths().empty()) kv::append_files(files, index.family, writer->paths());
  }
  BASALT_FAILPOINT("table.import.before_ingest");
  if (!files.empty()) BASALT_TRY(database.ingest(files, kv::Ingested::kSeenByAll));
  BASALT_FAILPOINT("table.import.after_ingest");
  rows = exported.indexes.front().entries;
  return Status::ok();
}

}  // namespace basalt::table
