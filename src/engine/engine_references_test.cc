#include <memory>
#include <string>
#include <string_view>

#include "base/test_support.h"
#include "engine/engine.h"
#include "table/test_support.h"

// Goal: whoever writes rows that reference a table waits as long as its copy takes its place, and
// never longer: they meet the one or the other, whatever names the tables get in between.
namespace basalt::engine {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using References = catalog::Catalog::References;
using table::test::Keys;
using table::test::make_definition;

constexpr std::string_view kParent = "test/orders";
constexpr std::string_view kChild = "test/child";
constexpr std::string_view kCopy = "test/#sql-alter-1-2";
constexpr std::string_view kSetAside = "test/#sql-backup-1-2";
constexpr Waiter kDoesNotWait{.user = nullptr, .policy = {.may_wait = false}};

class EngineReferencesTest : public testing::Test {
 protected:
  EngineReferencesTest() {
    EngineOptions options;
    options.database = kv::test::small_options(directory_ / "db");
    engine_ = must(Engine::start(options, nullptr, &collations_));
    create(kParent);
    catalog::TableDefinition child = make_definition(Keys::kId);
    child.name = kChild;
    must(engine_->create_table(std::move(child), 1, {},
                               {{.name = "test/fk",
                                 .child = std::string(kChild),
                                 .parent = std::string(kParent),
                                 .columns = {{"code", "code"}}}}));
  }

  void create(std::string_view name, std::string_view copied = {}) {
    catalog::TableDefinition table = make_definition(Keys::kId);
    table.name = name;
    must(engine_->create_table(std::move(table), 1, {}, {}, copied));
  }
  Status set_aside(std::string_view to = kSetAside) {
    return engine_->rename_table(kParent, to, Engine::Renamed::kWasThere, References::kStay, {},
                                 kDoesNotWait);
  }
  Status name_copy() {
    return engine_->rename_table(kCopy, kParent, Engine::Renamed::kAppears, References::kStay, {},
                                 kDoesNotWait);
  }
  // As the ALTER TABLE of a parent does that gives it another name.
  Status name_copy(std::string_view to) {
    return engine_->rename_table(kCopy, to, Engine::Renamed::kAppears, References::kFollow, kParent,
                                 kDoesNotWait);
  }
  Status drop(std::string_view name) {
    return engine_->drop_table(name, nullptr, Engine::Undecided::kRefuse, kDoesNotWait);
  }
  // What rows of the child are bound to; empty: to nothing.
  std::string parent() {
    const auto child = must(engine_->open_stored(kChild));
    const auto references = must(engine_->references_of(*child));
    const std::shared_ptr<const table::Table>& parent = references->parents.at(0).parent;
    return parent == nullptr ? "" : parent->definition().name;
  }
  // As a transaction that writes a row of the child; the lock is held until it ends.
  Status bind(txn::Transaction& transaction) {
    const catalog::TablePointer definition = engine_->catalog().find(parent());
    return transaction.lock(table::definition_lock(*definition), lock::LockMode::kShared,
                            kDoesNotWait.policy);
  }
  // As one that has found it before.
  Status bind_to(const catalog::TableDefinition& table) {
    const auto transaction = engine_->transactions().make_transaction(nullptr);
    return transaction->lock(table::definition_lock(table), lock::LockMode::kShared,
                             kDoesNotWait.policy);
  }
  Status bind() {
    const auto transaction = engine_->transactions().make_transaction(nullptr);
    return bind(*transaction);
  }

  kv::test::TestDirectory directory_;
  table::test::OneCollation collations_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineReferencesTest, WhoReferencesATableThatIsSetAsideWaitsUntilItsCopyHasTheName) {
  create(kCopy, kParent);
  EXPECT_TRUE(succeeds(bind()));
  const catalog::TablePointer old = engine_->catalog().find(kParent);
  must(set_aside());
  EXPECT_EQ(parent(), kSetAside);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind()));
  must(name_copy());
  EXPECT_EQ(parent(), kParent);
  EXPECT_TRUE(succeeds(bind()));
  EXPECT_TRUE(succeeds(bind_to(*old))) << "who waits goes on, and looks again";
  must(drop(kSetAside));
  EXPECT_TRUE(succeeds(bind()));
}

TEST_F(EngineReferencesTest, NobodyWaitsAnyMoreWhenTheTableHasItsNameAgain) {
  must(set_aside());
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind()));
  must(engine_->rename_table(kSetAside, kParent, Engine::Renamed::kAppears, References::kStay));
  EXPECT_EQ(parent(), kParent);
  EXPECT_TRUE(succeeds(bind()));
}

TEST_F(EngineReferencesTest, ATableThatIsDroppedWhenItWasSetAsideLeavesNothingToWaitFor) {
  const catalog::TablePointer old = engine_->catalog().find(kParent);
  const std::uint64_t generation = engine_->generation();
  must(set_aside());
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind_to(*old)));
  const std::uint64_t set_aside = engine_->generation();
  EXPECT_GT(set_aside, generation);
  must(drop(kSetAside));
  EXPECT_GT(engine_->generation(), set_aside) << "who waited must not go on with what it had found";
  EXPECT_EQ(parent(), "");
  EXPECT_TRUE(succeeds(bind_to(*old)));
  create(kParent);
  EXPECT_TRUE(succeeds(bind()));
}

TEST_F(EngineReferencesTest, ATableIsNotSetAsideBesideTransactionsThatReferenceIt) {
  const auto transaction = engine_->transactions().make_transaction(nullptr);
  must(bind(*transaction));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, set_aside()));
  EXPECT_EQ(parent(), kParent);
  must(transaction->rollback());
  EXPECT_TRUE(succeeds(set_aside()));
}

TEST_F(EngineReferencesTest, ACopyWithAnotherNameWaitsForThoseWhoReferenceTheTableThatIsThere) {
  create(kCopy, kParent);
  const auto transaction = engine_->transactions().make_transaction(nullptr);
  must(bind(*transaction));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, name_copy("test/others")));
  EXPECT_EQ(parent(), kParent);
  must(transaction->rollback());
  must(name_copy("test/others"));
  EXPECT_EQ(parent(), "test/others");
  EXPECT_TRUE(succeeds(bind()));
  const catalog::TablePointer old = engine_->catalog().find(kParent);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind_to(*old)));
  EXPECT_TRUE(succeeds(drop(kParent)));
  EXPECT_TRUE(succeeds(bind_to(*old))) << "who waits goes on, and looks again";
}

TEST_F(EngineReferencesTest, ACopyThatLosesItsNameAgainLeavesNothingToWaitFor) {
  for (const bool drops : {false, true}) {
    create(kCopy, kParent);
    const catalog::TablePointer old = engine_->catalog().find(kParent);
    must(name_copy("test/others"));
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind_to(*old)));
    if (drops) {
      must(drop("test/others"));
    } else {
      must(engine_->rename_table("test/others", kCopy, Engine::Renamed::kWasThere,
                                 References::kStay));
      must(drop(kCopy));
    }
    EXPECT_TRUE(succeeds(bind_to(*old)));
  }
}

TEST_F(EngineReferencesTest, ATableThatStayedSetAsideIsNoParentWhenItsSuccessorHasGone) {
  create(kCopy, kParent);
  must(set_aside());
  must(name_copy());
  must(drop(kParent));
  EXPECT_EQ(parent(), "");
}

TEST_F(EngineReferencesTest, ATableThatStayedSetAsideIsNotTakenForALaterOne) {
  create(kCopy, kParent);
  must(set_aside());
  must(name_copy());
  create(kCopy, kParent);
  constexpr std::string_view kLater = "test/#sql-backup-1-3";
  must(set_aside(kLater));
  EXPECT_EQ(parent(), kLater);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, bind()));
  const catalog::TablePointer later = engine_->catalog().find(kLater);
  must(name_copy());
  EXPECT_TRUE(succeeds(bind_to(*later)));
}

TEST_F(EngineReferencesTest, AKeyThatComesMeanwhileWaitsForWhatIsBeingReplaced) {
  constexpr std::string_view kOther = "test/other";
  create(kOther);
  must(engine_->rename_table(kOther, kSetAside, Engine::Renamed::kWasThere, References::kStay));
  catalog::TableDefinition late = make_definition(Keys::kId);
  late.name = "test/late";
  must(engine_->create_table(std::move(late), 1, {},
                             {{.name = "test/late",
                               .child = "test/late",
                               .parent = std::string(kOther),
                               .columns = {{"code", "code"}}}}));
  const auto child = must(engine_->open_stored("test/late"));
  const auto references = must(engine_->references_of(*child));
  ASSERT_NE(references->parents.at(0).parent, nullptr);
  const auto transaction = engine_->transactions().make_transaction(nullptr);
  EXPECT_TRUE(fails_with(
      ErrorCode::kLockTimeout,
      transaction->lock(table::definition_lock(references->parents[0].parent->definition()),
                        lock::LockMode::kShared, kDoesNotWait.policy)));
}

}  // namespace
}  // namespace basalt::engine
