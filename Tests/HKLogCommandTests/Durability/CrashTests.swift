import Dispatch
import Foundation
import HKLog
import Synchronization
import Testing

/// Writers are killed at random moments, again and again, on stores that live on.
///
/// Two rows of stores at a time: while one waits for a process the other is looked at. `HKLOG_CRASH_ROUNDS` sets how
/// often (300 times `HKLOG_TEST_SCALE` by default), `HKLOG_CRASH_SEED` begins another sequence, and
/// `HKLOG_CRASH_BULK` gives every other store so many rows that appending takes checkpoints by itself.
@Suite(.serialized) struct CrashTests {
    private static let rows = 2
    private static let roundsOfStore = 25

    @Test func `a killed writer loses nothing that it has acknowledged and leaves no half of a batch`() throws
    {
        _ = signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        let scale = max(1, environment["HKLOG_TEST_SCALE"].flatMap { Int($0) } ?? 1)
        let rounds = environment["HKLOG_CRASH_ROUNDS"].flatMap { Int($0) } ?? 300 * scale
        let seed = environment["HKLOG_CRASH_SEED"].flatMap { UInt64($0) } ?? 1
        let hasBulk = environment["HKLOG_CRASH_BULK"] != nil
        let start = Date()
        let total = Mutex(CrashStore.Counts())
        DispatchQueue.concurrentPerform(iterations: Self.rows) { row in
            let share = rounds / Self.rows + (row < rounds % Self.rows ? 1 : 0)
            let counts = Self.run(rounds: share, seed: seed &+ UInt64(row) << 32, hasBulk: hasBulk)
            total.withLock { $0.add(counts) }
        }
        let sum = total.withLock { $0 }
        print("crashes: \(sum) in \(Int(Date().timeIntervalSince(start))) s")
        #expect(sum.rounds == rounds)
        #expect(sum.killed * 2 > sum.rounds, "most were killed before they ended by themselves")
        #expect(sum.locked * 20 <= sum.rounds, "a killed process holds no store")
    }

    /// Some rounds on one store after another, until something is wrong.
    private static func run(rounds: Int, seed: UInt64, hasBulk: Bool) -> CrashStore.Counts {
        var random = CrashRandom(state: seed)
        var counts = CrashStore.Counts()
        while counts.rounds < rounds {
            var store: CrashStore?
            do {
                let own = try CrashStore(hasBulk: hasBulk && counts.stores % 2 == 1)
                store = own
                counts.stores += 1
                for _ in 0..<min(roundsOfStore, rounds - counts.rounds) { try own.round(&random, &counts) }
                try own.checkWithProgram()
            } catch {
                Issue.record(
                    "seed \(seed), store \(counts.stores), round \(counts.rounds) (\(store?.lastCommand ?? "")): \(error)"
                )
                store?.keep()
                break
            }
        }
        return counts
    }
}

/// Random numbers that can be begun again (SplitMix64).
struct CrashRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// One store, the batches that it is to hold in order, and what is known of it.
final class CrashStore {
    struct Counts: CustomStringConvertible {
        var stores = 0
        var rounds = 0
        var killed = 0
        /// Programs that found the store held.
        var locked = 0
        var batches = 0
        var unacknowledged = 0
        var commands: [String: Int] = [:]

        mutating func add(_ other: Counts) {
            stores += other.stores
            rounds += other.rounds
            killed += other.killed
            locked += other.locked
            batches += other.batches
            unacknowledged += other.unacknowledged
            commands.merge(other.commands) { $0 + $1 }
        }

        var description: String {
            let kinds = commands.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(
                separator: ", ")
            return
                "\(rounds) rounds on \(stores) stores (\(kinds)), \(killed) killed at work, \(batches) batches kept, "
                + "\(unacknowledged) of them not acknowledged"
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let work: Workspace
    private let hasBulk: Bool
    private var path: String { work.store.path }
    private var count = 0
    private var position: (anchor: UInt64, check: String)?
    private(set) var lastCommand = ""
    private var roundNumber = 0
    private var zoneNumber = 0

    init(hasBulk: Bool) throws {
        work = try Workspace()
        self.hasBulk = hasBulk
        try work.run("init", "--time-zone", "UTC", "--segment-bytes", "8192")
    }

    /// Keeps a copy of a store on which something went wrong.
    func keep() {
        let copy = FileManager.default.temporaryDirectory.appending(path: "hklog-crash-\(UUID().uuidString)")
        try? FileManager.default.copyItem(at: work.folder, to: copy)
        print("the store is kept in \(copy.path)")
    }

    private func require(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
        guard isTrue else { throw Failure(description: text()) }
    }

    // MARK: What the store is to hold

    private func rowCount(_ index: Int) -> Int {
        hasBulk && (20..<90).contains(index) ? 1000 : 1 + index % 4
    }

    private func deleted(_ index: Int) -> [Int] { index % 5 == 4 ? [(index - 3) * 1024 + 1] : [] }

    private func line(_ index: Int) -> String {
        let minute = index % 60
        let hour = index / 60 % 24
        let day = 1 + index / 1440 % 28
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let start = "2026-03-\(two(day))T\(two(hour)):\(two(minute)):00Z"
        return batch(
            "\"anchor\":\"a\(index)\"", stream: "s\(index % 3)",
            added: (0..<rowCount(index)).map {
                sample(
                    index * 1024 + $0 + 1, start: start, value: "\(index % 97 + $0)",
                    source: $0 % 2 == 0 ? watch : phone)
            }, deleted: deleted(index)) + "\n"
    }

    // MARK: One round

    func round(_ random: inout CrashRandom, _ counts: inout Counts) throws {
        roundNumber += 1
        counts.rounds += 1
        let before = count
        var attempted = count
        let acknowledged: Int
        switch random.below(20) {
        case 0, 1: acknowledged = try killed(["compact"], &random, &counts)
        case 2:
            zoneNumber += 1
            let zone = ["Europe/Berlin", "Asia/Kathmandu", "UTC"][zoneNumber % 3]
            acknowledged = try killed(["config", "--time-zone", zone], &random, &counts)
        case 3: acknowledged = try killed(["replay", "--from", "0"], &random, &counts)
        default:
            let sync = random.below(2) == 0 ? "batch" : "group"
            // What a client does not know of was not taken: it sends some batches twice.
            let first = max(0, count - random.below(4))
            let isSlow = random.below(3) == 0
            attempted = first + (isSlow ? 12 : 60)
            let lines = (first..<attempted).map(line)
            acknowledged = try killed(
                ["append", "--format", "jsonl", "--sync", sync], lines: lines, isSlow: isSlow, &random,
                &counts)
        }
        try check(acknowledged: max(acknowledged, before), attempted: attempted, &random)
        counts.batches += count - before
        counts.unacknowledged += max(0, count - max(acknowledged, before))
    }

    /// Runs a command, kills it at a random moment, and gives the highest anchor that it has acknowledged.
    private func killed(
        _ arguments: [String], lines: [String]? = nil, isSlow: Bool = false, _ random: inout CrashRandom,
        _ counts: inout Counts
    ) throws -> Int {
        lastCommand = arguments.joined(separator: " ") + (isSlow ? ", slowly" : "")
        let name =
            arguments[0] == "append" ? "append \(arguments[4])\(isSlow ? " slowly" : "")" : arguments[0]
        counts.commands[name, default: 0] += 1
        let output = work.path("out")
        let errors = work.path("err")
        for file in [output, errors] { _ = FileManager.default.createFile(atPath: file, contents: nil) }
        let process = Process()
        process.executableURL = Workspace.binary
        process.arguments = arguments
        process.environment = [
            "HKLOG_STORE": path, "TZ": "UTC", "PATH": "/usr/bin:/bin",
            "HKLOG_SEGMENT_BYTES": ["1", "3000", "8192"][random.below(3)],
        ]
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        var pipe: Pipe?
        if let lines {
            if isSlow {
                pipe = Pipe()
                process.standardInput = pipe
            } else {
                try work.write(lines.joined(), to: "in")
                process.standardInput = FileHandle(forReadingAtPath: work.path("in"))
            }
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        try process.run()
        if let pipe, let lines {
            for line in lines.prefix(1 + random.below(lines.count)) {
                do { try pipe.fileHandleForWriting.write(contentsOf: Data(line.utf8)) } catch { break }
                usleep(UInt32(random.below(4000)))
            }
        }
        if lines != nil && random.below(5) > 0 {
            // Mostly while it is at work.
            let end = Date().addingTimeInterval(3)
            while process.isRunning, size(of: output) == 0, Date() < end { usleep(300) }
            usleep(UInt32(random.below(random.below(2) == 0 ? 3000 : 25000)))
        } else {
            usleep(UInt32(random.below(60_000)))
        }
        let wasRunning = kill(process.processIdentifier, SIGKILL) == 0
        process.waitUntilExit()
        try? pipe?.fileHandleForWriting.close()
        if process.terminationReason == .uncaughtSignal && wasRunning {
            counts.killed += 1
        } else {
            let said = try work.read("err")
            // Between fork and exec a program that is started for the other store holds this one's lock too.
            if process.terminationStatus == 75 {
                counts.locked += 1
                return 0
            }
            try require(process.terminationStatus == 0, "it failed by itself: \(said)")
        }
        var acknowledged = 0
        guard lines != nil else { return 0 }
        // What follows the last line break was not said.
        let text = try work.read("out")
        for part in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let object = try JSONSerialization.jsonObject(with: Data(part.utf8)) as? [String: Any]
            guard let anchor = object?["logAnchor"] as? Int else {
                throw Failure(description: "no acknowledgement: \(part)")
            }
            acknowledged = max(acknowledged, anchor)
        }
        return acknowledged
    }

    private func size(of file: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
    }

    // MARK: What must be so afterwards

    private func check(acknowledged: Int, attempted: Int, _ random: inout CrashRandom) throws {
        if random.below(4) == 0 {
            // A reader, before a writer has put anything right.
            let reader = try Store.open(at: path, access: .read)
            let digest = try reader.info().digest
            try require(
                try reader.replay(from: 0, to: reader.info().logAnchor).digest == digest, "a reader's digest")
            try require(reader.damage == nil, "a reader meets damage: \(reader.damage?.message ?? "")")
            try reader.close()
        }
        let writer = try opened()
        try walk(writer, isWhole: roundNumber % 8 == 0)
        try require(count >= acknowledged, "\(count) batches are there, \(acknowledged) were acknowledged")
        try require(count <= attempted, "\(count) batches are there, \(attempted) were sent")
        let digest = try writer.info().digest
        try writer.close()
        if random.below(4) == 0 {
            try? FileManager.default.removeItem(at: work.store.appending(path: "views"))
        }
        let again = try opened()
        let info = try again.info()
        try require(info.logAnchor == UInt64(count), "opened again: as many batches")
        try require(info.digest == digest, "opened again: the same digest")
        try require(
            try again.replay(from: 0, to: info.logAnchor).digest == digest, "a replay: the same digest")
        if random.below(4) == 0 {
            try require(try again.replay(from: 0).digest == digest, "a replay that is saved")
        }
        try again.close()
    }

    /// Opens the store for writing.
    ///
    /// Between fork and exec a program that another test starts holds what this process has open, the lock too.
    private func opened() throws -> Store {
        for _ in 0..<200 {
            do {
                return try Store.open(at: path, access: .write)
            } catch {
                guard error.code == .locked else { throw error }
                usleep(10_000)
            }
        }
        return try Store.open(at: path, access: .write)
    }

    /// Reads on from where the check before ended, or all, and compares each batch with what was sent.
    private func walk(_ store: Store, isWhole: Bool) throws {
        var next = 0
        let reader: ChangeReader
        if let position, !isWhole {
            reader = try store.changes(since: position.anchor, expecting: position.check)
            next = Int(position.anchor)
        } else {
            reader = try store.changes(since: 0)
        }
        while let change = try reader.next() {
            guard case .batch(let batch, let anchor) = change else { throw Failure(description: "a gap") }
            try require(anchor == UInt64(next + 1), "anchor \(anchor) after \(next)")
            try require(batch.anchor == "a\(next)", "batch \(next) is \(batch.anchor ?? "none")")
            let rows = rowCount(next)
            try require(
                batch.digest == nil ? batch.addedCount == rows : batch.addedCount < rows,
                "batch \(next) is whole")
            try require(
                batch.deleted.map { "\($0.uuid)" } == deleted(next).map(uuid), "deletions of batch \(next)")
            next += 1
        }
        count = next
        let end = try reader.position()
        position = (end.logAnchor, end.logCheck)
    }

    /// The same through the program.
    func checkWithProgram() throws {
        let info = try work.run("info", "--format", "json").object
        try require(info["logAnchor"] as? Int == count, "info: \(info)")
        let replay = try work.run("replay", "--from", "0", "--format", "json").object
        try require(
            replay["digest"] as? String == info["digest"] as? String, "replay: \(replay), info: \(info)")
        let verify = try work.run("verify", "--format", "json")
        try require(verify.status == 0, "verify: \(verify.output)")
        try require(
            !(try FileManager.default.contentsOfDirectory(atPath: work.store.appending(path: "log").path))
                .contains {
                    $0.contains(".new-") || $0 == "switch"
                }, "nothing is left of a rewrite")
    }
}
