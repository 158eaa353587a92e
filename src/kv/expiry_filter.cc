#include "kv/expiry_filter.h"

#include <rocksdb/compaction_filter.h>

#include <utility>

#include "base/bytes.h"
#include "base/key_range.h"
#include "kv/events.h"
#include "kv/expiry_clock.h"
#include "rdb/slice.h"

namespace basalt::kv {
namespace {

// Of one compaction, or one part of it, in one thread, which shows keys in their order.
class ExpiryFilter final : public rdb::CompactionFilter {
 public:
  ExpiryFilter(LifetimeSlot& lifetimes, std::uint64_t time, EventCounters& events)
      : lifetimes_(lifetimes), time_(time), events_(events) {}
  ~ExpiryFilter() override {
    if (taken_ != 0) events_.add(Event::kRowExpired, taken_);
  }

  // What is removed stays as a removal where older versions may lie below: these entries are
  // removed with plain deletes elsewhere, too.
  Decision FilterV2(int, const rdb::Slice& key, ValueType type, const rdb::Slice& value,
                    std::string*, std::string*) const override {
    if (type != ValueType::kValue || key.size() < kIndexIdBytes) return Decision::kKeep;
    const std::uint32_t index = load_be32(key.data());
    if (index != index_) look_up(index);
    if (expired_before_ == 0) return Decision::kKeep;
    if (row_time({value.data(), value.size()}) >= expired_before_) return Decision::kKeep;
    ++taken_;
    return Decision::kRemove;
  }
  const char* Name() const override { return "BasaltExpiryFilter"; }

 private:
  void look_up(std::uint32_t index) const {
    index_ = index;
    const std::optional<RowLifetime> lifetime = lifetimes_.lifetime_of(index);
    expired_before_ = lifetime ? lifetime->expired_before(time_) : 0;
  }

  LifetimeSlot& lifetimes_;
  const std::uint64_t time_;
  EventCounters& events_;
  mutable std::uint32_t index_ = 0;  // no index has this id
  mutable std::uint64_t expired_before_ = 0;
  mutable std::uint64_t taken_ = 0;
};

class ExpiryFilterFactory final : public rdb::CompactionFilterFactory {
 public:
  ExpiryFilterFactory(std::shared_ptr<LifetimeSlot> lifetimes, ExpiryClock& clock,
                      EventCounters& events)
      : lifetimes_(std::move(lifetimes)), clock_(clock), events_(events) {}

  std::unique_ptr<rdb::CompactionFilter> CreateCompactionFilter(
      const rdb::CompactionFilter::Context& context) override {
    if (!clock_.takes_rows() || !lifetimes_->has_lifetimes(context.column_family_id)) {
      return nullptr;
    }
    return std::make_unique<ExpiryFilter>(*lifetimes_, clock_.begin_compaction(), events_);
  }
  const char* Name() const override { return "BasaltExpiryFilterFactory"; }

 private:
  const std::shared_ptr<LifetimeSlot> lifetimes_;
  ExpiryClock& clock_;
  EventCounters& events_;
};

}  // namespace

void LifetimeSlot::set(LifetimeSource* source) {
  const MutexLock guard(mutex_);
  source_ = source;
}

bool LifetimeSlot::has_lifetimes(std::uint32_t family) {
  const MutexLock guard(mutex_);
  return source_ != nullptr && source_->has_lifetimes(family);
}

std::optional<RowLifetime> LifetimeSlot::lifetime_of(std::uint32_t index_id) {
  const MutexLock guard(mutex_);
  return source_ == nullptr ? std::nullopt : source_->lifetime_of(index_id);
}

std::shared_ptr<rdb::CompactionFilterFactory> make_expiry_filter_factory(
    std::shared_ptr<LifetimeSlot> lifetimes, ExpiryClock& clock, EventCounters& events) {
  return std::make_shared<ExpiryFilterFactory>(std::move(lifetimes), clock, events);
}

}  // namespace basalt::kv
