internal import HKLogFormat

/// What a batch says of itself, without its texts.
struct BatchFacts {
    var epoch: UInt64
    var sequence: UInt64
    var flags: UInt16
    var digest: RawDigest
    var nonce: UInt64
    var addedCount: Int
    var deletedCount: Int

    @inline(__always)
    init(_ batches: Span<BatchEntry>, _ index: Int) {
        epoch = batches[index].epoch
        sequence = batches[index].sequence
        flags = batches[index].flags
        digest = batches[index].digest
        nonce = batches[index].nonce
        addedCount = batches[index].addedCount
        deletedCount = batches[index].deletedCount
    }
}

/// One stream as the log has left it.
struct StreamState {
    private var hasAnchor = false
    private var anchorBytes: [UInt8] = []
    var anchorEpoch: UInt64 = 0
    var anchorSequence: UInt64 = 0
    /// The present epoch.
    var epoch: UInt64 = 1
    var completeEpoch: UInt64 = 0
    /// The greatest sequence number of the present epoch.
    var lastSequence: UInt64 = 0
    var batches: UInt64 = 0
    /// The log's anchor after its last batch.
    var logAnchor: UInt64 = 0
    /// Whether the present epoch's batches bear numbers of their producer.
    var isNumbered = false
    /// A snapshot has begun and not ended.
    var snapshotIsOpen = false
    /// How many samples its pages have listed so far.
    var snapshotListed: UInt64 = 0
    /// Live cells of the stream when it began.
    var liveAtOpening: UInt64 = 0
    /// Batches of the present epoch may be lost: it does not complete.
    var hasGap = false
    /// 1 + the number of the last batch of the stream.
    var lastBatch: UInt32 = 0
    /// The number of the present epoch's first batch, and of the newest complete one's: no batch before has an epoch as
    /// high.
    var firstBatch: UInt32 = 0
    var firstCompleteBatch: UInt32 = 0
    /// Cells in force by epoch.
    ///
    /// Nearly always one entry, two while a snapshot runs.
    var cells: [EpochCells] = []

    struct EpochCells {
        var epoch: UInt64
        var live: Int = 0
        var dead: Int = 0
    }

    /// The source anchor: that of the greatest (epoch, seq) that bears one.
    var anchor: [UInt8]? {
        get { hasAnchor ? anchorBytes : nil }
        set {
            hasAnchor = newValue != nil
            anchorBytes = newValue ?? []
        }
    }

    /// Takes in the numbers of a batch that the log has, and its anchor.
    mutating func note(_ batch: BatchFacts, anchor: [UInt8], logAnchor: UInt64, number: UInt32) {
        let isOpener = batch.flags & BatchFlags.opensSnapshot != 0
        let isNumbered = batch.flags & BatchFlags.isNumbered != 0
        if !hasBatches || batch.epoch > epoch { firstBatch = number }
        if !hasBatches {
            epoch = batch.epoch
            self.isNumbered = isNumbered
            hasGap = hasGap && !isOpener
            if !isOpener && !hasGap { completeEpoch = batch.epoch }
        } else if batch.epoch > epoch {
            epoch = batch.epoch
            lastSequence = 0
            self.isNumbered = isNumbered
            snapshotIsOpen = false
            // Without its opener (lost in a gap) an epoch is not whole.
            hasGap = !isOpener
        }
        if isOpener {
            snapshotIsOpen = true
            snapshotListed = 0
            liveAtOpening = UInt64(liveCells)
        }
        if snapshotIsOpen { snapshotListed += UInt64(batch.addedCount) }
        if batch.epoch == epoch { lastSequence = max(lastSequence, batch.sequence) }
        if batch.flags & BatchFlags.hasAnchor != 0,
            (batch.epoch, batch.sequence) >= (anchorEpoch, anchorSequence)
        {
            // Its bytes, not a reference to the frame's: that would be counted from two threads for each batch.
            hasAnchor = true
            anchorBytes.removeAll(keepingCapacity: true)
            anchorBytes.append(contentsOf: anchor)
            (anchorEpoch, anchorSequence) = (batch.epoch, batch.sequence)
        }
        batches += 1
        self.logAnchor = logAnchor
        lastBatch = number + 1
    }

    /// Whether the stream has a batch.
    var hasBatches: Bool { batches > 0 }

    /// Live cells in force.
    var liveCells: Int { cells.reduce(0) { $0 + $1.live } }

    /// Live cells in force of epochs before one.
    func liveCells(before epoch: UInt64) -> Int {
        cells.reduce(0) { $1.epoch < epoch ? $0 + $1.live : $0 }
    }

    mutating func count(epoch: UInt64, live: Int, dead: Int) {
        if let index = cells.firstIndex(where: { $0.epoch == epoch }) {
            cells[index].live += live
            cells[index].dead += dead
        } else {
            cells.append(EpochCells(epoch: epoch, live: live, dead: dead))
        }
    }
}
