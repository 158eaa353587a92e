#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/bytes.h"
#include "catalog/definitions.h"

namespace basalt::table {

// What a scan may see of the changes of its own transaction: all that were made before its first
// seek, and of later ones everything but new keys. A row that the scan's own statement moves ahead
// of it, or inserts there, is not met; one that changes in its place is met, as it was or as it is.
//
// The scan lasts from its first seek to its end, however often it turns or seeks again. Once it has
// reached the end of its range nothing is ahead of it, and new keys are no longer noted until it
// moves on beyond that end.
//
// Threads     Belongs to one scan.
class StatementBoundary {
 public:
  // Forgets all keys: the scan is over.
  void clear() {
    // Of an empty set, too, it would go through all buckets.
    if (!new_keys_.empty()) new_keys_.clear();
  }
  void set_at_end(bool is_at_end) { is_at_end_ = is_at_end; }
  // The transaction is about to put `key`, which is not there yet. `index` is the scan's.
  void note_new_key(std::string_view key, catalog::IndexId index) {
    if (!is_at_end_ && load_be32(key.data()) == index) new_keys_.emplace(key);
  }
  // Whether the scan passes over the entry.
  bool hides(std::string_view key) const { return !new_keys_.empty() && new_keys_.contains(key); }
  bool hides_nothing() const { return new_keys_.empty(); }

 private:
  struct KeyHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::unordered_set<std::string, KeyHash, std::equal_to<>> new_keys_;
  bool is_at_end_ = false;
};

}  // namespace basalt::table
