// The workload as a flat file, for every program that is compared: a header, then records in the order of the log.
// `hklog-benchmarks export` writes it.
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char magic[8];  // HKLFLAT1
    uint64_t records, adds, deletes, seed, batch, types, sources;
} FlatHeader;

typedef struct {
    uint8_t uuid[16];
    int64_t start, end;  // microseconds since 1970
    double value;
    uint16_t type, source, is_delete, unused;
} FlatRecord;

typedef struct {
    FlatHeader header;
    const FlatRecord *records;
} Flat;

static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

static inline Flat flat_open(const char *path) {
    Flat flat;
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status)) fail(path);
    const char *bytes = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED) fail(path);
    close(fd);
    memcpy(&flat.header, bytes, sizeof flat.header);
    if (memcmp(flat.header.magic, "HKLFLAT1", 8)
        || sizeof(FlatHeader) + flat.header.records * sizeof(FlatRecord) != (uint64_t)status.st_size) {
        fprintf(stderr, "%s: not a flat workload\n", path);
        exit(1);
    }
    flat.records = (const FlatRecord *)(bytes + sizeof(FlatHeader));
    return flat;
}

static inline double clock_seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static inline double now(void) { return clock_seconds(CLOCK_MONOTONIC); }
static inline double processor_now(void) { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

// A high-water mark of memory in kilobytes, as the kernel keeps it; `reset` starts it anew.
static inline long peak_kilobytes(int reset) {
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, reset ? "VmRSS:" : "VmHWM:", 6)) kilobytes = atol(line + 6);
    if (file) fclose(file);
    if (reset && (file = fopen("/proc/self/clear_refs", "w"))) {
        fputs("5", file);
        fclose(file);
    }
    return kilobytes;
}

// A line of a figure's name and its value in each run.
#define PRINT_EACH(name, results, runs, field) \
    do { \
        printf("%s", name); \
        for (int each = 0; each < (runs); each++) printf(" %.6f", (double)(results)[each].field); \
        printf("\n"); \
    } while (0)
