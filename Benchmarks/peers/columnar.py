"""The workload in DuckDB and in Parquet, as a data analyst would keep it.

    columnar.py duckdb FLAT DIRECTORY        a table without key, in batches of 10 000; statistics of days
    columnar.py parquet FLAT DIRECTORY       the log as Parquet: its size
    columnar.py replay FLAT DIRECTORY        statistics of days from that Parquet, deletions applied
    columnar.py replay-keyed FLAT DIRECTORY  the same into a table with a unique index on the uuid

Prints a line for each figure: its name and the value of each run.
"""

import os
import sys
import time

import duckdb
import numpy
import pyarrow
import pyarrow.parquet

RECORD = numpy.dtype([
    ("uuid", "V16"), ("start", "<i8"), ("end", "<i8"), ("value", "<f8"),
    ("type", "<u2"), ("source", "<u2"), ("is_delete", "<u2"), ("unused", "<u2"),
])
BATCH = 10_000
DAYS = """SELECT type, start // 86400000000 AS day, count(*), sum(value), min(value), max(value), avg(value)
          FROM {source} GROUP BY 1, 2"""
LIVE = """(SELECT * FROM '{file}' a WHERE NOT is_delete
           AND NOT EXISTS (SELECT 1 FROM '{file}' b WHERE b.is_delete AND b.uuid = a.uuid))"""


def show(name, *values):
    print(name, *(f"{value:.6f}" for value in values))


def timed(work):
    began, processor_began = time.monotonic(), time.process_time()
    result = work()
    return time.monotonic() - began, time.process_time() - processor_began, result


def identifiers(records):
    packed = numpy.ascontiguousarray(records["uuid"]).tobytes()
    return pyarrow.Array.from_buffers(pyarrow.binary(16), len(records), [None, pyarrow.py_buffer(packed)])


def table(records):
    columns = {name: numpy.ascontiguousarray(records[name]) for name in ("type", "source", "start", "end", "value")}
    return pyarrow.table({"uuid": identifiers(records), **columns})


def fill(database, records):
    """Inserts and deletes in transactions of a batch."""
    edges = numpy.flatnonzero(records["is_delete"] == 0)[::BATCH].tolist() + [len(records)]
    for first, end in zip(edges, edges[1:]):
        part = numpy.asarray(records[first:end])
        added = table(part[part["is_delete"] == 0])
        deleted = pyarrow.table({"uuid": identifiers(part[part["is_delete"] == 1])})
        database.execute("BEGIN")
        database.execute("INSERT INTO sample SELECT * FROM added")
        if deleted.num_rows:
            database.execute("DELETE FROM sample WHERE uuid IN (SELECT uuid FROM deleted)")
        database.execute("COMMIT")
        assert added.num_rows


def measure_duckdb(records, directory):
    path = f"{directory}/peer.duckdb"
    for name in (path, path + ".wal"):
        if os.path.exists(name):
            os.remove(name)
    database = duckdb.connect(path)
    database.execute(
        'CREATE TABLE sample(uuid BLOB, type USMALLINT, source USMALLINT, start BIGINT, "end" BIGINT, value DOUBLE)')
    seconds, processor, _ = timed(lambda: fill(database, records))
    show("seconds", seconds)
    show("processorSeconds", processor)
    database.execute("CHECKPOINT")
    show("bytes", os.path.getsize(path))
    asked = [timed(lambda: database.execute(DAYS.format(source="sample")).fetchnumpy()) for _ in range(6)]
    show("dailySeconds", *(seconds for seconds, _, _ in asked[1:]))
    show("buckets", len(asked[0][2]["day"]))
    database.close()

    def reopen():
        again = duckdb.connect(path)
        return again.execute(DAYS.format(source="sample")).fetchnumpy()

    show("openSeconds", timed(reopen)[0])


def write_parquet(records, path):
    schema = pyarrow.schema([
        ("uuid", pyarrow.binary(16)), ("start", pyarrow.int64()), ("duration", pyarrow.int64()),
        ("value", pyarrow.float64()), ("type", pyarrow.uint8()), ("source", pyarrow.uint8()),
        ("is_delete", pyarrow.bool_()),
    ])
    writer = pyarrow.parquet.ParquetWriter(
        path, schema, compression="zstd", compression_level=1, write_statistics=False,
        use_dictionary=["type", "source", "is_delete", "value"],
        column_encoding={"start": "DELTA_BINARY_PACKED", "duration": "DELTA_BINARY_PACKED", "uuid": "PLAIN"})
    for first in range(0, len(records), BATCH):
        part = numpy.asarray(records[first:first + BATCH])
        writer.write_batch(pyarrow.record_batch([
            identifiers(part), pyarrow.array(part["start"]), pyarrow.array(part["end"] - part["start"]),
            pyarrow.array(part["value"]), pyarrow.array(part["type"].astype(numpy.uint8)),
            pyarrow.array(part["source"].astype(numpy.uint8)), pyarrow.array(part["is_delete"] == 1),
        ], schema=schema))
    writer.close()


def measure_parquet(records, directory):
    path = f"{directory}/peer.parquet"
    seconds, processor, _ = timed(lambda: write_parquet(records, path))
    show("seconds", seconds)
    show("processorSeconds", processor)
    show("bytes", os.path.getsize(path))


def measure_replay(records, directory, keyed):
    path = f"{directory}/peer.parquet"
    write_parquet(records, path)
    live = LIVE.format(file=path)

    def replay():
        database = duckdb.connect()
        database.execute("SET threads=1")
        if keyed:
            database.execute(f"CREATE TABLE sample AS SELECT * FROM {live}")
            database.execute("CREATE UNIQUE INDEX by_uuid ON sample(uuid)")
        return database.execute(DAYS.format(source="sample" if keyed else live)).fetchnumpy()

    runs = [timed(replay) for _ in range(2 if keyed else 4)]
    show("seconds", *(seconds for seconds, _, _ in runs[1:]))
    show("processorSeconds", *(processor for _, processor, _ in runs[1:]))
    show("buckets", len(runs[0][2]["day"]))


def main():
    task, flat, directory = sys.argv[1:]
    records = numpy.memmap(flat, dtype=RECORD, mode="r", offset=64)
    if task == "duckdb":
        measure_duckdb(records, directory)
    elif task == "parquet":
        measure_parquet(records, directory)
    else:
        measure_replay(records, directory, keyed=task == "replay-keyed")


main()
