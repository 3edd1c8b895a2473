/// Checks that the columns of a content fit together, before a byte is written.
enum ContentCheck {
    static func check(_ content: FrameContent) throws(CodecError) {
        let rows = content.rows
        let count = rows.count
        guard !content.batches.isEmpty, rows.starts.count == count, rows.durations.count == count,
            rows.values.count == count, rows.shapeIDs.count == count, rows.flags.count == count,
            rows.extraIDs.isEmpty || rows.extraIDs.count == count
        else { throw .inconsistentContent }
        guard content.batches.count <= UInt32.max, count <= UInt32.max, content.deletions.count <= UInt32.max
        else { throw .tooLarge }
        // Sixteen bytes a row: a frame above the limit is refused before any work.
        let plain = 16 * (count + content.deletions.count) + 24 * content.batches.count
        guard plain < Int(FrameHeader.storedByteCountLimit) else { throw .tooLarge }
        var (added, deleted) = (0, 0)
        for batch in content.batches {
            guard batch.addedCount >= 0, batch.deletedCount >= 0, batch.addedCount <= count,
                batch.deletedCount <= content.deletions.count
            else { throw .inconsistentContent }
            added += batch.addedCount
            deleted += batch.deletedCount
        }
        guard added == count, deleted == content.deletions.count else { throw .inconsistentContent }
        let (shapeCount, extraCount) = (UInt32(rows.shapes.count), UInt32(rows.extras.count))
        var (greatestShape, greatestExtra) = (UInt32(0), UInt32(0))
        for id in rows.shapeIDs { greatestShape = max(greatestShape, id) }
        for id in rows.extraIDs { greatestExtra = max(greatestExtra, id) }
        guard count == 0 || greatestShape < shapeCount, greatestExtra <= extraCount else {
            throw .inconsistentContent
        }
        for extra in rows.extras {
            guard extra.byteOffset >= 0, extra.metadataByteCount >= 0, extra.payloadByteCount >= 0,
                extra.byteOffset <= rows.extraBytes.count,
                extra.metadataByteCount <= rows.extraBytes.count - extra.byteOffset,
                extra.payloadByteCount <= rows.extraBytes.count - extra.byteOffset - extra.metadataByteCount
            else { throw .inconsistentContent }
        }
    }
}
