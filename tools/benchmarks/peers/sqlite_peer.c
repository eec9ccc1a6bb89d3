// SQLite in C: a write-ahead log with synchronous=FULL, so that every commit is synced.
//
//   append-1      log only, a durable commit per event
//   append-1000   1,000 events per commit, with indexes on the event id and on the video
//   read          a scan in order of position that sums the first 8 bytes of every payload
//
// With synchronous=NORMAL, commits are not synced at all, so the figures would not be comparable.

#define PROGRAM "sqlite_peer"

#include "sqlite.h"

static void open_store(const struct options *o) {
    char path[4096];
    snprintf(path, sizeof path, "%s/events.sqlite", o->dir);
    check(sqlite3_open(path, &db));
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA synchronous=FULL");
    // LMDB reads directly from the page cache; a cache of 64 MB instead of 2 MB gives SQLite the same advantage.
    execute("PRAGMA cache_size=-65536");
    execute("CREATE TABLE event(position INTEGER PRIMARY KEY, origin INTEGER NOT NULL,"
            " sequence INTEGER NOT NULL, stamp INTEGER NOT NULL, type INTEGER NOT NULL,"
            " video TEXT NOT NULL, payload BLOB NOT NULL)");
}

static void step_and_reset(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

static double append(const struct options *o, uint64_t per_commit) {
    struct workload w = workload_start(o);
    struct event e;
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
    sqlite3_stmt *insert = prepare("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)");
    double start = seconds_now();
    for (uint64_t done = 0; done < o->events;) {
        step_and_reset(begin);
        for (uint64_t n = 0; n < per_commit && done < o->events; n++, done++) {
            char key[key_size];
            workload_next(&w, &e);
            video_key(e.video, key);
            sqlite3_bind_int64(insert, 1, (sqlite3_int64)e.position);
            sqlite3_bind_int64(insert, 2, e.origin);
            sqlite3_bind_int64(insert, 3, (sqlite3_int64)e.sequence);
            sqlite3_bind_int64(insert, 4, e.stamp);
            sqlite3_bind_int64(insert, 5, e.type);
            sqlite3_bind_text(insert, 6, key, key_size, SQLITE_STATIC);
            sqlite3_bind_blob(insert, 7, e.payload, payload_size, SQLITE_STATIC);
            step_and_reset(insert);
        }
        step_and_reset(commit);
    }
    double seconds = seconds_now() - start;
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(insert);
    return seconds;
}

static double scan(const struct options *o, uint64_t *sum) {
    sqlite3_stmt *select = prepare(
        "SELECT position, origin, sequence, stamp, type, video, payload"
        " FROM event ORDER BY position");
    uint64_t count = 0;
    double start = seconds_now();
    while (sqlite3_step(select) == SQLITE_ROW) {
        uint64_t first;
        memcpy(&first, sqlite3_column_blob(select, 6), sizeof first);
        *sum += first;
        count++;
    }
    double seconds = seconds_now() - start;
    check(sqlite3_finalize(select));
    if (count != o->events) check(SQLITE_CORRUPT);
    return seconds;
}

int main(int count, char **arguments) {
    struct options o = parse_options(count, arguments);
    if (strcmp(o.measure, "digest") == 0) return print_digest(PEER, &o), 0;

    open_store(&o);
    uint64_t sum = 0;
    double seconds;
    if (strcmp(o.measure, "append-1") == 0) {
        seconds = append(&o, 1);
    } else if (strcmp(o.measure, "append-1000") == 0) {
        execute("CREATE UNIQUE INDEX event_id ON event(origin, sequence)");
        execute("CREATE INDEX event_video ON event(video)");
        seconds = append(&o, batch_size);
    } else if (strcmp(o.measure, "read") == 0) {
        append(&o, batch_size);
        seconds = scan(&o, &sum);
    } else {
        fprintf(stderr, "sqlite_peer: no measure %s\n", o.measure);
        return 64;
    }
    check(sqlite3_close(db));

    print_line(PEER, &o, seconds, "SQLite " SQLITE_VERSION, "WAL, synchronous=FULL", sum);
    return 0;
}
