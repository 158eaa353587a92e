#pragma once
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace basalt::txn {

// A scan that is open while its transaction writes.
class OpenScan {
 public:
  virtual ~OpenScan() = default;
  // Whether a transaction tells the scan about its writes: from OpenScans::add() to remove() or the
  // transaction's end.
  bool is_listed() const { return is_listed_; }
  // The transaction is about to put a key that is not there.
  virtual void note_new_key(std::string_view key) = 0;
  // Own changes are about to go: no iterator over them may be used any more.
  virtual void leave_own_changes() = 0;

 private:
  friend class OpenScans;
  bool is_listed_ = false;
};

// Those of one transaction. Adding and removing do nothing if it is so already.
class OpenScans {
 public:
  bool is_empty() const { return scans_.empty(); }
  void add(OpenScan& scan) {
    if (scan.is_listed_) return;
    scan.is_listed_ = true;
    scans_.push_back(&scan);
  }
  void remove(OpenScan& scan) {
    if (!scan.is_listed_) return;
    scan.is_listed_ = false;
    const std::size_t erased = std::erase(scans_, &scan);
    BASALT_DEBUG_ASSERT(erased == 1);
  }
  // Ends the list: to be called by the session's thread before another thread may end the
  // transaction, while cursors of the session still exist.
  void remove_all() {
    while (!scans_.empty()) remove(*scans_.back());
  }
  void note_new_key(std::string_view key) const {
    for (OpenScan* const scan : scans_) scan->note_new_key(key);
  }
  void leave_own_changes() const {
    for (OpenScan* const scan : scans_) scan->leave_own_changes();
  }

 private:
  std::vector<OpenScan*> scans_;
};

}  // namespace basalt::txn
