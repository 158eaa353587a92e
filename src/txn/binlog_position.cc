#include "txn/binlog_position.h"

#include "base/bytes.h"
#include "base/log.h"

namespace basalt::txn {
namespace {

// The type of the records among those of the system family.
constexpr char kRecordType = '\x07';
constexpr std::size_t kKeyBytes = 5;

}  // namespace

std::string binlog_position_key(std::uint32_t slot) {
  std::string key(1, kRecordType);
  append_be32(key, slot);
  return key;
}

std::string pack_binlog_position(std::uint64_t number, const BinlogPosition& position) {
  std::string value;
  append_varint(value, number);
  append_varint(value, position.offset);
  append_length_prefixed(value, position.file);
  return value;
}

bool parse_binlog_position(std::string_view bytes, std::uint64_t& number,
                           BinlogPosition& position) {
  std::string_view file;
  if (!consume_varint(bytes, number) || !consume_varint(bytes, position.offset) ||
      !consume_length_prefixed(bytes, file) || !bytes.empty()) {
    return false;
  }
  position.file = file;
  return true;
}

Status BinlogPositions::load(kv::Database& database) {
  const MutexLock guard(mutex_);
  const KeyRange range{std::string(1, kRecordType), std::string(1, kRecordType + 1)};
  kv::Iterator iterator = database.new_iterator(kv::kSystemFamily, {}, range);
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    if (iterator.key().size() != kKeyBytes) continue;
    const std::uint32_t slot = load_be32(iterator.key().data() + 1);
    free_slots_.push_back(slot);
    slot_count_ = slot + 1;
    std::uint64_t number = 0;
    BinlogPosition position;
    if (!parse_binlog_position(iterator.value(), number, position)) {
      log_message(LogLevel::kWarning,
                  "a stored binary log position does not decode and is left out of account");
      continue;
    }
    if (number < newest_number_) continue;
    newest_number_ = number;
    newest_ = std::move(position);
  }
  base_ = newest_number_;
  return iterator.status();
}

std::optional<BinlogPositions::Record> BinlogPositions::begin_commit(
    std::uint64_t ticket, const BinlogPosition& position) {
  Record record;
  std::uint64_t number = 0;
  {
    const MutexLock guard(mutex_);
    // What is in a free slot is smaller than this number, too.
    number = base_ + ticket;
    if (number < newest_number_) return std::nullopt;
    if (free_slots_.empty()) {
      record.slot = slot_count_++;
    } else {
      record.slot = free_slots_.back();
      free_slots_.pop_back();
    }
  }
  record.key = binlog_position_key(record.slot);
  record.value = pack_binlog_position(number, position);
  return record;
}

void BinlogPositions::end_commit(const Record& record, std::uint64_t ticket,
                                 const BinlogPosition& position, bool is_written) {
  if (!is_written) return;
  const MutexLock guard(mutex_);
  free_slots_.push_back(record.slot);
  if (base_ + ticket < newest_number_) return;
  newest_number_ = base_ + ticket;
  newest_ = position;
}

std::optional<BinlogPosition> BinlogPositions::newest() const {
  const MutexLock guard(mutex_);
  if (newest_number_ == 0) return std::nullopt;
  return newest_;
}

}  // namespace basalt::txn
