#include "runtime/cuda/launches.h"

#include <fmt/format.h>

#include <atomic>

namespace heddle::runtime::cuda {

namespace {

// Devices beyond are not noted.
constexpr int kDevices = 64;
constexpr uint64_t kKept = 8;

// Each field is atomic alone: a reader that meets a writer may mix two launches, which a message survives.
struct Note {
  std::atomic<const char*> kernel{nullptr};  // null: none, or waited for
  std::atomic<const char*> file{nullptr};
  std::atomic<uint32_t> line{0};
  std::atomic<StreamHandle> stream{nullptr};
  std::atomic<uint64_t> number{0};
};

// Threads that launch on one device meet in the driver anyway; those of different devices share nothing.
struct alignas(64) Ring {
  std::atomic<uint64_t> next{0};
  Note notes[kKept];
};
constinit Ring rings[kDevices];

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void note_launch(int device, StreamHandle stream, const char* kernel, Location where) noexcept {
  if (device >= kDevices) return;
  Ring& ring = rings[device];
  const uint64_t number = ring.next.fetch_add(1, kRelaxed);
  Note& note = ring.notes[number % kKept];
  note.file.store(where.file, kRelaxed);
  note.line.store(where.line, kRelaxed);
  note.stream.store(stream, kRelaxed);
  note.number.store(number, kRelaxed);
  note.kernel.store(kernel, kRelaxed);
}

uint64_t count_launches(int device) noexcept {
  return device < kDevices ? rings[device].next.load(kRelaxed) : 0;
}

void forget_launches(int device, StreamHandle stream, uint64_t count) noexcept {
  if (device >= kDevices) return;
  for (Note& note : rings[device].notes)
    if (note.stream.load(kRelaxed) == stream && note.number.load(kRelaxed) < count)
      note.kernel.store(nullptr, kRelaxed);
}

std::string describe_launches() {
  std::string text;
  for (const Ring& ring : rings) {
    const uint64_t end = ring.next.load(kRelaxed);
    for (uint64_t back = 1; back <= kKept && back <= end; ++back) {
      const Note& note = ring.notes[(end - back) % kKept];
      const char* kernel = note.kernel.load(kRelaxed);
      if (!kernel) continue;
      const char* file = note.file.load(kRelaxed);
      text += fmt::format("{}'{}' ({}:{})", text.empty() ? "" : ", ", kernel, file ? file : "?",
                          note.line.load(kRelaxed));
    }
  }
  return text;
}

}  // namespace heddle::runtime::cuda
