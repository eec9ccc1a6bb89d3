// Shared code of the SQLite peers: one connection, and calls that end the program if they fail. Each program defines
// PROGRAM as its name.

#ifndef SQLITE_H
#define SQLITE_H

#include <sqlite3.h>

#include "workload.h"

#define PEER "sqlite"

static sqlite3 *db;

static void check(int code) {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "%s: %s\n", PROGRAM, sqlite3_errmsg(db));
    exit(1);
}

static void execute(const char *sql) { check(sqlite3_exec(db, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    return statement;
}

#endif
