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
                     wal::Health& health, std::string path)
    : health_(health), path_(std::move(path)), writer_(std::make_unique<Writer>(options, family)) {}

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

Status SstWriter::put(std::string_view key, std::string_view value) {
  // Each entry asks, since others write at the same time and all share the space that is left.
  BASALT_TRY(health_.check_writable());
  if (!file_is_open_) BASALT_TRY(begin_file());
  BASALT_TRY(rdb::from_rocksdb(writer_->files.Put(rdb::slice_of(key), rdb::slice_of(value))));
  if (writer_->files.FileSize() < writer_->options.target_file_size_base) return Status::ok();
  return end_file();
}

Status SstWriter::finish() { return file_is_open_ ? end_file() : Status::ok(); }

}  // namespace basalt::bulk
