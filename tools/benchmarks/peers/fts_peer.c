// SQLite's full-text index, FTS5, in C: a page of results for the first letters of a word.
//
//   search         the newest 20, with the matching words marked
//   search-ranked  the best 20 by bm25, also marked
//
// The index also stores prefixes of three letters (`prefix='3'`) and is merged into one segment, so FTS5 has every
// advantage for this query. The first command in a directory fills the table.

#define PROGRAM "fts_peer"

#include "sqlite.h"
#include "texts.h"

enum { hits_per_page = 20, questions_max = 200, ranked_max = 20 };

static void fill(const struct options *o) {
    // Only reading is timed.
    execute("PRAGMA synchronous=OFF");
    execute("CREATE VIRTUAL TABLE video USING fts5(title, sharer, comment, prefix='3',"
            " tokenize='unicode61 remove_diacritics 2')");
    sqlite3_stmt *insert = prepare(
        "INSERT INTO video(rowid, title, sharer, comment) VALUES (?, ?, ?, ?)");
    struct texts texts;
    execute("BEGIN");
    for (uint64_t i = 0; i < o->events; i++) {
        texts_of(o->seed, i, &texts);
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(insert, 2, texts.title, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, texts.sharer, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 4, texts.comment, -1, SQLITE_STATIC);
        check(sqlite3_step(insert));
        check(sqlite3_reset(insert));
    }
    check(sqlite3_finalize(insert));
    execute("COMMIT");
    execute("INSERT INTO video(video) VALUES ('optimize')");
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    struct options o = parse_options(count, arguments);
    int is_ranked = strcmp(o.measure, "search-ranked") == 0;
    if (!is_ranked && strcmp(o.measure, "search") != 0) {
        fprintf(stderr, "fts_peer: no measure %s\n", o.measure);
        return 64;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/fts.sqlite", o.dir);
    int is_new = access(path, F_OK) != 0;
    check(sqlite3_open(path, &db));
    execute("PRAGMA journal_mode=WAL");
    execute("PRAGMA cache_size=-65536");
    if (is_new) fill(&o);

    char beginning[8];
    commonest_beginning(beginning);
    strcat(beginning, "*");
    sqlite3_stmt *select = prepare(
        is_ranked ? "SELECT rowid, highlight(video, 0, '<', '>'), highlight(video, 1, '<', '>')"
                    " FROM video WHERE video MATCH ? ORDER BY rank LIMIT 20"
                  : "SELECT rowid, highlight(video, 0, '<', '>'), highlight(video, 1, '<', '>')"
                    " FROM video WHERE video MATCH ? ORDER BY rowid DESC LIMIT 20");
    static double seconds[questions_max];
    int questions = is_ranked ? ranked_max : questions_max;
    uint64_t sum = 0;
    double total = 0;
    // The first queries load pages into the cache and are not counted.
    for (int q = -5; q < questions; q++) {
        int found = 0;
        sum = 0;
        double start = seconds_now();
        sqlite3_bind_text(select, 1, beginning, -1, SQLITE_STATIC);
        while (sqlite3_step(select) == SQLITE_ROW) {
            sum += (uint64_t)sqlite3_column_int64(select, 0);
            if (!strchr((const char *)sqlite3_column_text(select, 1), '<')) check(SQLITE_CORRUPT);
            sqlite3_column_text(select, 2);
            found++;
        }
        check(sqlite3_reset(select));
        if (found != hits_per_page) check(SQLITE_CORRUPT);
        if (q >= 0) total += seconds[q] = seconds_now() - start;
    }
    check(sqlite3_finalize(select));
    sqlite3_stmt *size = prepare("SELECT page_count * page_size FROM pragma_page_count(),"
                                 " pragma_page_size()");
    check(sqlite3_step(size));
    double bytes = sqlite3_column_double(size, 0) / (double)o.events;
    check(sqlite3_finalize(size));
    check(sqlite3_close(db));
    qsort(seconds, (size_t)questions, sizeof *seconds, by_value);
    printf("{\"measure\":\"%s\",\"peer\":\"" PEER "\",\"events\":%" PRIu64 ",\"seconds\":%.6f"
           ",\"medianSeconds\":%.9f,\"p99Seconds\":%.9f,\"bytesPerVideo\":%.1f"
           ",\"version\":\"SQLite " SQLITE_VERSION "\",\"durability\":\"FTS5, prefix='3'\"",
           o.measure, o.events, total, seconds[questions / 2], seconds[questions * 99 / 100],
           bytes);
    // Ranking finds other videos, so there is no checksum.
    if (!is_ranked) printf(",\"checksum\":\"%016" PRIx64 "\"", sum);
    puts("}");
    return 0;
}
