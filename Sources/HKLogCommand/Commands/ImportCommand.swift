internal import HKLog
internal import HKLogAppleHealth

/// `import`: an Apple Health export into the log.
enum ImportCommand {
    static let spec = CommandSpec(
        "import", "reads an Apple Health export (export.zip, export.xml, an unpacked folder)",
        details: [
            "Compares with what the stream holds and appends only what differs: importing the same export twice"
                + " writes nothing. A complete export also deletes what it no longer lists. A file that is cut is"
                + " imported as far as it goes, and the status is 65.",
            "Exports of two persons belong into two stores, or at least two streams.",
        ],
        operands: .init(name: "FILE", help: "the zip, the XML file or the folder", least: 1, most: 1),
        options: [
            OptionSpec(.stream, "S", "the stream to import into; apple-health-export by default"),
            OptionSpec(.keepMissing, nil, "keep what the export no longer lists"),
            OptionSpec(.allowDeletions, nil, "delete what the export no longer lists, however much that is"),
            OptionSpec(.dryRun, nil, "find out what an import would do, and write nothing"),
            OptionSpec(
                .report, "FILE", "write every repair and every skipped element as JSON Lines to this file"),
        ],
        run: run)

    private static let problemColumns: [Column<ImportReport.Problem>] = [
        Column("what") { .text($0.what) },
        Column("count", isNumeric: true) { .unsigned($0.count) },
        Column("offset", heading: "first at byte", isNumeric: true) { problem in
            problem.offset.map { .anchor(UInt64(clamping: $0)) } ?? .absent
        },
    ]

    private static let columns: [Column<ImportReport>] = [
        Column("records", heading: "records") { .unsigned($0.records) },
        Column("added", heading: "added") { .unsigned($0.added) },
        Column("changed", heading: "changed") { .unsigned($0.changed) },
        Column("deleted", heading: "deleted") { .unsigned($0.deleted) },
        Column("same", heading: "same as before") { .unsigned($0.same) },
        Column("skipped", heading: "skipped") { .unsigned($0.skipped) },
        Column("complete", heading: "complete") { .boolean($0.complete) },
        Column("logAnchor", heading: "log anchor") { .anchor($0.logAnchor) },
        Column("problems", heading: nil) { report in
            .nested(
                json: RowJSON.array(report.problems.map { RowJSON.object($0, columns: problemColumns) }),
                text: report.problems.map { "\($0.what) (\($0.count))" }.joined(separator: "; "))
        },
    ]

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let arguments = session.arguments
        let path = arguments.operands[0]
        var importer = AppleHealthImporter()
        importer.keepMissing = arguments.has(.keepMissing)
        importer.allowDeletions = arguments.has(.allowDeletions)
        importer.isDryRun = arguments.has(.dryRun)
        if let stream = arguments.value(.stream) {
            guard !stream.isEmpty else { throw .usage("--stream: the name is empty") }
            importer.stream = stream
        }
        // Before a store is made: what is no export must not leave an empty one behind.
        let export = try FoundExport.find(at: path)
        // Before anything is imported: what cannot be written must not come to light after the work.
        let reportFile = try arguments.value(.report).map { reportPath throws(HKLogError) in
            guard !System.isSameFile(path, reportPath) else {
                throw .usage("--report \(SafeText.line(reportPath)) would overwrite what is to be read")
            }
            return try OutputFile(reportPath)
        }
        let options = StoreOptions()
        let store = try session.open(
            importer.isDryRun ? .dryRun(options) : .writeOrCreate(options), sync: .group)
        session.tellCreation(of: store)
        let report: ImportReport
        do throws(HKLogError) {
            report = try run(importer, export, into: store, reportFile, session)
        } catch {
            session.messages.endProgress()
            do throws(HKLogError) { try reportFile?.close() } catch { session.messages.warning("\(error)") }
            // What was appended before stays, and a rerun goes on from there.
            do throws(HKLogError) { try store.close() } catch { session.messages.warning("\(error)") }
            throw error
        }
        session.messages.endProgress()
        try print(report, isDryRun: importer.isDryRun, session)
        try reportFile?.close()
        try session.output.flush()
        try store.close()
        session.tellWarnings(of: store)
        for warning in report.warnings { session.messages.warning(warning) }
        guard report.complete else {
            throw HKLogError(.invalidData, report.incompleteMessage ?? "\(path): the export is not complete")
        }
        return ExitStatus.done
    }

    private static func run(
        _ importer: AppleHealthImporter, _ export: FoundExport, into store: Store, _ reportFile: OutputFile?,
        _ session: Session
    ) throws(HKLogError) -> ImportReport {
        var destination = try StoreImportDestination(store: store, stream: importer.stream)
        var report = try importer.run(
            export, into: &destination, rules: store.timeZoneRules,
            reportingTo: reportFile,
            progress: { (progress: AppleHealthImporter.Progress) throws(HKLogError) in
                session.messages.progress(
                    progress.pass == 1 ? "reading" : "appending", done: UInt64(clamping: progress.bytesRead),
                    total: progress.byteCount > 0 ? UInt64(progress.byteCount) : nil, unit: .bytes)
            })
        try destination.check()
        try store.commit()
        report.logAnchor = store.logAnchor
        return report
    }

    private static func print(
        _ report: ImportReport, isDryRun: Bool, _ session: Session
    ) throws(HKLogError) {
        if session.isForPeople && isDryRun {
            try session.output.write("nothing is written; an import would give:\n")
        }
        try session.print(report, columns: columns)
        guard session.isForPeople else { return }
        if report.keptMissing > 0 {
            try session.output.write(
                "\(NumberText.readable(report.keptMissing)) samples are no longer listed and were kept\n")
        }
        guard !report.problems.isEmpty else { return }
        try session.output.write("\n")
        let shown = report.problems.prefix(20)
        try session.print(Array(shown), columns: problemColumns, empty: "")
        if shown.count < report.problems.count {
            try session.output.write(
                "... and \(report.problems.count - shown.count) more; --report FILE writes them all\n")
        }
    }
}

extension OutputFile: ImportCaseWriter {
    func write(_ met: ImportReport.Case) throws(HKLogError) {
        try writer.write(met.line)
    }
}
