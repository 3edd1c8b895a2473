// The workload into a SQLite table as an app's author would write it, and statistics of days out of it.
//
//     sqlite-peer FLAT DATABASE BATCH NORMAL|FULL plain|daily
//
// plain: a table by uuid, upserts, and GROUP BY over an index that covers it.
// daily: the same, and a table of days that triggers keep.
// WAL, prepared statements, and a page cache of 256 MB, with which SQLite was fastest here.
#include "../limit/flat.h"
#include <sqlite3.h>

static sqlite3 *database;

static void must(int status) {
    if (status != SQLITE_OK && status != SQLITE_DONE && status != SQLITE_ROW) {
        fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
        exit(1);
    }
}

static void run(const char *text) { must(sqlite3_exec(database, text, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(const char *text) {
    sqlite3_stmt *statement;
    must(sqlite3_prepare_v2(database, text, -1, &statement, NULL));
    return statement;
}

static void step(sqlite3_stmt *statement) {
    must(sqlite3_step(statement));
    must(sqlite3_reset(statement));
}

static double ask(const char *text, long *rows) {
    sqlite3_stmt *statement = prepare(text);
    double began = now(), total = 0;
    *rows = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        total += sqlite3_column_double(statement, 3);
        ++*rows;
    }
    double seconds = now() - began;
    sqlite3_finalize(statement);
    return total == total ? seconds : -1;
}

static const char *const TABLE =
    "CREATE TABLE sample(uuid BLOB PRIMARY KEY, type INT, source INT, start INT, end INT, value REAL)"
    " WITHOUT ROWID";
static const char *const INDEX = "CREATE INDEX sample_by_day ON sample(type, start, value)";

#define DAY "86400000000"
#define RECOMPUTED(row) \
    "UPDATE daily SET (n, total, least, greatest) = (SELECT count(*), total(value), min(value), max(value)" \
    " FROM sample WHERE type = " row ".type AND start >= " row ".start / " DAY " * " DAY \
    " AND start < (" row ".start / " DAY " + 1) * " DAY ")" \
    " WHERE type = " row ".type AND day = " row ".start / " DAY ";"

static const char *const TRIGGERS =
    "CREATE TABLE daily(type INT, day INT, n INT, total REAL, least REAL, greatest REAL,"
    " PRIMARY KEY(type, day)) WITHOUT ROWID;"
    "CREATE TRIGGER added AFTER INSERT ON sample BEGIN"
    " INSERT INTO daily VALUES(new.type, new.start / " DAY ", 1, new.value, new.value, new.value)"
    " ON CONFLICT(type, day) DO UPDATE SET n = n + 1, total = total + excluded.total,"
    " least = min(least, excluded.least), greatest = max(greatest, excluded.greatest); END;"
    "CREATE TRIGGER deleted AFTER DELETE ON sample BEGIN " RECOMPUTED("old") " END;"
    "CREATE TRIGGER changed AFTER UPDATE ON sample BEGIN " RECOMPUTED("old") " " RECOMPUTED("new") " END;";

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: sqlite-peer FLAT DATABASE BATCH NORMAL|FULL plain|daily\n");
        return 64;
    }
    Flat flat = flat_open(arguments[1]);
    const char *path = arguments[2];
    uint64_t batch = strtoull(arguments[3], NULL, 10);
    int keeps_days = !strcmp(arguments[5], "daily");
    char text[4096];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
        unlink(text);
    }
    must(sqlite3_open(path, &database));
    run("PRAGMA journal_mode=WAL; PRAGMA cache_size=-262144; PRAGMA wal_autocheckpoint=16000");
    snprintf(text, sizeof text, "PRAGMA synchronous=%s", arguments[4]);
    run(text);
    run(TABLE);
    if (keeps_days) {
        run(INDEX);
        run(TRIGGERS);
    }
    sqlite3_stmt *upsert = prepare(
        "INSERT INTO sample(uuid, type, source, start, end, value) VALUES(?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(uuid) DO UPDATE SET type = excluded.type, source = excluded.source, start = excluded.start,"
        " end = excluded.end, value = excluded.value");
    sqlite3_stmt *removal = prepare("DELETE FROM sample WHERE uuid = ?");
    sqlite3_stmt *begin = prepare("BEGIN"), *commit = prepare("COMMIT");

    long before = peak_kilobytes(1);
    double began = now(), processor_began = processor_now();
    uint64_t adds = 0;
    step(begin);
    for (uint64_t i = 0; i < flat.header.records; i++) {
        const FlatRecord *record = &flat.records[i];
        if (!record->is_delete && adds && adds % batch == 0) {
            step(commit);
            step(begin);
        }
        if (record->is_delete) {
            sqlite3_bind_blob(removal, 1, record->uuid, 16, SQLITE_STATIC);
            step(removal);
            continue;
        }
        sqlite3_bind_blob(upsert, 1, record->uuid, 16, SQLITE_STATIC);
        sqlite3_bind_int(upsert, 2, record->type);
        sqlite3_bind_int(upsert, 3, record->source);
        sqlite3_bind_int64(upsert, 4, record->start);
        sqlite3_bind_int64(upsert, 5, record->end);
        sqlite3_bind_double(upsert, 6, record->value);
        step(upsert);
        adds++;
    }
    step(commit);
    printf("seconds %.6f\nprocessorSeconds %.6f\nmemoryKilobytes %ld\n", now() - began,
           processor_now() - processor_began, peak_kilobytes(0) - before);
    run("PRAGMA wal_checkpoint(TRUNCATE)");
    struct stat status;
    if (stat(path, &status)) fail(path);
    printf("bytes %ld\n", (long)status.st_size);
    if (!keeps_days) run(INDEX);
    const char *question =
        keeps_days ? "SELECT type, day, n, total, least, greatest, total / n FROM daily WHERE n > 0 ORDER BY 1, 2"
                   : "SELECT type, start / " DAY ", count(*), total(value), min(value), max(value), avg(value)"
                     " FROM sample GROUP BY 1, 2";
    long rows = 0;
    printf("dailySeconds");
    for (int i = 0; i < 5; i++) printf(" %.6f", ask(question, &rows));
    printf("\nbuckets %ld\n", rows);
    sqlite3_stmt *all[] = {upsert, removal, begin, commit};
    for (int i = 0; i < 4; i++) sqlite3_finalize(all[i]);
    sqlite3_close(database);
    return 0;
}
