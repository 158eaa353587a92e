#include "table/journal.h"

#include <algorithm>

#include "base/bytes.h"

namespace basalt::table {
namespace {

constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);
constexpr std::size_t kHeadBytes = kIndexIdBytes + kNumberBytes;

// With what an entry begins.
void make_head(catalog::IndexId journal, std::uint64_t number, std::string& key) {
  key.clear();
  append_be32(key, journal);
  append_be64(key, number);
}

}  // namespace

// Told first, then asked: if it is still open, whoever closes it and looks who writes to it finds
// the transaction.
Status Journal::put(catalog::IndexId id, txn::RowChange& change, std::string_view primary_key,
                    std::string& buffer) {
  const bool has_joined = change.has_joined(id);
  const std::uint64_t number = change.join_journal(id);
  if (!has_joined && id_.load() != id) {
    change.leave_journal(id);
    return Status::ok();
  }
  make_head(id, number, buffer);
  buffer.append(primary_key.substr(kIndexIdBytes));
  return change.put(kFamily, buffer, {});
}

Status JournalReader::read(kv::Database& database, const kv::Snapshot& snapshot,
                           std::uint64_t first_open, const Visit& visit) {
  std::vector<Numbers> unread;
  const auto leave = [&](std::uint64_t first, std::uint64_t last) {
    // What is not visible and not open was undone.
    first = std::max(first, first_open);
    if (first <= last) unread.push_back({first, last});
  };
  kv::Iterator entry =
      database.new_iterator(Journal::kFamily, {&snapshot, false}, index_key_range(journal_));
  std::string head;
  for (const Numbers& range : unread_) {
    std::uint64_t next = range.first;  // the smallest of the range that may not be visible
    make_head(journal_, range.first, head);
    for (entry.seek(head); entry.is_valid(); entry.next()) {
      const std::string_view key = entry.key();
      if (key.size() < kHeadBytes) return Status(ErrorCode::kCorruption, "an entry of a journal");
      const std::uint64_t number = load_be64(key.data() + kIndexIdBytes);
      if (number > range.last) break;
      if (number > next) leave(next, number - 1);
      next = number + 1;
      BASALT_TRY(visit(key.substr(kHeadBytes)));
    }
    BASALT_TRY(entry.status());
    if (next <= range.last) leave(next, range.last);
  }
  unread_ = std::move(unread);
  return Status::ok();
}

}  // namespace basalt::table
