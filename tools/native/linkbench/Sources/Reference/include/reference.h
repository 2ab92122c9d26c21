// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Ableton's own library (Debian's ableton-link-dev), through its public interface.
typedef struct Reference Reference;
Reference *_Nonnull reference_new(double tempo);
void reference_delete(Reference *_Nonnull link);
void reference_enable(Reference *_Nonnull link, int on);
int reference_peers(Reference *_Nonnull link);
/// Captures the session state for the audio thread and asks for the beat, `turns` times. Returns the sum of
/// the beats, so that the compiler does not remove the work.
double reference_audio_turns(Reference *_Nonnull link, int turns, int64_t time);

/// Starts counting this thread's allocations and locks.
void watch_begin(void);
/// Ends counting. Returns the number of allocations in the upper 32 bits, and of locks in the lower.
uint64_t watch_end(void);

#ifdef __cplusplus
}
#endif
