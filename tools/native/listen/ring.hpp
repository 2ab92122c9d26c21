// SPDX-License-Identifier: GPL-2.0-or-later
// One producer (the audio thread), one consumer, no waiting. Full: counted, never waited for.
#pragma once
#include <atomic>
#include <memory>

#include "record.hpp"

namespace ear {

class Ring {
 public:
  explicit Ring(uint64_t capacity) : mMask(capacity - 1), mSlots(new Record[capacity]) {}

  void push(const Record& record) {
    const auto end = mTail.load(std::memory_order_relaxed);
    if (end - mHead.load(std::memory_order_acquire) > mMask) {
      mLost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    mSlots[end & mMask] = record;
    mTail.store(end + 1, std::memory_order_release);
  }

  bool pop(Record& record) {
    const auto start = mHead.load(std::memory_order_relaxed);
    if (start == mTail.load(std::memory_order_acquire)) return false;
    record = mSlots[start & mMask];
    mHead.store(start + 1, std::memory_order_release);
    return true;
  }

  uint64_t lost() const { return mLost.load(std::memory_order_relaxed); }

 private:
  const uint64_t mMask;  // capacity - 1, a power of two
  std::unique_ptr<Record[]> mSlots;
  alignas(64) std::atomic<uint64_t> mHead{0};
  alignas(64) std::atomic<uint64_t> mTail{0};
  std::atomic<uint64_t> mLost{0};
};

// The latest beat line, from the tap's thread to the exact source's. A torn read is tried again, a few times.
class SharedLine {
 public:
  void publish(const BeatLine& line) {
    const auto n = mSequence.load(std::memory_order_relaxed);
    mSequence.store(n + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    mMicros.store(line.micros, std::memory_order_relaxed);
    mBeat.store(line.beat, std::memory_order_relaxed);
    mMicrosPerBeat.store(line.microsPerBeat, std::memory_order_relaxed);
    mSequence.store(n + 2, std::memory_order_release);
  }

  bool read(BeatLine& line) const {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const auto before = mSequence.load(std::memory_order_acquire);
      const BeatLine copy{mMicros.load(std::memory_order_relaxed), mBeat.load(std::memory_order_relaxed),
        mMicrosPerBeat.load(std::memory_order_relaxed)};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && before > 0 && mSequence.load(std::memory_order_relaxed) == before) {
        line = copy;
        return true;
      }
    }
    return false;
  }

 private:
  std::atomic<uint64_t> mSequence{0};
  std::atomic<double> mMicros{0}, mBeat{0}, mMicrosPerBeat{0};
};

}  // namespace ear
