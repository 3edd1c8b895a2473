internal import HKLog

/// `verify`: reads everything and says what is sound.
enum VerifyCommand {
    static let spec = CommandSpec(
        "verify", "reads the whole log and checkpoints and says what is sound; changes nothing",
        details: ["The exit status is 1 when it found something."],
        options: [], run: run)

    private static let problemColumns: [Column<VerifyReport.Problem>] = [
        Column("what") { .text($0.what) },
        Column("file") { .text($0.file) },
        Column("offset", isNumeric: true) { .anchor($0.offset) },
        Column("length", isNumeric: true) { .anchor($0.length) },
        Column("firstAnchor", heading: "first anchor", isNumeric: true) { .anchor($0.firstAnchor) },
        Column("lastAnchor", heading: "last anchor", isNumeric: true) { .anchor($0.lastAnchor) },
    ]

    private static let columns: [Column<VerifyReport>] = [
        Column("sound", heading: "sound") { .boolean($0.sound) },
        Column("logAnchor", heading: "log anchor") { .anchor($0.logAnchor) },
        Column("frames", heading: "frames") { .unsigned($0.frames) },
        Column("segments", heading: "segments") { .unsigned($0.segments) },
        Column("checkpoints", heading: "checkpoints") { .unsigned($0.checkpoints) },
        Column("gaps", heading: "gaps") { Gaps.cell($0.gaps) },
        Column("problems", heading: nil) { report in
            .nested(
                json: RowJSON.array(
                    report.problems.map { RowJSON.object($0, columns: problemColumns) }),
                text: report.problems.map { "\($0.what): \($0.file) at \($0.offset)" }.joined(separator: "; ")
            )
        },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let report = try Store.verify(
            at: session.storePath, progress: session.progress("verifying", unit: .bytes))
        session.messages.endProgress()
        try session.print(report, columns: columns)
        if session.isForPeople && !report.problems.isEmpty {
            try session.output.write("\n")
            try session.print(report.problems, columns: problemColumns, empty: "")
            try session.output.write(
                "\n'hklog repair' sets damaged bytes of the log aside and keeps every whole batch\n")
        }
        return report.sound ? ExitStatus.done : ExitStatus.foundSomething
    }
}

/// Lost batches, as first and last anchors.
enum Gaps {
    static func cell(_ gaps: [ClosedRange<UInt64>]) -> Cell {
        .nested(
            json: RowJSON.array(gaps.map { Array("[\($0.lowerBound),\($0.upperBound)]".utf8) }),
            text: gaps.map { "\($0.lowerBound)–\($0.upperBound)" }.joined(separator: ", "))
    }
}

/// `repair`: makes a damaged store usable again, and keeps what was damaged in a file.
enum RepairCommand {
    static let spec = CommandSpec(
        "repair",
        "after damage: sets the damaged bytes aside in a file, keeps every whole batch, and says what was lost",
        options: [], run: run)

    private static let columns: [Column<RepairReport>] = [
        Column("actions", heading: nil) { .strings($0.actions) },
        Column("gaps", heading: "lost batches") { Gaps.cell($0.gaps) },
        Column("setAside", heading: "set aside") { .strings($0.setAside) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let report = try Store.repair(at: session.storePath)
        if session.isForPeople {
            for action in report.actions { try session.output.write(SafeText.line(action) + "\n") }
            if report.actions.isEmpty { try session.output.write("nothing to repair\n") }
        }
        try session.print(report, columns: columns)
        return ExitStatus.done
    }
}

/// `compact`: a smaller log with the same answers.
enum CompactCommand {
    static let spec = CommandSpec(
        "compact", "rewrites the log without the data of deleted, swept and superseded samples",
        options: [
            OptionSpec(.purge, nil, "also remove set-aside files, which may still hold deleted data")
        ],
        run: run)

    private static let columns: [Column<CompactReport>] = [
        Column("bytesBefore", heading: "log size before") {
            .forPeople(NumberText.bytes($0.bytesBefore), .unsigned($0.bytesBefore))
        },
        Column("bytesAfter", heading: "log size after") {
            .forPeople(NumberText.bytes($0.bytesAfter), .unsigned($0.bytesAfter))
        },
        Column("rowsRemoved", heading: "rows removed") { .unsigned($0.rowsRemoved) },
        Column("framesBefore", heading: "frames before") { .unsigned($0.framesBefore) },
        Column("framesAfter", heading: "frames after") { .unsigned($0.framesAfter) },
        Column("setAside", heading: "set aside") { .strings($0.setAside) },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let store = try session.open(.write)
        let isPurge = session.arguments.has(.purge)
        let report = try store.compact(purge: isPurge, progress: session.progress("compacting", unit: .bytes))
        session.messages.endProgress()
        try session.print(report, columns: columns)
        if !report.setAside.isEmpty && !isPurge {
            session.messages.notice(
                "files that were set aside may still hold deleted data; 'hklog compact --purge' removes them: "
                    + report.setAside.joined(separator: ", "))
        }
        let status = try session.finish(with: store)
        try store.close()
        return status
    }
}

/// `backup`: a copy of the store beside a running writer.
enum BackupCommand {
    static let spec = CommandSpec(
        "backup", "a consistent copy of the store as a new store DIR, beside a running writer",
        operands: .init(
            name: "DIR", help: "the folder to make: it must be absent or empty", least: 1, most: 1),
        options: [], run: run)

    private struct Outcome {
        let store: String
        let logAnchor: UInt64
    }

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let directory = session.arguments.operands[0]
        guard !directory.isEmpty else { throw .usage("backup: the folder's name is empty") }
        let store = try session.openForReading()
        try store.backup(to: directory, progress: session.progress("copying", unit: .bytes))
        session.messages.endProgress()
        let copy = try Store.open(at: directory, access: .read)
        try session.print(
            Outcome(store: directory, logAnchor: copy.logAnchor),
            columns: [
                Column("store", heading: "copy") { .text($0.store) },
                Column("logAnchor", heading: "log anchor") { .anchor($0.logAnchor) },
            ])
        return try session.finish(with: store)
    }
}
