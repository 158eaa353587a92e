#include "bulk/sst_writer.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <utility>

#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::bulk {

struct SstWriter::Writer {
  Writer(const rdb::Options& family_options, rdb::ColumnFamilyHandle* family)
      : options(family_options),
        // An index that was built is read next: what the page cache has of its files may stay.
        files(rdb::EnvOptions(options), options, family, false) {}

  const rdb::Options options;
  rdb::SstFileWriter files;
};

SstWriter::SstWriter(const rdb::Options& options, rdb::ColumnFamilyHandle* family,
                     wal::Health& health, std::string path, std::uint64_t file_bytes_max)
    : health_(health),
      path_(std::move(path)),
      file_bytes_max_(file_bytes_max),
      writer_(std::make_unique<Writer>(options, family)) {}

SstWriter::~SstWriter() = default;

Status SstWriter::begin_file() {
  const std::string path = path_ + std::to_string(paths_.size() + 1) + ".sst";
  BASALT_TRY(rdb::from_rocksdb(writer_->files.Open(path)));
  paths_.push_back(path);
  file_is_open_ = true;
  return Status::ok();
}

Status SstWriter::end_file() {
  file_is_open_ = false;
  return rdb::from_rocksdb(writer_->files.Finish());
}

Status SstWriter::begin_entry() {
  // Each entry asks, since others write at the same time and all share the space that is left.
  BASALT_TRY(health_.check_writable());
  return file_is_open_ ? Status::ok() : begin_file();
}

Status SstWriter::end_full_file() {
  if (writer_->files.FileSize() < file_bytes_max_) return Status::ok();
  return end_file();
}

Status SstWriter::put(std::string_view key, std::string_view value) {
  BASALT_TRY(begin_entry());
  BASALT_TRY(rdb::from_rocksdb(writer_->files.Put(rdb::slice_of(key), rdb::slice_of(value))));
  return end_full_file();
}

Status SstWriter::remove(std::string_view key) {
  BASALT_TRY(begin_entry());
  BASALT_TRY(rdb::from_rocksdb(writer_->files.Delete(rdb::slice_of(key))));
  return end_full_file();
}

Status SstWriter::remove_single(std::string_view key) {
  BASALT_TRY(begin_entry());
  BASALT_TRY(rdb::from_rocksdb(writer_->files.SingleDelete(rdb::slice_of(key))));
  return end_full_file();
}

Status SstWriter::finish() { return file_is_open_ ? end_file() : Status::ok(); }

}  // namespace basalt::bulk
