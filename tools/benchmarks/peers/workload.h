// The synthetic data set of the suite, and the shared code of the C peers.
//
// Every contender generates the same events itself instead of reading them from a file: the generator costs a few
// nanoseconds, but a file would add parsing to every timed loop. README.md ("The data set") defines the data; `run`
// uses `digest` to prove that all contenders agree.

#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    payload_size = 200,
    key_size = 19,  // "youtube:" and 11 characters
    origin_count = 3,
    batch_size = 1000,
};

static const int64_t first_second = 1350000000;

struct options {
    const char *measure;
    const char *dir;
    uint64_t events;
    uint64_t videos;
    uint64_t seed;
};

struct event {
    uint64_t position;  // from 1
    uint64_t sequence;  // from 1, per origin
    int64_t stamp;      // milliseconds since 1970
    int64_t created_at; // seconds since 1970
    uint32_t origin, type, video, title, sharer;
    uint8_t payload[payload_size];
};

struct workload {
    uint64_t seed, events, videos;
    uint64_t index;
    uint64_t sequences[origin_count];
    unsigned octaves;
};

static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// Returns draw `k` of event `i`. An event has four draws, each a plain function of the index: splitmix64.
static inline uint64_t draw(uint64_t seed, uint64_t i, unsigned k) {
    return mix(seed + (4 * i + k + 1) * 0x9E3779B97F4A7C15u);
}

static inline struct workload workload_start(const struct options *o) {
    struct workload w = {.seed = o->seed, .events = o->events, .videos = o->videos};
    if (w.videos > w.events) w.videos = w.events;
    while ((1ull << w.octaves) < w.videos) w.octaves++;
    if (w.octaves == 0) w.octaves = 1;
    return w;
}

// Every octave of ranks has the same probability, which approximates Zipf's law with an exponent of 1. Only integers
// are used, because languages may round differently. Each video also gets one event of its own, in shuffled order; if
// there are as many videos as events, there are no other events.
static inline uint32_t pick_video(const struct workload *w, uint64_t i, uint64_t random) {
    uint64_t stride = w->events / w->videos;
    if (i % stride == 0 && i / stride < w->videos)
        return (uint32_t)((i / stride * 7368787 + 12345) % w->videos);
    uint64_t low = (1ull << (random >> 32) % w->octaves) - 1;
    return (uint32_t)((low + (random & low)) % w->videos);
}

static inline void workload_next(struct workload *w, struct event *e) {
    uint64_t i = w->index++;
    uint64_t who = draw(w->seed, i, 1), words = draw(w->seed, i, 2), rest = draw(w->seed, i, 3);
    e->position = i + 1;
    e->origin = (uint32_t)(who % origin_count);
    e->sequence = ++w->sequences[e->origin];
    e->stamp = (first_second + (int64_t)i) * 1000;
    e->created_at = first_second + (int64_t)i;
    if ((who >> 8) % 10 == 0) e->created_at -= 1 + (int64_t)((who >> 16) % 2592000);
    e->type = (uint32_t)(rest % 8);
    e->video = pick_video(w, i, draw(w->seed, i, 0));
    e->title = (uint32_t)(words % 1000);
    e->sharer = (uint32_t)((words >> 32) % 5000);
    // No contender compresses payloads, so only the first word has to differ.
    memset(e->payload, 'p', payload_size);
    memcpy(e->payload, &rest, sizeof rest);
}

static inline void video_key(uint32_t video, char key[key_size]) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t hash = mix((uint64_t)video + 1);
    memcpy(key, "youtube:", 8);
    for (unsigned c = 0; c < 10; c++) key[8 + c] = digits[hash >> (58 - 6 * c) & 63];
    key[18] = digits[(hash & 15) << 2];
}

static inline void print_digest(const char *peer, const struct options *o) {
    struct workload w = workload_start(o);
    struct event e;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < o->events; i++) {
        workload_next(&w, &e);
        char key[key_size];
        video_key(e.video, key);
        uint64_t first;
        memcpy(&first, e.payload, sizeof first);
        for (unsigned c = 0; c < key_size; c++) digest = mix(digest ^ (uint8_t)key[c]);
        const uint64_t fields[] = {
            e.position, e.origin, e.sequence, (uint64_t)e.stamp, e.type, e.title, e.sharer,
            (uint64_t)e.created_at, first,
        };
        const size_t count = sizeof fields / sizeof *fields;
        for (size_t f = 0; f < count; f++) digest = mix(digest ^ fields[f]);
    }
    printf("{\"measure\":\"digest\",\"peer\":\"%s\",\"events\":%" PRIu64
           ",\"digest\":\"%016" PRIx64 "\"}\n",
           peer, o->events, digest);
}

static inline double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Prints a line of results. A reader's checksum proves that it read the events; 0 means that there is no checksum.
static inline void print_line(const char *peer, const struct options *o, double seconds,
                              const char *version, const char *durability, uint64_t checksum) {
    printf("{\"measure\":\"%s\",\"peer\":\"%s\",\"events\":%" PRIu64
           ",\"seconds\":%.6f,\"perSecond\":%.1f,\"version\":\"%s\",\"durability\":\"%s\"",
           o->measure, peer, o->events, seconds, (double)o->events / seconds, version, durability);
    if (checksum) printf(",\"checksum\":\"%016" PRIx64 "\"", checksum);
    puts("}");
}

static inline struct options parse_options(int count, char **arguments) {
    struct options o = {.videos = 10000, .seed = 1};
    if (count > 1) o.measure = arguments[1];
    for (int i = 2; i + 1 < count; i += 2) {
        const char *name = arguments[i], *value = arguments[i + 1];
        if (strcmp(name, "--dir") == 0) o.dir = value;
        if (strcmp(name, "--events") == 0) o.events = strtoull(value, NULL, 10);
        if (strcmp(name, "--videos") == 0) o.videos = strtoull(value, NULL, 10);
        if (strcmp(name, "--seed") == 0) o.seed = strtoull(value, NULL, 10);
    }
    if (!o.measure || !o.dir || o.events == 0 || o.videos == 0) {
        fprintf(stderr, "usage: %s MEASURE --dir DIR --events N [--videos V] [--seed S]\n",
                arguments[0]);
        exit(64);
    }
    return o;
}

#endif
