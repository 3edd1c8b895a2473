// The content digest, frozen: SipHash-1-3-128 (`ContentHasher`) over these words. Texts count as their length
// and their bytes in words, the last one padded with zeros. See `docs/format.md`, "Content digest".
//
//     stream text | flags & contentFlags | epoch, sequence (if isNumbered) | previousAnchor text (if
//     hasPreviousAnchor) | anchor text (if hasAnchor) | deleted count | for each deletion: uuid (2 words),
//     metadata text | added count | for each row: uuid (2 words), start, duration, value bits, shape ^ extra
//
// `shape` is the low word of the digest of the label's text in its own domain; `extra` is 0 for none, else the
// low word of the digest of count, metadata text and payload text.

/// The domains of hashes that enter a content digest.
private enum DigestDomain {
    static let batch: UInt64 = 0x3174_6142_4C4B_4801
    static let shape: UInt64 = 0x3174_6142_4C4B_4802
    static let extra: UInt64 = 0x3174_6142_4C4B_4803
}

extension BatchFlags {
    /// The bits that are content: not `confirmsDeletions`, which is said to the store and not of the data, and
    /// not `isThinned`, which says what compaction did.
    package static let content: UInt16 =
        hasAnchor | hasPreviousAnchor | previousAnchorIsNone | opensSnapshot | endsSnapshot | isNumbered
        | isKept
}

/// The digest of what a batch says, whatever its bytes: the same for other shape numbers, another place in a
/// frame and another encoding.
///
/// - Complexity: one pass over the rows; each distinct label is hashed once.
package func contentDigest(
    of batch: BatchEntry, rows: RowColumns, rowRange: Range<Int>, deletions: ArraySlice<DeletionEntry>
) -> RawDigest {
    var hasher = ContentHasher(domain: DigestDomain.batch)
    hasher.add(batch.stream.span)
    hasher.add(UInt64(batch.flags & BatchFlags.content))
    if batch.flags & BatchFlags.isNumbered != 0 {
        hasher.add(batch.epoch)
        hasher.add(batch.sequence)
    }
    if batch.flags & BatchFlags.hasPreviousAnchor != 0 { hasher.add(batch.previousAnchor.span) }
    if batch.flags & BatchFlags.hasAnchor != 0 { hasher.add(batch.anchor.span) }
    hasher.add(UInt64(deletions.count))
    for deletion in deletions {
        hasher.add(deletion.uuid.first)
        hasher.add(deletion.uuid.second)
        hasher.add(deletion.metadata.span)
    }
    hasher.add(UInt64(rowRange.count))
    addRows(rows, rowRange, to: &hasher)
    return hasher.finish()
}

private func addRows(_ rows: RowColumns, _ range: Range<Int>, to hasher: inout ContentHasher) {
    guard !range.isEmpty else { return }
    // A table costs a hash of every label; where few rows are asked for, the last word will do.
    let isTabled = range.count >= rows.shapes.count
    let table = isTabled ? rows.shapes.map(labelWord) : []
    let (uuids, starts, durations) = (rows.uuids.span, rows.starts.span, rows.durations.span)
    let (values, shapeIDs, extraIDs) = (rows.values.span, rows.shapeIDs.span, rows.extraIDs.span)
    let labelWords = table.span
    let hasExtras = !rows.extraIDs.isEmpty
    var (lastShape, lastLabelWord) = (UInt32.max, UInt64(0))
    var (lastExtra, lastExtraWord) = (UInt32(0), UInt64(0))
    var state = hasher
    for row in range {
        let uuid = uuids[row]
        state.add(uuid.first)
        state.add(uuid.second)
        state.add(UInt64(bitPattern: starts[row]))
        state.add(UInt64(bitPattern: durations[row]))
        state.add(values[row])
        let shape = shapeIDs[row]
        var word: UInt64
        if isTabled {
            word = labelWords[Int(shape)]
        } else {
            if shape != lastShape { (lastShape, lastLabelWord) = (shape, labelWord(rows.shapes[Int(shape)])) }
            word = lastLabelWord
        }
        if hasExtras {
            let extra = extraIDs[row]
            if extra != lastExtra {
                lastExtra = extra
                lastExtraWord = extra == 0 ? 0 : extraWord(rows.extras[Int(extra) - 1], rows.extraBytes)
            }
            word ^= lastExtraWord
        }
        state.add(word)
    }
    hasher = state
}

/// The word that stands for a shape's label.
private func labelWord(_ shape: RowShape) -> UInt64 {
    var hasher = ContentHasher(domain: DigestDomain.shape)
    hasher.add(shape.label.span)
    return hasher.finish().low
}

/// A count of 1 is what none means; an extra that says no more than that is no extra.
private func extraWord(_ extra: RowExtra, _ bytes: [UInt8]) -> UInt64 {
    let count = max(1, extra.count)
    if count == 1 && extra.metadataByteCount == 0 && extra.payloadByteCount == 0 { return 0 }
    var hasher = ContentHasher(domain: DigestDomain.extra)
    hasher.add(count)
    let middle = extra.byteOffset + extra.metadataByteCount
    let texts = bytes.span
    hasher.add(texts.extracting(extra.byteOffset..<middle))
    hasher.add(texts.extracting(middle..<middle + extra.payloadByteCount))
    return hasher.finish().low
}
