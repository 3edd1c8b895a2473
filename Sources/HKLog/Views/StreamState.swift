/// One stream as the log has left it.
struct StreamState {
    /// The source anchor: that of the greatest (epoch, seq) that bears one.
    var anchor: [UInt8]?
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
    /// Cells in force by epoch.
    ///
    /// Nearly always one entry, two while a snapshot runs.
    var cells: [EpochCells] = []

    struct EpochCells {
        var epoch: UInt64
        var live: Int = 0
        var dead: Int = 0
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
