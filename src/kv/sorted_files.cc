#include "kv/sorted_files.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/transaction_db.h>

#include <utility>

#include "kv/rocksdb_access.h"
#include "kv/status_conversion.h"

namespace basalt::kv {

struct SortedFiles::Writer {
  Writer(Database& database, FamilyId family)
      : options(database.rocksdb().GetBaseDB()->GetOptions(database.family_handle(family))),
        // Who has built an index reads it next: what the system has of the files may stay.
        files(rdb::EnvOptions(options), options, database.family_handle(family), false) {}

  const rdb::Options options;
  rdb::SstFileWriter files;
};

SortedFiles::SortedFiles(Database& database, FamilyId family, std::string path)
    : database_(database),
      path_(std::move(path)),
      writer_(std::make_unique<Writer>(database, family)) {}

SortedFiles::~SortedFiles() = default;

Status SortedFiles::begin_file() {
  const std::string path = path_ + std::to_string(paths_.size() + 1) + ".sst";
  BASALT_TRY(from_rocksdb(writer_->files.Open(path)));
  paths_.push_back(path);
  file_is_open_ = true;
  return Status::ok();
}

Status SortedFiles::end_file() {
  file_is_open_ = false;
  return from_rocksdb(writer_->files.Finish());
}

Status SortedFiles::put(std::string_view key, std::string_view value) {
  // Of each entry: others write beside this one, and all share the space that is left.
  BASALT_TRY(database_.health().check_writable());
  if (!file_is_open_) BASALT_TRY(begin_file());
  BASALT_TRY(from_rocksdb(writer_->files.Put(slice_of(key), slice_of(value))));
  if (writer_->files.FileSize() < writer_->options.target_file_size_base) return Status::ok();
  return end_file();
}

Status SortedFiles::finish() { return file_is_open_ ? end_file() : Status::ok(); }

}  // namespace basalt::kv
