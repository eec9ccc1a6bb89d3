// Raw LMDB: the speed of the storage engine alone, for a program that needs nothing else from a log.
//
//   append-1          log only, a durable commit per event
//   append-1000-log   log only, 1,000 events per commit
//   append-1000       the same with three indexes, written in the same transaction
//   read              a cursor over the log that sums the first 8 bytes of every event
//
// "Durable" means LMDB's defaults, without MDB_NOSYNC, MDB_NOMETASYNC and MDB_WRITEMAP.

#include <lmdb.h>

#include "workload.h"

#define PEER "lmdb"

struct event_id {
    uint32_t origin_big_endian;
    uint64_t sequence_big_endian;
} __attribute__((packed));

struct store {
    MDB_env *env;
    MDB_dbi log, ids, tags, types;
};

static void check(int code, const char *what) {
    if (code == MDB_SUCCESS) return;
    fprintf(stderr, "lmdb_peer: %s: %s\n", what, mdb_strerror(code));
    exit(1);
}

static void open_store(struct store *s, const struct options *o) {
    const unsigned postings = MDB_CREATE | MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED |
                              MDB_INTEGERDUP;
    MDB_txn *txn;
    check(mdb_env_create(&s->env), "env_create");
    check(mdb_env_set_maxdbs(s->env, 8), "set_maxdbs");
    check(mdb_env_set_mapsize(s->env, (size_t)64 << 30), "set_mapsize");
    check(mdb_env_open(s->env, o->dir, 0, 0644), "env_open");
    check(mdb_txn_begin(s->env, NULL, 0, &txn), "txn_begin");
    check(mdb_dbi_open(txn, "log", MDB_CREATE | MDB_INTEGERKEY, &s->log), "log");
    check(mdb_dbi_open(txn, "ids", MDB_CREATE, &s->ids), "ids");
    check(mdb_dbi_open(txn, "tags", postings, &s->tags), "tags");
    check(mdb_dbi_open(txn, "types", postings, &s->types), "types");
    check(mdb_txn_commit(txn), "txn_commit");
}

static void put(MDB_cursor *cursor, void *key, size_t key_bytes, void *value, size_t value_bytes,
                unsigned flags) {
    MDB_val k = {key_bytes, key}, v = {value_bytes, value};
    check(mdb_cursor_put(cursor, &k, &v, flags), "cursor_put");
}

static double append(const struct store *s, const struct options *o, uint64_t per_commit,
                     int indexed) {
    struct workload w = workload_start(o);
    struct event e;
    double start = seconds_now();
    for (uint64_t done = 0; done < o->events;) {
        MDB_txn *txn;
        MDB_cursor *log, *ids = NULL, *tags = NULL, *types = NULL;
        check(mdb_txn_begin(s->env, NULL, 0, &txn), "txn_begin");
        check(mdb_cursor_open(txn, s->log, &log), "cursor_open");
        if (indexed) {
            check(mdb_cursor_open(txn, s->ids, &ids), "cursor_open");
            check(mdb_cursor_open(txn, s->tags, &tags), "cursor_open");
            check(mdb_cursor_open(txn, s->types, &types), "cursor_open");
        }
        for (uint64_t n = 0; n < per_commit && done < o->events; n++, done++) {
            workload_next(&w, &e);
            put(log, &e.position, 8, e.payload, payload_size, MDB_APPEND);
            if (!indexed) continue;
            struct event_id id = {__builtin_bswap32(e.origin), __builtin_bswap64(e.sequence)};
            put(ids, &id, sizeof id, &e.position, 8, 0);
            // Positions only grow, so a posting is always added to the end of its list.
            put(tags, &e.video, 4, &e.position, 8, MDB_APPENDDUP);
            put(types, &e.type, 4, &e.position, 8, MDB_APPENDDUP);
        }
        check(mdb_txn_commit(txn), "txn_commit");
    }
    return seconds_now() - start;
}

static double scan(const struct store *s, const struct options *o, uint64_t *sum) {
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t count = 0;
    double start = seconds_now();
    check(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn), "txn_begin");
    check(mdb_cursor_open(txn, s->log, &cursor), "cursor_open");
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        uint64_t first;
        memcpy(&first, value.mv_data, sizeof first);
        *sum += first;
        count++;
    }
    if (code != MDB_NOTFOUND) check(code, "cursor_get");
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    double seconds = seconds_now() - start;
    if (count != o->events) check(MDB_CORRUPTED, "number of events");
    return seconds;
}

int main(int count, char **arguments) {
    struct options o = parse_options(count, arguments);
    if (strcmp(o.measure, "digest") == 0) return print_digest(PEER, &o), 0;

    struct store s;
    open_store(&s, &o);
    uint64_t sum = 0;
    double seconds;
    if (strcmp(o.measure, "append-1") == 0) {
        seconds = append(&s, &o, 1, 0);
    } else if (strcmp(o.measure, "append-1000-log") == 0) {
        seconds = append(&s, &o, batch_size, 0);
    } else if (strcmp(o.measure, "append-1000") == 0) {
        seconds = append(&s, &o, batch_size, 1);
    } else if (strcmp(o.measure, "read") == 0) {
        append(&s, &o, batch_size, 0);
        seconds = scan(&s, &o, &sum);
    } else {
        fprintf(stderr, "lmdb_peer: no measure %s\n", o.measure);
        return 64;
    }
    mdb_env_close(s.env);

    char version[32];
    snprintf(version, sizeof version, "LMDB %d.%d.%d", MDB_VERSION_MAJOR, MDB_VERSION_MINOR,
             MDB_VERSION_PATCH);
    print_line(PEER, &o, seconds, version, "no flags", sum);
    return 0;
}
