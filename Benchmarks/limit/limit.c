// What this machine can do with the workload: the same kind of log and views as hklog's, with all that makes them
// safe left out. It trusts its input and knows neither streams nor text, time zones, covering or conflicts. A limit
// to measure against, not a design.
//
//     limit append FLAT LOG RUNS SYNC_EVERY VIEWS     appends batch by batch; SYNC_EVERY 0 means never
//     limit replay LOG RUNS                           reads the log into a uuid table and day buckets
//
// Prints a line for each figure: its name and the value of each run.
#define _GNU_SOURCE
#include "flat.h"
#include <lz4.h>
#include <math.h>
#include <nmmintrin.h>

enum { TYPES = 64, DAYS = 4096, AHEAD = 16 };
static const int64_t DAY = 86400000000LL;
static const int64_t FIRST_DAY = 1546300800000000LL / 86400000000LL - 400;

static uint32_t crc32c(const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    uint64_t crc = ~0u;
    for (; count >= 8; at += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    while (count--) crc = _mm_crc32_u8(crc, *at++);
    return ~(uint32_t)crc;
}

static void *pages(size_t count) {
    void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    madvise(memory, count, MADV_HUGEPAGE);
    return memory;
}

// ---- Frames: header, raw uuids, then LZ4 of runs of one type with columns of fixed width.

typedef struct {
    uint32_t stored, crc, adds, deletes, raw, packed;
} FrameHeader;

typedef struct {
    uint8_t type, start_width, duration_width, scale, value_width, pad[3];
    uint32_t count;
    int64_t first_start, least_value;
} RunHeader;

typedef struct {
    uint8_t *frame, *columns;
    uint32_t *order;
    uint64_t *numbers;
} Encoder;

static const double SCALES[6] = {1, 10, 100, 1000, 1e4, 1e5};

static uint64_t zigzag(int64_t x) { return ((uint64_t)x << 1) ^ (uint64_t)(x >> 63); }
static int64_t unzigzag(uint64_t x) { return (int64_t)(x >> 1) ^ -(int64_t)(x & 1); }
static int width(uint64_t bits) { return bits ? (71 - __builtin_clzll(bits)) / 8 : 0; }

static uint8_t *put_column(uint8_t *out, const uint64_t *numbers, uint32_t count, int bytes) {
    if (bytes)
        for (uint32_t i = 0; i < count; i++, out += bytes) memcpy(out, &numbers[i], 8);
    return out;
}

// Fills `numbers` with values as integers of a decimal scale; answers the scale + 1, or 0 when they are none.
static int decimal(const FlatRecord *records, const uint32_t *order, uint32_t count, uint64_t *numbers) {
    for (int scale = 0; scale < 6; scale++) {
        uint32_t i = 0;
        for (; i < count; i++) {
            double value = records[order[i]].value, scaled = value * SCALES[scale];
            if (!(fabs(scaled) < 1e15)) return 0;
            int64_t whole = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
            if ((double)whole / SCALES[scale] != value || (whole == 0 && signbit(value))) break;
            numbers[i] = (uint64_t)whole;
        }
        if (i == count) return scale + 1;
    }
    return 0;
}

static uint8_t *put_run(Encoder *encoder, uint8_t *out, const FlatRecord *records, const uint32_t *order,
                        uint32_t count) {
    uint64_t *numbers = encoder->numbers, bits = 0;
    RunHeader run = {.type = records[order[0]].type, .count = count, .first_start = records[order[0]].start};
    uint8_t *run_at = out;
    out += sizeof run;
    int64_t previous = run.first_start;
    for (uint32_t i = 0; i < count; i++) {
        bits |= numbers[i] = zigzag(records[order[i]].start - previous);
        previous = records[order[i]].start;
    }
    out = put_column(out, numbers, count, run.start_width = width(bits));
    bits = 0;
    for (uint32_t i = 0; i < count; i++)
        bits |= numbers[i] = (uint64_t)(records[order[i]].end - records[order[i]].start);
    out = put_column(out, numbers, count, run.duration_width = width(bits));
    if ((run.scale = decimal(records, order, count, numbers))) {
        int64_t least = (int64_t)numbers[0];
        for (uint32_t i = 1; i < count; i++)
            if ((int64_t)numbers[i] < least) least = (int64_t)numbers[i];
        bits = 0;
        for (uint32_t i = 0; i < count; i++) bits |= numbers[i] -= (uint64_t)least;
        run.least_value = least;
        out = put_column(out, numbers, count, run.value_width = width(bits));
    } else {
        for (uint32_t i = 0; i < count; i++, out += 8) memcpy(out, &records[order[i]].value, 8);
    }
    for (uint32_t i = 0; i < count; i++) *out++ = (uint8_t)records[order[i]].source;
    memcpy(run_at, &run, sizeof run);
    return out;
}

static Encoder make_encoder(uint32_t batch) {
    size_t room = batch * 64ul + (1 << 16);
    return (Encoder){malloc(room), malloc(room), malloc(batch * 4ul), malloc(batch * 8ul + 64)};
}

// Encodes adds and the deletes that follow them; answers the frame's size.
static size_t encode(Encoder *encoder, const FlatRecord *records, uint32_t adds, uint32_t deletes) {
    uint32_t counts[TYPES] = {0}, places[TYPES], place = 0;
    for (uint32_t i = 0; i < adds; i++) counts[records[i].type]++;
    for (int type = 0; type < TYPES; type++) {
        places[type] = place;
        place += counts[type];
    }
    for (uint32_t i = 0; i < adds; i++) encoder->order[places[records[i].type]++] = i;
    FrameHeader *header = (FrameHeader *)encoder->frame;
    uint8_t *out = encoder->frame + sizeof *header;
    for (uint32_t i = 0; i < adds; i++, out += 16) memcpy(out, records[encoder->order[i]].uuid, 16);
    for (uint32_t i = 0; i < deletes; i++, out += 16) memcpy(out, records[adds + i].uuid, 16);
    uint8_t *columns = encoder->columns;
    for (uint32_t first = 0; first < adds;) {
        uint32_t count = counts[records[encoder->order[first]].type];
        columns = put_run(encoder, columns, records, encoder->order + first, count);
        first += count;
    }
    uint32_t raw = columns - encoder->columns;
    int packed = LZ4_compress_default((char *)encoder->columns, (char *)out, raw, LZ4_compressBound(raw));
    if (packed <= 0 || (uint32_t)packed >= raw) memcpy(out, encoder->columns, packed = raw);
    out += packed;
    header->stored = out - encoder->frame - sizeof *header;
    header->adds = adds;
    header->deletes = deletes;
    header->raw = raw;
    header->packed = packed;
    header->crc = crc32c(&header->adds, out - (uint8_t *)&header->adds);
    return out - encoder->frame;
}

// ---- Views: rows as columns, a table from uuid to row, and exact sums of each type and UTC day.

typedef struct {
    __int128 sum;
    double least, greatest;
    uint32_t count, is_stale;
} Bucket;

typedef struct {
    uint64_t count, mask;
    uint8_t (*uuids)[16];
    int64_t *starts, *durations;
    double *values;
    uint8_t *types, *sources;
    uint64_t *slots;  // tag in the upper half, row + 1 in the lower
    Bucket *buckets;
    size_t mapped[8];
} Views;

enum { DEAD = 128 };

static Views make_views(uint64_t rows) {
    Views views = {0};
    uint64_t slots = 1024;
    while (slots * 6 < rows * 10) slots *= 2;
    views.mask = slots - 1;
    size_t sizes[8] = {rows * 16, rows * 8, rows * 8, rows * 8, rows + 64, rows + 64, slots * 8,
                       sizeof(Bucket) * TYPES * DAYS};
    memcpy(views.mapped, sizes, sizeof sizes);
    views.uuids = pages(sizes[0]);
    views.starts = pages(sizes[1]);
    views.durations = pages(sizes[2]);
    views.values = pages(sizes[3]);
    views.types = pages(sizes[4]);
    views.sources = pages(sizes[5]);
    views.slots = pages(sizes[6]);
    views.buckets = pages(sizes[7]);
    return views;
}

static void free_views(Views *views) {
    void *all[8] = {views->uuids, views->starts, views->durations, views->values,
                    views->types, views->sources, views->slots, views->buckets};
    for (int i = 0; i < 8; i++) munmap(all[i], views->mapped[i]);
}

// A double as a fixed-point number with 72 bits after the point.
static __int128 fixed(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    int exponent = (bits >> 52) & 2047;
    if (!exponent) return 0;
    __int128 mantissa = (bits & ((1ull << 52) - 1)) | (1ull << 52);
    int shift = exponent - 1075 + 72;
    mantissa = shift >= 0 ? mantissa << shift : mantissa >> -shift;
    return bits >> 63 ? -mantissa : mantissa;
}

static uint64_t hash(const uint8_t *uuid) {
    uint64_t word;
    memcpy(&word, uuid, 8);
    return word * 0x9E3779B97F4A7C15ull;
}

static uint64_t place(const Views *views, const uint8_t *uuid) { return hash(uuid) >> 20 & views->mask; }

static void forget(Views *views, uint64_t row) {
    if (views->types[row] & DEAD) return;
    Bucket *bucket = &views->buckets[views->types[row] * DAYS + (views->starts[row] / DAY - FIRST_DAY)];
    bucket->sum -= fixed(views->values[row]);
    bucket->count--;
    if (views->values[row] <= bucket->least || views->values[row] >= bucket->greatest) bucket->is_stale = 1;
    views->types[row] |= DEAD;
}

// The slot of a uuid, or the free one where it belongs.
static uint64_t *slot(Views *views, const uint8_t *uuid) {
    uint64_t tag = hash(uuid) << 32 >> 44, at = place(views, uuid);
    for (;; at = (at + 1) & views->mask) {
        uint64_t entry = views->slots[at];
        if (!entry) return &views->slots[at];
        if (entry >> 44 == tag && !memcmp(views->uuids[(uint32_t)entry - 1], uuid, 16)) return &views->slots[at];
    }
}

static void insert(Views *views, uint64_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t row = first + i;
        if (i + AHEAD < count) __builtin_prefetch(&views->slots[place(views, views->uuids[row + AHEAD])], 1);
        uint64_t *found = slot(views, views->uuids[row]);
        if (*found) forget(views, (uint32_t)*found - 1);
        *found = hash(views->uuids[row]) << 32 >> 44 << 44 | (row + 1);
    }
}

static void delete(Views *views, const uint8_t *uuid) {
    uint64_t entry = *slot(views, uuid);
    if (entry) forget(views, (uint32_t)entry - 1);
}

// Rows of one type and day come in runs: one bucket is touched for each run.
static void sum_up(Views *views, uint64_t row, uint32_t count) {
    for (uint64_t end = row + count; row < end;) {
        int type = views->types[row];
        int64_t day = views->starts[row] / DAY, least_start = day * DAY;
        Bucket *bucket = &views->buckets[type * DAYS + (day - FIRST_DAY)];
        __int128 sum = 0;
        double least = views->values[row], greatest = least;
        uint64_t first = row;
        do {
            double value = views->values[row];
            sum += fixed(value);
            least = value < least ? value : least;
            greatest = value > greatest ? value : greatest;
            row++;
        } while (row < end && views->types[row] == type && views->starts[row] >= least_start
                 && views->starts[row] < least_start + DAY);
        if (!bucket->count || least < bucket->least) bucket->least = least;
        if (!bucket->count || greatest > bucket->greatest) bucket->greatest = greatest;
        bucket->sum += sum;
        bucket->count += row - first;
    }
}

// Least and greatest of buckets that lost one of them.
static void settle(Views *views) {
    for (int i = 0; i < TYPES * DAYS; i++)
        if (views->buckets[i].is_stale) {
            views->buckets[i].least = INFINITY;
            views->buckets[i].greatest = -INFINITY;
        }
    for (uint64_t row = 0; row < views->count; row++) {
        if (views->types[row] & DEAD) continue;
        Bucket *bucket = &views->buckets[views->types[row] * DAYS + (views->starts[row] / DAY - FIRST_DAY)];
        if (!bucket->is_stale) continue;
        if (views->values[row] < bucket->least) bucket->least = views->values[row];
        if (views->values[row] > bucket->greatest) bucket->greatest = views->values[row];
    }
    for (int i = 0; i < TYPES * DAYS; i++) views->buckets[i].is_stale = 0;
}

static uint64_t load(const uint8_t *at, uint64_t mask) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word & mask;
}

static uint64_t mask_of(int bytes) { return bytes == 8 ? ~0ull : (1ull << bytes * 8) - 1; }

static void decode(Views *views, const FrameHeader *header, uint8_t *scratch) {
    const uint8_t *in = (const uint8_t *)(header + 1);
    uint64_t row = views->count;
    memcpy(views->uuids[row], in, header->adds * 16ul);
    in += (header->adds + header->deletes) * 16ul;
    if (header->packed == header->raw) memcpy(scratch, in, header->raw);
    else if (LZ4_decompress_safe((char *)in, (char *)scratch, header->packed, header->raw) != (int)header->raw)
        fail("lz4");
    for (const uint8_t *at = scratch, *end = scratch + header->raw; at < end;) {
        RunHeader run;
        memcpy(&run, at, sizeof run);
        at += sizeof run;
        int64_t start = run.first_start;
        uint64_t mask = mask_of(run.start_width);
        for (uint32_t i = 0; i < run.count; i++, at += run.start_width)
            views->starts[row + i] = start += unzigzag(load(at, mask));
        mask = mask_of(run.duration_width);
        for (uint32_t i = 0; i < run.count; i++, at += run.duration_width)
            views->durations[row + i] = (int64_t)load(at, mask);
        if (run.scale) {
            mask = mask_of(run.value_width);
            for (uint32_t i = 0; i < run.count; i++, at += run.value_width)
                views->values[row + i] = (double)((int64_t)load(at, mask) + run.least_value) / SCALES[run.scale - 1];
        } else {
            memcpy(views->values + row, at, run.count * 8ul);
            at += run.count * 8ul;
        }
        memcpy(views->sources + row, at, run.count);
        at += run.count;
        memset(views->types + row, run.type, run.count);
        row += run.count;
    }
}

static void apply(Views *views, const FrameHeader *header, uint8_t *scratch) {
    decode(views, header, scratch);
    sum_up(views, views->count, header->adds);
    insert(views, views->count, header->adds);
    views->count += header->adds;
    const uint8_t *deletes = (const uint8_t *)(header + 1) + header->adds * 16ul;
    for (uint32_t i = 0; i < header->deletes; i++) delete(views, deletes + i * 16ul);
}

// ---- Runs

typedef struct {
    uint64_t bytes, syncs, live, buckets;
    double seconds, processor_seconds, sync_seconds, daily_seconds, sum;
    long memory;
} Result;

static void count_up(const Views *views, Result *result) {
    result->live = result->buckets = 0;
    result->sum = 0;
    for (int i = 0; i < TYPES * DAYS; i++) {
        const Bucket *bucket = &views->buckets[i];
        if (!bucket->count) continue;
        result->live += bucket->count;
        result->buckets++;
        result->sum += ldexp((double)bucket->sum, -72);
    }
}

static void append_once(Flat flat, const char *path, int sync_every, int with_views, Result *result) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    uint64_t rows = flat.header.adds;
    if (fd < 0 || write(fd, &rows, 8) != 8 || fdatasync(fd)) fail(path);
    Encoder encoder = make_encoder(flat.header.batch);
    uint8_t *scratch = malloc(flat.header.batch * 64ul + (1 << 16));
    long before = peak_kilobytes(1);
    double began = now(), processor_began = processor_now();
    Views views = {0};
    if (with_views) views = make_views(rows);
    uint64_t at = 0, batches = 0;
    result->bytes = 8;
    result->syncs = 0;
    result->sync_seconds = 0;
    while (at < flat.header.records) {
        const FlatRecord *records = flat.records + at;
        uint32_t adds = 0, deletes = 0;
        while (at < flat.header.records && !flat.records[at].is_delete && adds < flat.header.batch) at++, adds++;
        while (at < flat.header.records && flat.records[at].is_delete) at++, deletes++;
        size_t count = encode(&encoder, records, adds, deletes);
        if (write(fd, encoder.frame, count) != (ssize_t)count) fail(path);
        result->bytes += count;
        if (sync_every && ++batches % sync_every == 0) {
            double sync_began = now();
            if (fdatasync(fd)) fail(path);
            result->sync_seconds += now() - sync_began;
            result->syncs++;
        }
        if (with_views) apply(&views, (FrameHeader *)encoder.frame, scratch);
    }
    if (with_views) settle(&views);
    result->seconds = now() - began;
    result->processor_seconds = processor_now() - processor_began;
    result->memory = peak_kilobytes(0) - before;
    if (with_views) {
        count_up(&views, result);
        free_views(&views);
    }
    close(fd);
    free(encoder.frame);
    free(encoder.columns);
    free(encoder.order);
    free(encoder.numbers);
    free(scratch);
}

static void replay_once(const char *path, Result *result) {
    long before = peak_kilobytes(1);
    double began = now(), processor_began = processor_now();
    uint64_t rows;
    size_t room = 4 << 20, have = 0, at = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &rows, 8) != 8) fail(path);
    Views views = make_views(rows);
    uint8_t *buffer = malloc(room + 64), *scratch = malloc(room);
    for (;;) {
        FrameHeader *header = (FrameHeader *)(buffer + at);
        if (have - at < sizeof *header || have - at < sizeof *header + header->stored) {
            memmove(buffer, buffer + at, have - at);
            have -= at;
            at = 0;
            ssize_t count = read(fd, buffer + have, room - have);
            if (count <= 0) break;
            have += count;
            continue;
        }
        if (crc32c(&header->adds, header->stored + sizeof *header - 8) != header->crc) fail("checksum");
        apply(&views, header, scratch);
        at += sizeof *header + header->stored;
    }
    settle(&views);
    result->seconds = now() - began;
    result->processor_seconds = processor_now() - processor_began;
    result->memory = peak_kilobytes(0) - before;
    close(fd);
    double daily_began = now();
    volatile double total = 0;
    for (int i = 0; i < TYPES * DAYS; i++) {
        const Bucket *bucket = &views.buckets[i];
        if (bucket->count) total += ldexp((double)bucket->sum, -72) / bucket->count + bucket->least + bucket->greatest;
    }
    result->daily_seconds = now() - daily_began;
    count_up(&views, result);
    free_views(&views);
    free(buffer);
    free(scratch);
}

int main(int count, char **arguments) {
    enum { MOST_RUNS = 64 };
    Result results[MOST_RUNS] = {0};
    int appends = count == 7 && !strcmp(arguments[1], "append");
    if (!appends && !(count == 4 && !strcmp(arguments[1], "replay"))) {
        fprintf(stderr, "usage: limit append FLAT LOG RUNS SYNC_EVERY VIEWS | limit replay LOG RUNS\n");
        return 64;
    }
    int runs = atoi(arguments[appends ? 4 : 3]);
    if (runs < 1 || runs > MOST_RUNS) runs = MOST_RUNS;
    if (appends) {
        Flat flat = flat_open(arguments[2]);
        for (int i = 0; i < runs; i++)
            append_once(flat, arguments[3], atoi(arguments[5]), atoi(arguments[6]), &results[i]);
    } else {
        for (int i = 0; i < runs; i++) replay_once(arguments[2], &results[i]);
    }
    Result last = results[runs - 1];
    PRINT_EACH("seconds", results, runs, seconds);
    PRINT_EACH("processorSeconds", results, runs, processor_seconds);
    PRINT_EACH("memoryKilobytes", results, runs, memory);
    if (appends) {
        PRINT_EACH("syncSeconds", results, runs, sync_seconds);
        printf("bytes %lu\nsyncs %lu\n", last.bytes, last.syncs);
    } else {
        PRINT_EACH("dailySeconds", results, runs, daily_seconds);
    }
    printf("live %lu\nbuckets %lu\nsum %.6f\n", last.live, last.buckets, last.sum);
    return 0;
}
