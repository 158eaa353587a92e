#include "kv/events.h"

#include <rocksdb/statistics.h>
#include <rocksdb/table_properties.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/assert.h"

namespace basalt::kv {
namespace {

// The tickers come behind our events.
constexpr std::size_t kOwnEvents = 0
#define BASALT_EVENT(name) +1
#define BASALT_TICKER(name, ticker)
#include "kv/events.def"
#undef BASALT_EVENT
#undef BASALT_TICKER
    ;

constexpr std::uint32_t kTickers[] = {
#define BASALT_EVENT(name)
#define BASALT_TICKER(name, ticker) rdb::ticker,
#include "kv/events.def"
#undef BASALT_EVENT
#undef BASALT_TICKER
};

class TickerCounters final : public rdb::Statistics {
 public:
  explicit TickerCounters(std::shared_ptr<ThreadCounters> counters)
      : counters_(std::move(counters)) {
    set_stats_level(rdb::StatsLevel::kExceptHistogramOrTimers);
  }

  const char* Name() const override { return "BasaltTickers"; }
  void recordTick(std::uint32_t ticker, std::uint64_t n) override {
    BASALT_DEBUG_ASSERT(ticker < rdb::TICKER_ENUM_MAX);
    counters_->add(kOwnEvents + ticker, n);
  }
  std::uint64_t getTickerCount(std::uint32_t ticker) const override {
    BASALT_DEBUG_ASSERT(ticker < rdb::TICKER_ENUM_MAX);
    // The base first: the sum only grows, and is not below one that was read before it.
    const std::uint64_t base = bases_[ticker].load(std::memory_order_acquire);
    return counters_->sum(kOwnEvents + ticker) - base;
  }
  // What is added meanwhile may count or not.
  rdb::Status Reset() override {
    for (std::uint32_t ticker = 0; ticker < rdb::TICKER_ENUM_MAX; ++ticker) {
      bases_[ticker].store(counters_->sum(kOwnEvents + ticker), std::memory_order_release);
    }
    return rdb::Status::OK();
  }
  // None of these is set or reset alone.
  void setTickerCount(std::uint32_t, std::uint64_t) override {}
  std::uint64_t getAndResetTickerCount(std::uint32_t ticker) override {
    return getTickerCount(ticker);
  }

  bool HistEnabledForType(std::uint32_t) const override { return false; }
  void recordInHistogram(std::uint32_t, std::uint64_t) override {}
  void reportTimeToHistogram(std::uint32_t, std::uint64_t) override {}
  void histogramData(std::uint32_t, rdb::HistogramData* data) const override {
    *data = rdb::HistogramData();
  }

 private:
  const std::shared_ptr<ThreadCounters> counters_;
  // What the counters were at the last Reset().
  std::array<std::atomic<std::uint64_t>, rdb::TICKER_ENUM_MAX> bases_{};
};

// Counts while one file is written, by one thread.
class EntryCounter final : public rdb::TablePropertiesCollector {
 public:
  explicit EntryCounter(std::shared_ptr<ThreadCounters> counters) : counters_(std::move(counters)) {
    BASALT_DEBUG_ASSERT(counters_ != nullptr);
  }

  const char* Name() const override { return "BasaltEntryCounter"; }
  rdb::Status AddUserKey(const rdb::Slice&, const rdb::Slice&, rdb::EntryType type,
                         rdb::SequenceNumber, std::uint64_t) override {
    ++counts_[kind_of(type)];
    return rdb::Status::OK();
  }
  rdb::Status Finish(rdb::UserCollectedProperties*) override {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      counters_->add(static_cast<std::size_t>(Event::kFilePut) + kind,
                     std::exchange(counts_[kind], 0));
    }
    return rdb::Status::OK();
  }
  rdb::UserCollectedProperties GetReadableProperties() const override { return {}; }

 private:
  static constexpr std::size_t kKinds = 5;
  static_assert(static_cast<std::size_t>(Event::kFileOther) ==
                static_cast<std::size_t>(Event::kFilePut) + kKinds - 1);

  // In the order of the events.
  static std::size_t kind_of(rdb::EntryType type) {
    if (type == rdb::kEntryPut) return 0;
    if (type == rdb::kEntryDelete) return 1;
    if (type == rdb::kEntrySingleDelete) return 2;
    return type == rdb::kEntryMerge ? 3 : 4;
  }

  const std::shared_ptr<ThreadCounters> counters_;
  std::array<std::uint64_t, kKinds> counts_{};
};

class EntryCounterFactory final : public rdb::TablePropertiesCollectorFactory {
 public:
  explicit EntryCounterFactory(std::shared_ptr<ThreadCounters> counters)
      : counters_(std::move(counters)) {}

  const char* Name() const override { return "BasaltEntryCounter"; }
  rdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new EntryCounter(counters_);
  }

 private:
  const std::shared_ptr<ThreadCounters> counters_;
};

}  // namespace

EventCounters::EventCounters()
    : counters_(std::make_shared<ThreadCounters>(kOwnEvents + rdb::TICKER_ENUM_MAX)),
      statistics_(std::make_shared<TickerCounters>(counters_)) {}

EventCounters::~EventCounters() = default;

std::uint64_t EventCounters::count(Event event) const {
  const auto number = static_cast<std::size_t>(event);
  BASALT_DEBUG_ASSERT(number < kOwnEvents + std::size(kTickers));
  if (number < kOwnEvents) return counters_->sum(number);
  return statistics_->getTickerCount(kTickers[number - kOwnEvents]);
}

std::shared_ptr<rdb::TablePropertiesCollectorFactory> EventCounters::make_entry_counter() const {
  return std::make_shared<EntryCounterFactory>(counters_);
}

std::string EventCounters::describe() const {
  std::string text;
  for (const auto& [ticker, name] : rdb::TickersNameMap) {
    text += name + " COUNT : " + std::to_string(statistics_->getTickerCount(ticker)) + "\n";
  }
  return text;
}

}  // namespace basalt::kv
