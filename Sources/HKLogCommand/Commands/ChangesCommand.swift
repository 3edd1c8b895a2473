internal import HKLog
internal import HKLogJSONLines

/// `changes`: what happened after an anchor.
enum ChangesCommand {
    static let spec = CommandSpec(
        "changes", "what happened after an anchor, as whole batches, and the new anchor",
        details: [
            "Always JSON Lines: a batch a line as append reads them, a gap as {\"gap\":[a,b]}, and last of all"
                + " {\"logAnchor\":N,\"logCheck\":\"...\"}: where to go on, and a check that --expect takes."
        ],
        options: [
            OptionSpec(.since, "ANCHOR", "the log anchor to begin after; 0: everything", isRequired: true),
            OptionSpec(.expect, "CHECK", "fail unless the log at that anchor gave this logCheck"),
            OptionSpec(.type, "T", "only batches whose stream is this type, or that add samples of it"),
            OptionSpec(.limit, "N", "at most so many batches"),
            OptionSpec(.follow, nil, "wait for more, and print it as it comes"),
        ],
        run: run)

    private static func run(_ session: Session) throws(HKLogError) -> Int32 {
        let arguments = session.arguments
        let since = try arguments.number(.since) ?? 0
        let limit = try arguments.number(.limit)
        let follows = arguments.has(.follow)
        if follows { System.catchInterruptions() }
        let store = try session.openForReading()
        let type = try arguments.value(.type).map { text throws(HKLogError) in try store.resolveType(text) }
        let reader = try store.changes(since: since, expecting: arguments.value(.expect))
        var run = ChangesRun(reader: reader, output: session.output, type: type, limit: limit)
        try run.printBurst(isFirst: true)
        while follows && !run.isComplete {
            try System.pause(milliseconds: pollMilliseconds)
            try run.printBurst(isFirst: false)
            session.tellWarnings(of: store)
        }
        return try session.finish(with: store)
    }

    /// Short enough to show a batch within a second, long enough to idle without load.
    private static let pollMilliseconds: Int32 = 200
}

/// One call of `changes`.
struct ChangesRun {
    private let reader: ChangeReader
    private let output: OutputWriter
    private let type: [UInt8]?
    private let limit: UInt64?
    private var batchCount: UInt64 = 0
    private var writer = BatchWriter()
    /// Lines whose batches may not be on stable storage yet.
    private var held: [UInt8] = []

    private static let heldByteCountLimit = 1 << 18

    init(reader: ChangeReader, output: OutputWriter, type: String?, limit: UInt64?) {
        self.reader = reader
        self.output = output
        self.type = type.map { Array($0.utf8) }
        self.limit = limit
    }

    /// Whether as many batches were printed as were asked for.
    var isComplete: Bool { limit.map { batchCount >= $0 } ?? false }

    /// Prints what is there, and where to go on.
    ///
    /// A later burst that found nothing prints nothing.
    mutating func printBurst(isFirst: Bool) throws(HKLogError) {
        var hasMoved = isFirst
        do throws(HKLogError) {
            while !isComplete, let change = try reader.next() {
                hasMoved = true
                hold(change)
                if held.count >= Self.heldByteCountLimit { _ = try release() }
            }
        } catch {
            // What is sound was read: say where it ends before saying what is wrong.
            if error.code.exitStatus == HKLogError.Code.damaged.exitStatus { try printPosition() }
            throw error
        }
        if hasMoved { try printPosition() }
    }

    private mutating func hold(_ change: Change) {
        switch change {
        case .gap(let anchors):
            held.append(contentsOf: "{\"gap\":[\(anchors.lowerBound),\(anchors.upperBound)]}\n".utf8)
        case .batch(let batch, let logAnchor):
            guard isWanted(batch) else { return }
            batchCount += 1
            writer.append(batch, logAnchor: logAnchor, to: &held)
        }
    }

    private func isWanted(_ batch: Batch) -> Bool {
        guard let type else { return true }
        if batch.stream.utf8.elementsEqual(type) { return true }
        return batch.added.contains { $0.type.utf8.elementsEqual(type) }
    }

    /// Prints what is held.
    ///
    /// Lines bear anchors, which nobody may have before their batches are on stable storage: asking for the
    /// position sees to that.
    private mutating func release() throws(HKLogError) -> (logAnchor: UInt64, logCheck: String) {
        let position = try reader.position()
        let lines = held
        held = []
        try output.write(lines)
        try output.flush()
        return position
    }

    private mutating func printPosition() throws(HKLogError) {
        let position = try release()
        let check = RowJSON.string(position.logCheck)
        try output.write("{\"logAnchor\":\(position.logAnchor),\"logCheck\":")
        try output.write(check)
        try output.write("}\n")
        try output.flush()
    }
}
