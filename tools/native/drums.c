// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc -ljack
// A drum machine as a JACK client: MIDI clock at drums:clock, a click on each of its beats at drums:click. It
// is driven by lines, each answered by one of JSON (lines.py):
//   tempo BPM     play     resume SIXTEENTH     stop     silence on|off     jitter MICROSECONDS     status     quit
// The clock messages continue while the drum machine is stopped. A Start is sent at once, and the next clock
// message is the first of the song. Each click is where its clock message would be without jitter.
#include <jack/jack.h>
#include <jack/midiport.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING, PLAY, RESUME, STOP };
enum { QUEUE = 64 };

static jack_client_t *client;
static jack_port_t *clockPort, *clickPort;
static _Atomic double tempo = 120, jitter = 0;
static atomic_int wish, place, silent, playing;
static atomic_long number; // the number of the next clock message, counted from the song's start

// These variables are used only in the process callback: the frame of the next clock message, counted from
// this cycle's start, and the frames of delayed clock messages.
static double due;
static double waiting[QUEUE];
static int waitingCount;

static void put(void *buffer, jack_nframes_t frame, const unsigned char *bytes, size_t count) {
  unsigned char *data = jack_midi_event_reserve(buffer, frame, count);
  if (data) memcpy(data, bytes, count);
}

static void obey(void *buffer) {
  const int wanted = atomic_exchange(&wish, NOTHING);
  if (wanted == NOTHING) return;
  const int sixteenth = atomic_load(&place);
  if (wanted == RESUME) {
    const unsigned char position[] = {0xF2, sixteenth & 0x7F, sixteenth >> 7 & 0x7F};
    put(buffer, 0, position, 3);
  }
  const unsigned char command = wanted == PLAY ? 0xFA : wanted == RESUME ? 0xFB : 0xFC;
  put(buffer, 0, &command, 1);
  if (wanted == PLAY) atomic_store(&number, 0);
  if (wanted == RESUME) atomic_store(&number, sixteenth * 6L);
  atomic_store(&playing, wanted != STOP);
  // Drop delayed clock messages, which belong to the time before this command.
  waitingCount = 0;
}

static int process(jack_nframes_t frames, void *unused) {
  (void)unused;
  void *buffer = jack_port_get_buffer(clockPort, frames);
  float *click = jack_port_get_buffer(clickPort, frames);
  jack_midi_clear_buffer(buffer);
  memset(click, 0, frames * sizeof *click);
  obey(buffer);
  const double rate = jack_get_sample_rate(client);
  while (due < frames) {
    const int isOnBeat = atomic_load(&playing) && atomic_load(&number) % 24 == 0;
    for (int i = 0; isOnBeat && i < 48 && (int)due + i < (int)frames; i++) click[(int)due + i] = i % 8 < 4 ? 0.5f : -0.5f;
    atomic_fetch_add(&number, 1);
    const double late = atomic_load(&jitter) * rate / 1e6 * rand() / RAND_MAX;
    if (waitingCount < QUEUE) waiting[waitingCount++] = due + late;
    due += rate * 60 / (atomic_load(&tempo) * 24);
  }
  due -= frames;
  int kept = 0;
  double last = 0;
  for (int i = 0; i < waitingCount; i++) {
    // The jitter must not change the order of messages, as on a MIDI cable.
    if (waiting[i] < last) waiting[i] = last;
    last = waiting[i];
    if (waiting[i] >= frames) {
      waiting[kept++] = waiting[i] - frames;
    } else if (!atomic_load(&silent)) {
      const unsigned char clock = 0xF8;
      put(buffer, (jack_nframes_t)waiting[i], &clock, 1);
    }
  }
  waitingCount = kept;
  return 0;
}

// Returns 0 if the line is not understood.
static int answer(const char *line) {
  char word[32] = "", argument[32] = "";
  const int words = sscanf(line, "%31s %31s", word, argument);
  const double value = atof(argument);
  if (words == 2 && !strcmp(word, "tempo") && value > 1 && value < 1000) {
    atomic_store(&tempo, value);
  } else if (words == 2 && !strcmp(word, "jitter") && value >= 0 && value < 20000) {
    atomic_store(&jitter, value);
  } else if (words == 2 && !strcmp(word, "silence")) {
    atomic_store(&silent, !strcmp(argument, "on"));
  } else if (words == 2 && !strcmp(word, "resume") && value >= 0 && value < 16384) {
    atomic_store(&place, (int)value);
    atomic_store(&wish, RESUME);
  } else if (words == 1 && !strcmp(word, "play")) {
    atomic_store(&wish, PLAY);
  } else if (words == 1 && !strcmp(word, "stop")) {
    atomic_store(&wish, STOP);
  } else if (strcmp(word, "status")) {
    return 0;
  }
  printf("{\"ok\": true, \"playing\": %s, \"tempo\": %f, \"beat\": %f, \"pid\": %d}\n",
         atomic_load(&playing) ? "true" : "false", atomic_load(&tempo), atomic_load(&number) / 24.0, (int)getpid());
  return 1;
}

int main(void) {
  client = jack_client_open("drums", JackNoStartServer, NULL);
  if (!client) {
    fprintf(stderr, "drums: no JACK server\n");
    return 1;
  }
  clockPort = jack_port_register(client, "clock", JACK_DEFAULT_MIDI_TYPE, JackPortIsOutput, 0);
  clickPort = jack_port_register(client, "click", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  jack_set_process_callback(client, process, NULL);
  if (!clockPort || !clickPort || jack_activate(client)) return 1;
  char line[256];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    if (!strncmp(line, "quit", 4)) {
      puts("{\"ok\": true}");
      break;
    }
    if (!answer(line)) puts("{\"ok\": false, \"error\": \"not a command of the drum machine\"}");
  }
  jack_client_close(client);
  return 0;
}
