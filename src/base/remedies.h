#pragma once
#include <string_view>

namespace basalt {

// What an administrator can do about an error, in the words of the program that the engine is part
// of: layers below the server know that a setting helps, and not what it is called. Each is a part
// of a sentence and begins with a verb.
//
// Ownership   The texts live as long as the process.
struct Remedies {
  // About a damaged WAL, at the next start only.
  std::string_view accept_wal_damage = "start once with damage of the WAL accepted";
  // When the cause of a failed write is gone.
  std::string_view resume = "let the engine write again";
  std::string_view allow_page_cache = "do not insist on direct I/O";
  std::string_view choose_directory = "choose another directory for the data";
  // About a directory that another engine's tables are in.
  std::string_view migrate_myrocks =
      "migrate the tables with the engine that wrote them, or choose another directory for the "
      "data";
  // About a device whose free space is as small as what is kept in reserve.
  std::string_view lower_reserve = "lower the reserve";
  // About a transaction that takes too much.
  std::string_view raise_transaction_memory = "raise the limit of a transaction's memory";
  // About too many column families.
  std::string_view remove_family = "remove one without tables";
};

// General words until set_remedies() has been called.
const Remedies& remedies();
// To be called before other threads run.
void set_remedies(const Remedies& remedies);

}  // namespace basalt
