#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "table/test_support.h"

// Goal: after any history of statements, savepoints, commits, rollbacks, flushes and restarts every
// index holds exactly the rows that the model holds, and the table tells their number; and a scan
// that is open meanwhile meets each row once, whatever its own transaction changes or takes back.
// Method: random operations on few values, so that unique values collide all the time, beside a map
// of rows. BASALT_TEST_SEED repeats a run; a failure shows what the transaction did.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using test::SortKey;

constexpr int kRounds = 2400;

using Rows = std::map<std::string, Row>;  // by stored primary key

// The key of a row's entry, comparable as the index is ordered: the row's stored key tells apart
// what else may be equal.
SortKey entry_key(Keys keys, std::size_t index, const std::string& primary_key, const Row& row) {
  if (index == test::kPrimary) return {primary_key};
  SortKey key = test::sort_key(keys, index, row);
  key.resize(index == test::kByAmount ? 2 : 1);
  const bool is_unique = index == test::kByCode || (index == test::kByEmail && row.email);
  if (!is_unique) key.push_back(primary_key);
  return key;
}

// A cursor, and what it has to meet next. It does not meet what was put since it began; that is
// forgotten when it is parked.
class ModelScan {
 public:
  struct Kind {
    std::size_t index = 0;
    bool is_forward = true;
    bool locks = false;
    bool locks_gaps = false;
    bool reads_entries = false;  // no more columns than the index has
  };
  ModelScan(test::Store& store, txn::Transaction& transaction, const Kind& kind)
      : keys_(store.keys()), kind_(kind), wanted_(test::kColumns, true), cursor_(store.table()) {
    ReadSettings settings;
    if (kind.locks) {
      settings = LockingRead{.wait = {.may_wait = false}, .locks_gaps = kind.locks_gaps};
    }
    if (kind.reads_entries) {
      wanted_.clear();
      for (const auto& part : store.table().index(kind.index).parts) {
        if (part.prefix_length == 0) wanted_.set(part.column);
      }
    }
    cursor_.open(transaction, kind.index, settings, wanted_, false);
  }

  const Kind& kind() const { return kind_; }
  std::string name() const {
    return "scan of index " + std::to_string(kind_.index) + (kind_.is_forward ? "" : " backward") +
           (kind_.locks_gaps ? " with gap locks"
            : kind_.locks    ? " with locks"
                             : "") +
           (kind_.reads_entries ? ", entries only," : "");
  }
  // Whether what its transaction puts matters to it: from its first move to park().
  bool is_under_way() const { return is_under_way_; }
  SortKey key_of(const Rows::value_type& row) const {
    return entry_key(keys_, kind_.index, row.first, row.second);
  }
  bool hides(const Rows::value_type& row) const { return hidden_.contains(key_of(row)); }
  bool is_ahead(const Rows::value_type& row) const {
    const SortKey key = key_of(row);
    if (hidden_.contains(key)) return false;
    if (end_) return kind_.is_forward != (*end_ == End::kUpper);
    return !at_ || (kind_.is_forward ? key > *at_ : key < *at_);
  }
  bool is_on(const Rows::value_type& row) const { return at_ && !end_ && key_of(row) == *at_; }

  // `rows` are those of before. Nothing is ahead of a scan that has come to its end.
  void note_put(const Rows& rows, const Rows::value_type* before, const Rows::value_type& row) {
    if (end_) return;
    if (is_under_way_ && next_of(rows) == nullptr) may_be_at_end_ = true;
    SortKey key = key_of(row);
    const bool stays = before != nullptr && key_of(*before) == key;
    if (is_under_way_ && !stays) hidden_.insert(std::move(key));
  }
  // Whether it may have come to its end unnoticed, since it reads ahead, and was not told of keys
  // that were put: then it can only be asked to move on.
  bool may_only_move_on() const { return may_be_at_end_ && !kind_.locks && kind_.index != 0; }
  // Moves on, in the same direction or with `turns` in the other. `found` false: it is over.
  void move(const Rows& rows, bool turns, bool& found) {
    if (turns) kind_.is_forward = !kind_.is_forward;
    const Rows::value_type* const expected = next_of(rows);
    is_under_way_ = true;
    if (at_ || end_) {
      ASSERT_TRUE(succeeds(kind_.is_forward ? cursor_.next(record_.data(), found)
                                            : cursor_.previous(record_.data(), found)));
    } else {
      ASSERT_TRUE(succeeds(kind_.is_forward ? cursor_.seek_first(record_.data(), found)
                                            : cursor_.seek_last(record_.data(), found)));
    }
    expect_at(expected, found);
  }
  // The first from `prefix` on, the key of as many parts of the index as `parts` has.
  void seek(const Rows& rows, const std::string& prefix, const SortKey& parts, bool& found) {
    const Rows::value_type* expected = nullptr;
    for (const auto& row : rows) {
      SortKey key = key_of(row);
      if (hidden_.contains(key) || (expected != nullptr && !is_before(key, key_of(*expected)))) {
        continue;
      }
      key.resize(parts.size());
      if (key == parts || is_before(parts, key)) expected = &row;
    }
    is_under_way_ = true;
    const SeekMode mode = kind_.is_forward ? SeekMode::kFirstAtOrAfter : SeekMode::kLastAtOrBefore;
    ASSERT_TRUE(succeeds(cursor_.seek(mode, prefix, record_.data(), found)));
    expect_at(expected, found);
  }
  void find_unique(const Rows::value_type& row, const std::string& key, bool& found) {
    ASSERT_TRUE(succeeds(cursor_.find_unique(key, record_.data(), found)));
    expect_at(&row, found);
  }
  // How many savepoints of the statement there were when it began, here or anew.
  std::optional<std::size_t> savepoints() const { return savepoints_; }
  void set_savepoints(std::size_t count) { savepoints_ = count; }
  void park() {
    cursor_.park();
    is_under_way_ = may_be_at_end_ = false;
    hidden_.clear();
    savepoints_.reset();
  }
  void go_on_in(txn::Transaction& transaction) { cursor_.go_on_in(transaction); }

 private:
  enum class End : std::uint8_t { kLower, kUpper };

  bool is_before(const SortKey& left, const SortKey& right) const {
    return kind_.is_forward ? left < right : right < left;
  }
  const Rows::value_type* next_of(const Rows& rows) const {
    const Rows::value_type* next = nullptr;
    for (const auto& row : rows) {
      if (is_ahead(row) && (next == nullptr || is_before(key_of(row), key_of(*next)))) next = &row;
    }
    return next;
  }
  void expect_at(const Rows::value_type* expected, bool found) {
    if (!found || expected == nullptr) {
      ASSERT_EQ(found, expected != nullptr)
          << "met: " << testing::PrintToString(record_.row()) << ", expected: "
          << (expected != nullptr ? testing::PrintToString(expected->second) : "the end");
      end_ = kind_.is_forward ? End::kUpper : End::kLower;
      return;
    }
    end_.reset();
    at_ = key_of(*expected);
    ASSERT_EQ(wanted_of(record_.row()), wanted_of(expected->second));
    ASSERT_EQ(cursor_.primary_key(), expected->first);
  }
  Row wanted_of(const Row& row) const {
    Row wanted;
    if (wanted_.test(test::kId)) wanted.id = row.id;
    if (wanted_.test(test::kEmail)) wanted.email = row.email;
    if (wanted_.test(test::kCity)) wanted.city = row.city;
    if (wanted_.test(test::kAmount)) wanted.amount = row.amount;
    if (wanted_.test(test::kCode)) wanted.code = row.code;
    if (wanted_.test(test::kNote)) wanted.note = row.note;
    return wanted;
  }

  const Keys keys_;
  Kind kind_;
  codec::ColumnSet wanted_;
  Cursor cursor_;
  test::Record record_;
  bool is_under_way_ = false;
  bool may_be_at_end_ = false;
  std::optional<std::size_t> savepoints_;
  std::optional<SortKey> at_;  // the entry that it is on, or was before it came to
  std::optional<End> end_;     // the end of the index
  std::set<SortKey> hidden_;
};

// Other letters that compare the same: of what indexes hold only the entries' values change.
void swap_case(std::string& text) {
  for (char& c : text) {
    c = static_cast<char>(std::isupper(c) != 0 ? std::tolower(c) : std::toupper(c));
  }
}

// The rows of a table, which tells how many more it has than when its engine was started.
class RowCount {
 public:
  void start_at(std::size_t rows) { rows_at_start_ = static_cast<std::int64_t>(rows); }
  void expect(const Table& table, std::size_t rows) const {
    const std::int64_t counted = table.state().changes->rows.all();
    ASSERT_EQ(rows_at_start_ + counted, static_cast<std::int64_t>(rows));
  }
  void expect_committed(const Table& table, std::size_t rows) const {
    expect(table, rows);
    const ChangedRows& counted = table.state().changes->rows;
    ASSERT_EQ(counted.committed(), counted.all());
  }

 private:
  std::int64_t rows_at_start_ = 0;
};

class RowModelTest : public testing::TestWithParam<Keys> {
 protected:
  std::size_t pick(std::size_t choices) { return random_() % choices; }
  bool one_in(std::size_t choices) { return pick(choices) == 0; }

  Row random_row() {
    static const char* const kEmails[] = {"ann", "ANN", "Ann  ", "bob", "boB", "", " ", "carl"};
    static const char* const kCities[] = {"rome", "ROME", "rome ", "oslo", "", "bonn"};
    Row row;
    row.id = static_cast<std::int32_t>(pick(12)) - 3;
    if (!one_in(4)) row.email = kEmails[pick(8)];
    row.city = kCities[pick(6)];
    if (!one_in(4)) row.amount = static_cast<std::int32_t>(pick(5)) - 2;
    row.code = static_cast<std::uint32_t>(pick(12));
    if (!one_in(3)) row.note = std::string(pick(one_in(5) ? 3000 : 5), 'n');
    return row;
  }
  std::string primary_of(const Row& row) const {
    test::SortKey parts = test::sort_key(GetParam(), test::kPrimary, row);
    return parts[0] + (parts.size() > 1 ? parts[1] : "");
  }
  // The index in which `row` would be a duplicate of a row other than `self`; kIndexes: none.
  std::size_t duplicate_of(const Row& row, const std::string& self) const {
    for (const std::size_t index : {test::kPrimary, test::kByEmail, test::kByCode}) {
      for (const auto& [key, other] : rows_) {
        if (key == self) continue;
        if (index == test::kPrimary && GetParam() != Keys::kHidden &&
            primary_of(row) == primary_of(other)) {
          return index;
        }
        if (index == test::kByEmail && row.email && other.email &&
            test::sortable(*row.email) == test::sortable(*other.email)) {
          return index;
        }
        if (index == test::kByCode && row.code == other.code) return index;
      }
    }
    return test::kIndexes;
  }
  Rows::iterator any_row() {
    return std::next(rows_.begin(), static_cast<std::ptrdiff_t>(pick(rows_.size())));
  }
  void expect_outcome(const Status& status, std::size_t duplicate) {
    if (duplicate == test::kIndexes) {
      ASSERT_TRUE(succeeds(status));
    } else {
      ASSERT_TRUE(fails_with(ErrorCode::kDuplicateKey, status));
      ASSERT_EQ(session_->writer().duplicate_index(), duplicate);
      ASSERT_TRUE(rows_.contains(session_->writer().duplicate_primary_key()));
    }
  }

  void note(const std::string& what) { story_ += "  " + what + "\n"; }
  static std::string text_of(Row row) {
    if (row.note && row.note->size() > 9) row.note = std::to_string(row.note->size()) + " bytes";
    return testing::PrintToString(row);
  }
  // What a failure shows.
  std::string story() const { return "this transaction:\n" + story_; }

  // ---- rows

  // Whether the row must stay as it is for a scan that only reads: no statement changes what it
  // reads so and has not come to yet, nor the row of a unique value that it is on.
  bool is_fixed(const Rows::value_type& row) const {
    return std::any_of(scans_.begin(), scans_.end(), [&row](const auto& scan) {
      if (scan->kind().locks || !scan->is_under_way()) return false;
      const std::size_t index = scan->kind().index;
      const bool is_unique = index == test::kByEmail || index == test::kByCode;
      return scan->is_on(row) ? is_unique : scan->is_ahead(row);
    });
  }
  void insert_a_row() {
    const Row row = random_row();
    note("insert " + text_of(row));
    const std::size_t duplicate = duplicate_of(row, "");
    expect_outcome(session_->insert(row), duplicate);
    if (duplicate != test::kIndexes || HasFatalFailure()) return;
    const Rows::value_type put(session_->writer().primary_key(), row);
    for (const auto& scan : scans_) scan->note_put(rows_, nullptr, put);
    rows_.insert(put);
  }
  void remove_row(Rows::iterator old) {
    note("remove " + text_of(old->second));
    ASSERT_TRUE(succeeds(session_->remove(old->second, old->first)));
    rows_.erase(old);
  }
  void update_row(Rows::iterator old, const Row& changed) {
    note("update " + text_of(old->second) + " to " + text_of(changed));
    const std::size_t duplicate = duplicate_of(changed, old->first);
    expect_outcome(session_->update(old->second, changed, old->first), duplicate);
    if (duplicate != test::kIndexes || HasFatalFailure()) return;
    const Rows::value_type put(session_->writer().primary_key(), changed);
    for (const auto& scan : scans_) scan->note_put(rows_, &*old, put);
    rows_.erase(old);
    rows_.insert(put);
  }
  Row changed(const Row& old) {
    const Row row = random_row();
    Row changed = old;
    if (one_in(4)) {
      if (changed.email) swap_case(*changed.email);
      if (one_in(2)) swap_case(changed.city);
      return changed;
    }
    if (one_in(3)) changed = row;
    if (one_in(4)) changed.id = row.id;
    if (one_in(2)) changed.email = row.email;
    if (one_in(3)) changed.city = row.city;
    if (one_in(3)) changed.note = row.note;
    return changed;
  }
  void change_row(Rows::iterator old) {
    if (old == rows_.end() || is_fixed(*old)) return;
    one_in(3) ? remove_row(old) : update_row(old, changed(old->second));
  }
  void change_a_row() { rows_.empty() || one_in(3) ? insert_a_row() : change_row(any_row()); }

  // ---- scans

  void open_a_scan() {
    ModelScan::Kind kind;
    kind.index = pick(test::kIndexes);
    kind.is_forward = one_in(2);
    kind.locks = one_in(2);
    kind.locks_gaps = kind.locks && one_in(2);
    kind.reads_entries = !kind.locks && one_in(3);
    scans_.push_back(std::make_unique<ModelScan>(store_, session_->transaction(), kind));
    note(scans_.back()->name() + " opens");
  }
  // A step of a scan. One that comes to its end is closed, or may turn there.
  void move_a_scan(std::size_t savepoints) {
    const auto at = scans_.begin() + static_cast<std::ptrdiff_t>(pick(scans_.size()));
    ModelScan& scan = **at;
    bool found = false;
    const std::size_t kind = scan.may_only_move_on() ? 23 : pick(24);
    if (kind == 0) {
      seek(scan, random_row(), found);
    } else if (kind < 3 && !rows_.empty()) {
      if (!find_unique(scan, *any_row(), found)) return;
    } else {
      const bool turns = kind < 6;
      note(scan.name() + (turns ? " turns" : " moves"));
      scan.move(rows_, turns, found);
      if (!turns && scan.savepoints()) savepoints = *scan.savepoints();
    }
    scan.set_savepoints(savepoints);
    if (found || HasFatalFailure()) return;
    if (scan.may_only_move_on() || one_in(2)) scans_.erase(at);
  }
  void seek(ModelScan& scan, const Row& row, bool& found) {
    const std::size_t index = scan.kind().index;
    const std::size_t own_parts = store_.table().index(index).parts.size();
    const std::size_t parts = index == test::kPrimary ? own_parts : 1 + pick(own_parts);
    const std::string prefix = test::search_prefix(store_.table(), index, row, parts);
    SortKey key = test::sort_key(GetParam(), index, row);
    key.resize(parts);
    if (index == test::kPrimary && parts != 0) key = {prefix};
    note(scan.name() + " seeks " + text_of(row));
    scan.seek(rows_, prefix, key, found);
  }
  // False if the index does not find rows so, or the scan does not meet this one.
  bool find_unique(ModelScan& scan, const Rows::value_type& row, bool& found) {
    const std::size_t index = scan.kind().index;
    if (!scan.is_under_way() || scan.hides(row)) return false;
    if (index == test::kByCity || index == test::kByAmount) return false;
    if (index == test::kByEmail && !row.second.email) return false;
    std::string key = row.first;
    if (index != test::kPrimary) {
      store_.table().secondary(index).make_unique_prefix(test::Record(row.second).data(), key);
    }
    note(scan.name() + " looks up " + text_of(row.second));
    scan.find_unique(row, key, found);
    return true;
  }
  void change_where_a_scan_is() {
    const ModelScan& scan = *scans_[pick(scans_.size())];
    change_row(std::find_if(rows_.begin(), rows_.end(),
                            [&scan](const auto& row) { return scan.is_on(row); }));
  }
  // At a statement's end: a scan goes on in another one at most if it lets go of its iterator.
  void leave_scans() {
    std::erase_if(scans_, [this](const auto&) { return one_in(2); });
    for (const auto& scan : scans_) scan->park();
  }

  // ---- statements and transactions

  // What a function does within a statement.
  void use_savepoint(std::vector<std::pair<std::size_t, Rows>>& savepoints) {
    txn::Transaction& transaction = session_->transaction();
    if (savepoints.empty() || one_in(3)) {
      note("savepoint within the statement");
      savepoints.emplace_back(transaction.set_savepoint(), rows_);
    } else if (one_in(3)) {
      note("release the savepoint");
      ASSERT_TRUE(succeeds(transaction.release_savepoints_from(savepoints.back().first)));
      savepoints.pop_back();
    } else {
      // A scan that only reads, of the function itself, is over then.
      std::erase_if(scans_, [&](const auto& scan) {
        return !scan->kind().locks && scan->savepoints() >= savepoints.size();
      });
      note("roll back to the savepoint");
      ASSERT_TRUE(succeeds(transaction.rollback_to_savepoint(savepoints.back().first)));
      rows_ = savepoints.back().second;
    }
    count_.expect(store_.table(), rows_.size());
  }
  void run_statement() {
    const Rows before = rows_;
    std::vector<std::pair<std::size_t, Rows>> savepoints;
    txn::Transaction& transaction = session_->transaction();
    const bool sees_snapshot = one_in(2);
    note(sees_snapshot ? "statement, repeatable read" : "statement, read committed");
    transaction.begin_statement(sees_snapshot ? txn::IsolationLevel::kRepeatableRead
                                              : txn::IsolationLevel::kReadCommitted);
    for (const auto& scan : scans_) scan->go_on_in(transaction);
    for (std::size_t i = one_in(2) ? pick(4) : pick(40); i > 0 && !HasFatalFailure(); --i) {
      const std::size_t kind = pick(16);
      if (kind < 2 && scans_.size() < 3) {
        open_a_scan();
      } else if (kind < 8 && !scans_.empty()) {
        move_a_scan(savepoints.size());
      } else if (kind < 11 && !scans_.empty()) {
        change_where_a_scan_is();
      } else if (kind == 11) {
        use_savepoint(savepoints);
      } else {
        change_a_row();
      }
    }
    if (!HasFatalFailure()) end_statement(before);
  }
  void end_statement(const Rows& before) {
    const bool leaves_scans_first = one_in(2);
    if (leaves_scans_first) leave_scans();
    if (one_in(4)) {
      note("roll back the statement");
      ASSERT_TRUE(succeeds(session_->transaction().rollback_statement()));
      rows_ = before;
    } else {
      session_->transaction().end_statement();
    }
    if (!leaves_scans_first) leave_scans();
    count_.expect(store_.table(), rows_.size());
  }
  void run_transaction() {
    story_.clear();
    const Rows committed = rows_;
    std::vector<Rows> savepoints;
    for (std::size_t i = 1 + pick(5); i > 0 && !HasFatalFailure(); --i) {
      run_statement();
      if (HasFatalFailure()) return;
      if (one_in(3)) {
        note("savepoint");
        savepoints.push_back(rows_);
        session_->transaction().set_savepoint();
      }
      if (!savepoints.empty() && one_in(4)) {
        savepoints.resize(1 + pick(savepoints.size()));
        note("roll back to savepoint " + std::to_string(savepoints.size()));
        ASSERT_TRUE(succeeds(session_->transaction().rollback_to_savepoint(savepoints.size())));
        rows_ = savepoints.back();
      }
    }
    if (one_in(3)) expect_rows();
    if (one_in(5)) {
      session_->rollback();
      rows_ = committed;
    } else {
      session_->commit();
    }
    count_.expect_committed(store_.table(), rows_.size());
  }
  // What the session sees through every index, also of its open transaction.
  void expect_rows() {
    std::vector<Row> expected;
    for (const auto& [key, row] : rows_) expected.push_back(row);
    std::sort(expected.begin(), expected.end());
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      std::vector<Row> rows = session_->rows(i);
      std::sort(rows.begin(), rows.end());
      ASSERT_EQ(rows, expected) << "index " << i;
    }
  }
  void disturb_the_database(int round) {
    if (one_in(8)) must(store_.database().flush());
    if (round % 50 == 49) store_.flush_and_compact();
    if (round % 200 != 199) return;
    scans_.clear();
    session_.reset();
    one_in(2) ? store_.reopen() : store_.crash();
    session_ = std::make_unique<test::Session>(store_);
    count_.start_at(rows_.size());
  }

  std::mt19937 random_{basalt::test::seed()};
  test::Store store_{GetParam()};
  std::unique_ptr<test::Session> session_ = std::make_unique<test::Session>(store_);
  Rows rows_;
  RowCount count_;
  std::vector<std::unique_ptr<ModelScan>> scans_;
  std::string story_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, RowModelTest, testing::ValuesIn(test::kAllKeys), test::name_of);

TEST_P(RowModelTest, EveryIndexHoldsExactlyTheRowsOfTheModel) {
  for (int round = 0; round < kRounds; ++round) {
    run_transaction();
    ASSERT_FALSE(HasFatalFailure()) << "round " << round << "; " << story();
    disturb_the_database(round);
    if (round % 10 != 9) continue;
    expect_rows();
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
    ASSERT_EQ(store_.check(), std::vector<std::string>()) << "round " << round;
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      ASSERT_EQ(store_.entries(i), rows_.size()) << "round " << round << ", index " << i;
    }
  }
}

}  // namespace
}  // namespace basalt::table
