internal import HKLogFormat

/// Some frames of the log, read, checked and decoded.
struct DecodedFrames: Sendable {
    struct Item: Sendable {
        var record: LogRecord
        /// Where the frame starts in its segment.
        var byteOffset: Int
        /// False for a gap, and for bytes that are no content although their checksum is right.
        var isDecoded = false
    }

    enum Ending: Sendable {
        /// Nothing more stands in the log at the moment. The finding is the torn tail, where there is one.
        case end(tornTail: LogFinding?)
        case damaged(LogFinding)
        case failed(HKLogError)
    }

    var items: [Item] = []
    /// What is in each of the items; contents behind the last one's keep their memory for later ones.
    var contents: [FrameContent] = []
    /// How many bytes the frames take when they are unpacked.
    var byteCount = 0
    /// For each of `contents`, the bytes of the largest frame that it has held: what memory it keeps.
    var keptByteCounts: [Int] = []
    /// The first anchor of the segment that they stand in.
    var segment: UInt64 = 0
    /// Where the log goes on behind them: known at the end of each read of the file.
    var position: LogPosition?
    /// Set when nothing follows; there are no frames then.
    var ending: Ending?
}

/// Decodes the log's frames in order.
///
/// Small tails are decoded where they are used. After a thousand frames, or a megabyte of them, a second thread reads,
/// checks and decodes ahead while the first one applies: a replay on two processors then takes about as long
/// as applying alone. What comes out is the same.
final class FrameStream {
    private let maker: FrameMaker
    private var ahead: DecodeAhead?
    private var takenCount = 0
    /// After so many stretches, decoding ahead pays for its thread.
    private static let stretchesBeforeAhead = 4

    init(_ reader: LogReader) { maker = FrameMaker(reader) }

    /// The next frames, in place of those that were there.
    ///
    /// Not to be called again after an ending.
    func next(_ frames: inout DecodedFrames) {
        if let ahead { return ahead.next(&frames) }
        maker.fill(&frames)
        takenCount += 1
        guard takenCount == FrameStream.stretchesBeforeAhead, frames.ending == nil else { return }
        // Without a thread it goes on as it did.
        ahead = try? DecodeAhead(maker)
    }

    /// Ends the second thread: the reader is the caller's again.
    func stop() { ahead = nil }
}

/// Reads and decodes; not from two threads at once.
private final class FrameMaker {
    private let reader: LogReader
    private var run = FrameRun()
    private var nextEntry = 0
    private var decoder = FrameDecoder()
    /// A stretch ends after so many frames or bytes: enough to be worth handing over, little enough to stay in the
    /// processor's caches.
    private static let frameLimit = 256
    fileprivate static let byteLimit = 1 << 18
    /// Contents that keep more memory than this are made anew.
    private static let keptByteLimit = 8 << 20

    init(_ reader: LogReader) { self.reader = reader }

    func fill(_ frames: inout DecodedFrames) {
        frames.items.removeAll(keepingCapacity: true)
        frames.byteCount = 0
        if frames.keptByteCounts.reduce(0, +) > FrameMaker.keptByteLimit {
            frames.contents.removeAll()
            frames.keptByteCounts.removeAll()
        }
        frames.position = nil
        frames.ending = nil
        if nextEntry == run.entries.count {
            nextEntry = 0
            do throws(HKLogError) {
                switch try reader.read(into: &run) {
                case .frames: break
                case .end(let torn):
                    frames.position = reader.position
                    frames.ending = .end(tornTail: torn)
                    return
                case .damaged(let finding):
                    frames.ending = .damaged(finding)
                    return
                }
            } catch {
                run.removeAll()
                frames.ending = .failed(error)
                return
            }
        }
        frames.segment = run.segment
        while nextEntry < run.entries.count, frames.items.count < FrameMaker.frameLimit,
            frames.byteCount < FrameMaker.byteLimit
        {
            let entry = run.entries[nextEntry]
            nextEntry += 1
            var item = DecodedFrames.Item(record: entry.record, byteOffset: entry.byteOffset)
            let place = frames.items.count
            if place == frames.contents.count {
                frames.contents.append(FrameContent())
                frames.keptByteCounts.append(0)
            }
            if case .frame(let header) = entry.record {
                // Sound: the header's numbers have been checked, and the frame lies in memory.
                let byteCount = Int(clamping: header.rawByteCount &+ header.plainByteCount)
                frames.byteCount += byteCount
                frames.keptByteCounts[place] = max(frames.keptByteCounts[place], byteCount)
                item.isDecoded = decoder.decodes(
                    header, run.storedBytes(of: entry), into: &frames.contents[place])
            }
            frames.items.append(item)
        }
        if nextEntry == run.entries.count { frames.position = reader.position }
    }
}

/// A thread that decodes a few stretches ahead.
private final class DecodeAhead {
    private let shared: Shared
    private let thread: WorkerThread

    /// What the two threads share.
    ///
    /// Sound to send: what changes is touched inside of `monitor.change` alone, but `maker`, which only the decoding
    /// thread uses once it has been started.
    private final class Shared: @unchecked Sendable {
        static let readyLimit = 3
        /// Large frames wait by themselves, so that little memory lies ahead.
        static let readyByteLimit = 2 * FrameMaker.byteLimit

        let monitor = Monitor()
        let maker: FrameMaker
        var ready: [DecodedFrames] = []
        var used: [DecodedFrames] = []
        var isCancelled = false

        init(_ maker: FrameMaker) { self.maker = maker }

        private var hasEnough: Bool {
            ready.count >= Shared.readyLimit
                || ready.reduce(0) { $0 + $1.byteCount } >= Shared.readyByteLimit
        }

        /// The decoding thread.
        func run() {
            var frames = DecodedFrames()
            while true {
                maker.fill(&frames)
                let isLast = frames.ending != nil
                let goesOn = monitor.change {
                    while hasEnough && !isCancelled { monitor.wait() }
                    guard !isCancelled else { return false }
                    var spare = used.popLast() ?? DecodedFrames()
                    swap(&spare, &frames)
                    ready.append(spare)
                    return !isLast
                }
                if !goesOn { return }
            }
        }
    }

    init(_ maker: FrameMaker) throws(HKLogError) {
        let shared = Shared(maker)
        self.shared = shared
        thread = try WorkerThread { shared.run() }
    }

    deinit {
        shared.monitor.change { shared.isCancelled = true }
        thread.join()
    }

    func next(_ frames: inout DecodedFrames) {
        shared.monitor.change {
            while shared.ready.isEmpty { shared.monitor.wait() }
            var next = shared.ready.removeFirst()
            swap(&next, &frames)
            shared.used.append(next)
        }
    }
}
