#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "bulk/entry_buffer.h"
#include "bulk/sst_writer.h"

namespace basalt::bulk {

// Writes entries with a SstWriter in a thread of its own, so that who makes them goes on meanwhile:
// it waits only where the thread is kBuffers buffers behind, or an entry is as large as a buffer.
//
// Life cycle  put()... -> finish() -> paths(). After an error the files are of no use.
// Errors      As of SstWriter, of this or of any earlier entry.
// Threads     One at a time.
class BackgroundWriter {
 public:
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

  // Throws std::system_error if there is no thread for it.
  explicit BackgroundWriter(std::unique_ptr<SstWriter> writer);
  // Leaves what is not written.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Keys ascend.
  Status put(std::string_view key, std::string_view value);
  Status finish();
  const std::vector<std::string>& paths() const { return writer_->paths(); }

 private:
  struct Buffer {
    EntryBuffer entries;
    bool is_last = false;
  };

  Status check() const;
  void hand_over();
  void await_all();
  void write(const std::stop_token& stop);

  const std::unique_ptr<SstWriter> writer_;  // the thread's while there is one
  // One after the other, in a circle: this side fills number next_, the thread has those of which
  // filled_ tells, and free_ counts the others, which are empty.
  std::array<Buffer, kBuffers> buffers_;
  std::size_t next_ = 0;
  std::counting_semaphore<kBuffers> free_{kBuffers - 1};
  std::counting_semaphore<kBuffers> filled_{0};
  Status status_;  // the thread's until it has failed, or ended
  std::atomic<bool> has_failed_{false};
  std::jthread thread_;  // last: it uses all of the others
};

}  // namespace basalt::bulk
