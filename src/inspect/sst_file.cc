#include "inspect/sst_file.h"

#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/types.h>

#include <string_view>

#include "base/bytes.h"
#include "inspect/stored_database.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::inspect {
namespace {

std::string_view name_of(rdb::EntryType type) {
  switch (type) {
    case rdb::kEntryPut: return "put";
    case rdb::kEntryDelete: return "delete";
    case rdb::kEntrySingleDelete: return "single-delete";
    case rdb::kEntryMerge:
    case rdb::kEntryRangeDeletion:
    case rdb::kEntryBlobIndex:
    case rdb::kEntryDeleteWithTimestamp:
    case rdb::kEntryWideColumnEntity:
    case rdb::kEntryTimedPut:
    case rdb::kEntryOther: return "other";
  }
  return "other";
}

}  // namespace

SstFile::SstFile() : reader_(std::make_unique<rdb::SstFileReader>(reading_options())) {}
SstFile::~SstFile() = default;

Result<std::unique_ptr<SstFile>> SstFile::open(const std::string& path) {
  std::unique_ptr<SstFile> file(new SstFile);
  BASALT_TRY(rdb::from_rocksdb(file->reader_->Open(path)));
  return file;
}

Result<std::map<catalog::IndexId, SstFile::IndexCount>> SstFile::count_entries() const {
  std::map<catalog::IndexId, IndexCount> counts;
  const std::unique_ptr<rdb::Iterator> raw = reader_->NewTableIterator();
  for (raw->SeekToFirst(); raw->Valid(); raw->Next()) {
    rdb::ParsedEntryInfo entry;
    BASALT_TRY(rdb::from_rocksdb(reader_->ParseTableIteratorKey(raw->key(), &entry)));
    if (entry.user_key.size() < kIndexIdBytes) continue;
    IndexCount& count = counts[load_be32(entry.user_key.data())];
    ++count.entries;
    count.removals += entry.type != rdb::kEntryPut;
  }
  BASALT_TRY(rdb::from_rocksdb(raw->status()));
  return counts;
}

Status SstFile::print_entries(const IndexNames& names, bool with_values, std::uint64_t entries_max,
                              std::FILE* out) const {
  const std::unique_ptr<rdb::Iterator> raw = reader_->NewTableIterator();
  for (raw->SeekToFirst(); raw->Valid() && entries_max > 0; raw->Next()) {
    rdb::ParsedEntryInfo entry;
    BASALT_TRY(rdb::from_rocksdb(reader_->ParseTableIteratorKey(raw->key(), &entry)));
    const std::string key = names.describe(rdb::view_of(entry.user_key));
    const std::string value =
        with_values ? " => " + hexadecimal(rdb::view_of(raw->value())) : std::string();
    std::fprintf(out, "%s seq:%llu %s%s\n", key.c_str(),
                 static_cast<unsigned long long>(entry.sequence), name_of(entry.type).data(),
                 value.c_str());
    --entries_max;
  }
  return rdb::from_rocksdb(raw->status());
}

}  // namespace basalt::inspect
