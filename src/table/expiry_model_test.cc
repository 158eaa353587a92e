#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "table/test_support.h"

// Goal: rows that expire are seen for as long as they live, by all indexes, as each transaction's
// time and snapshot have it, whatever compactions have taken meanwhile, also before a start; and in
// the end nothing of them is left. Method: random changes against a list of rows, under a clock
// that the test sets, and sets back, with readers by that time or an earlier one that stay open
// over flushes and compactions, and with stops and crashes.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using test::Keys;
using test::Row;

constexpr std::uint64_t kSeconds = 20;

struct TimedRow {
  Row row;
  std::uint64_t time = 0;

  bool is_live(std::uint64_t now) const { return time + kSeconds > now; }
  bool shares_unique_value(const Row& other, Keys keys) const {
    const bool has_same_key =
        row.id == other.id && (keys != Keys::kCityAndId || row.city == other.city);
    return has_same_key || row.code == other.code || (row.email && row.email == other.email);
  }
};
using Rows = std::vector<TimedRow>;

std::vector<Row> live_rows(const Rows& rows, std::uint64_t now) {
  std::vector<Row> live;
  for (const TimedRow& each : rows) {
    if (each.is_live(now)) live.push_back(each.row);
  }
  std::sort(live.begin(), live.end());
  return live;
}

class ExpiryModel {
 public:
  ExpiryModel(Keys keys, unsigned seed)
      : keys_(keys), random_(seed), store_(keys, 0, catalog::RowExpiry{{.seconds = kSeconds}}) {
    store_.database().expiry_clock().set_now([this] { return now_; });
    writer_ = std::make_unique<test::Session>(store_);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      switch (below(14)) {
        case 0: set_clock(now_ + below(6)); break;
        case 1: must(store_.database().flush()); break;
        case 2: compact(); break;
        case 3: end_transaction(); break;
        case 4: begin_reader(); break;
        case 5: check_reader(); break;
        case 6: check_writer(); break;
        case 7: restart(); break;
        case 8: must(store_.database().renew_expiry_limit(1 + below(20))); break;
        default: change(); break;
      }
    }
    end_transaction();
    readers_.clear();
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(store_.check(), std::vector<std::string>());
    now_ = latest_ + 2 * kSeconds;
    store_.flush_and_compact();
    for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(store_.entries(i), 0u) << i;
  }

  int replaced() const { return replaced_; }
  int early_readers() const { return early_readers_; }

 private:
  struct Reader {
    std::unique_ptr<test::Session> session;
    std::vector<Row> expected;
  };

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  // The time by which the writer's transaction, which it may begin, takes rows for expired.
  std::uint64_t time() {
    if (!in_transaction_) before_ = rows_;
    in_transaction_ = true;
    return writer_->transaction().expiry().time();
  }

  Row random_row() {
    Row row;
    row.id = static_cast<int>(below(10));
    if (below(4) != 0) row.email = std::string(1, static_cast<char>('A' + below(6)));
    row.city = std::string(1, static_cast<char>('A' + below(3)));
    row.amount = static_cast<int>(below(3));
    row.code = below(10);
    return row;
  }

  void change() {
    const std::uint64_t now = time();
    const Row row = random_row();
    const std::vector<Row> live = live_rows(rows_, now);
    if (live.empty() || below(2) == 0) {
      insert(row, now);
    } else if (below(3) == 0) {
      remove(live[below(static_cast<unsigned>(live.size()))]);
    } else {
      update(live[below(static_cast<unsigned>(live.size()))], row, now);
    }
  }

  // Whether a row that lives has a unique value of the new one; those that do not live go for it.
  bool is_taken(const Row& row, const Row* except, std::uint64_t now) {
    for (const TimedRow& each : rows_) {
      if (except != nullptr && each.is_live(now) && each.row == *except) continue;
      if (each.is_live(now) && each.shares_unique_value(row, keys_)) return true;
    }
    return false;
  }
  void drop_expired(const Row& row, std::uint64_t now) {
    replaced_ += static_cast<int>(std::erase_if(rows_, [&](const TimedRow& each) {
      return !each.is_live(now) && each.shares_unique_value(row, keys_);
    }));
  }

  void insert(const Row& row, std::uint64_t now) {
    writer_->writer().set_statement_time(now_);
    const bool is_duplicate = is_taken(row, nullptr, now);
    Status status = writer_->insert(row);
    if (is_duplicate) {
      EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, status)) << testing::PrintToString(row);
      return;
    }
    must(std::move(status));
    drop_expired(row, now);
    rows_.push_back({row, now_});
  }

  void remove(const Row& row) {
    must(writer_->remove(row));
    std::erase_if(rows_, [&](const TimedRow& each) { return each.row == row; });
  }

  void update(const Row& from, const Row& to, std::uint64_t now) {
    const bool is_duplicate = is_taken(to, &from, now);
    Status status = writer_->update(from, to);
    if (is_duplicate) {
      EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, status)) << testing::PrintToString(to);
      return;
    }
    must(std::move(status));
    drop_expired(to, now);
    // The row keeps its time.
    for (TimedRow& each : rows_) {
      if (each.is_live(now) && each.row == from) each.row = to;
    }
  }

  void end_transaction() {
    if (!in_transaction_) return;
    in_transaction_ = false;
    if (below(4) == 0) {
      writer_->rollback();
      rows_ = before_;
    } else {
      writer_->commit();
    }
  }

  void compact() {
    store_.flush_and_compact();
    if (in_transaction_) return;
    EXPECT_EQ(store_.check(), std::vector<std::string>());
  }

  void set_clock(std::uint64_t now) {
    now_ = now;
    latest_ = std::max(latest_, now);
  }

  void restart() {
    end_transaction();
    readers_.clear();
    writer_.reset();
    if (below(2) == 0) {
      store_.crash();
    } else {
      store_.reopen();
    }
    set_clock(now_ + below(20) - 5);
    store_.database().expiry_clock().set_now([this] { return now_; });
    writer_ = std::make_unique<test::Session>(store_);
    is_started_ = true;
    begin_reader();
  }

  // Who reads by an earlier time than now sees what compactions have left of that.
  void begin_reader() {
    if (in_transaction_) return;
    if (readers_.size() > 2) readers_.erase(readers_.begin());
    auto session = std::make_unique<test::Session>(store_);
    const bool is_early = below(2) == 0;
    if (is_early) {
      session->transaction().expiry().begin(txn::Expiry::kOfSourcesStatement, now_ - below(30));
    }
    const std::uint64_t now = session->transaction().expiry().time();
    if (is_early) {
      if (is_started_ && now < now_) ++early_readers_;
    } else {
      EXPECT_GE(now, now_);
    }
    is_started_ = false;
    session->transaction().open_snapshot();
    readers_.push_back({std::move(session), live_rows(rows_, now)});
  }

  static void expect_rows(test::Session& session, const std::vector<Row>& expected,
                          const ReadSettings& settings) {
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      std::vector<Row> found = session.rows(i, settings);
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected) << "by index " << i;
    }
  }

  void check_reader() {
    if (readers_.empty()) return;
    const Reader& reader = readers_[below(static_cast<unsigned>(readers_.size()))];
    expect_rows(*reader.session, reader.expected, ConsistentRead{});
  }

  void check_writer() {
    const std::uint64_t now = time();
    LockingRead locking;
    locking.locks_gaps = below(2) == 0;
    const std::vector<Row> live = live_rows(rows_, now);
    expect_rows(*writer_, live, locking);
    expect_rows(*writer_, live, ConsistentRead{});
    expect_rows(*writer_, live, NewestRead{});
  }

  const Keys keys_;
  std::mt19937 random_;
  std::uint64_t now_ = 1'000'000;
  test::Store store_;
  Rows rows_;
  Rows before_;  // the writer's transaction
  bool in_transaction_ = false;
  int replaced_ = 0;
  std::uint64_t latest_ = now_;
  bool is_started_ = false;  // just now
  int early_readers_ = 0;    // of a start
  std::unique_ptr<test::Session> writer_;
  std::vector<Reader> readers_;
};

class ExpiryModelTest : public testing::TestWithParam<Keys> {};
INSTANTIATE_TEST_SUITE_P(VisibleKeys, ExpiryModelTest, testing::Values(Keys::kId, Keys::kCityAndId),
                         test::name_of);

TEST_P(ExpiryModelTest, RowsLiveAsLongAsTheyAreToForEveryTransactionByEveryIndex) {
  int replaced = 0;
  int early = 0;
  for (unsigned seed = 1; seed <= 8 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ExpiryModel model(GetParam(), seed);
    model.run(400);
    replaced += model.replaced();
    early += model.early_readers();
  }
  EXPECT_GT(early, 0) << "every start has taken all that is expired for gone";
  EXPECT_GT(replaced, 0) << "no row was inserted over one that was expired";
}

}  // namespace
}  // namespace basalt::table
