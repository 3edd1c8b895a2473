public import HKLog
internal import HKLogFormat

/// Writes batches and samples as JSON Lines: what `BatchReader` reads back to the same columns.
///
/// Compact, fields in the order in which `docs/json-lines.md` lists them; what is absent is not written. Keep one
/// for many batches: it remembers how types, units, sources and devices are spelled.
public struct BatchWriter {
    /// What the samples of a shape have in common, ready to copy.
    private struct Fragments {
        var valueKind: RowValueKind
        /// The member `,"type":"…"`.
        var type: [UInt8]
        /// The members `,"unit":…,"source":…,"device":…`, as many as there are.
        var others: [UInt8]
    }

    private var fragments: [[UInt8]: Fragments] = [:]

    /// Makes a writer.
    public init() {}

    // MARK: - Batches

    /// Appends a batch as one line, its line break included.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - logAnchor: The log's anchor after the batch, where that is to be told.
    ///   - output: Where the line goes.
    public mutating func append(_ batch: Batch, logAnchor: UInt64? = nil, to output: inout [UInt8]) {
        output.append(contentsOf: "{\"stream\":".utf8)
        JSONOutput.append(batch.stream, to: &output)
        switch batch.previousAnchor {
        case .notGiven: break
        case .none: output.append(contentsOf: ",\"previousAnchor\":null".utf8)
        case .anchor(let anchor): append("previousAnchor", anchor, to: &output)
        }
        append("anchor", batch.anchor, to: &output)
        append("snapshot", batch.snapshot?.rawValue, to: &output)
        if batch.confirmDeletions { output.append(contentsOf: ",\"confirmDeletions\":true".utf8) }
        if let numbering = batch.numbering {
            output.append(contentsOf: ",\"epoch\":".utf8)
            JSONOutput.append(digits: numbering.epoch, to: &output)
            output.append(contentsOf: ",\"seq\":".utf8)
            JSONOutput.append(digits: numbering.sequence, to: &output)
        }
        if !batch.deleted.isEmpty { append(batch.deleted, to: &output) }
        if batch.rows.count > 0 { append(batch.rows, to: &output) }
        append("digest", batch.digest?.description, to: &output)
        if batch.kept { output.append(contentsOf: ",\"kept\":true".utf8) }
        if let logAnchor {
            output.append(contentsOf: ",\"logAnchor\":".utf8)
            JSONOutput.append(digits: logAnchor, to: &output)
        }
        output.append(UInt8(ascii: "}"))
        output.append(UInt8(ascii: "\n"))
    }

    private func append(_ deletions: [Batch.Deletion], to output: inout [UInt8]) {
        output.append(contentsOf: ",\"deleted\":[".utf8)
        for (index, deletion) in deletions.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            guard let metadata = deletion.metadata else {
                JSONOutput.append(deletion.uuid.raw, to: &output)
                continue
            }
            output.append(contentsOf: "{\"uuid\":".utf8)
            JSONOutput.append(deletion.uuid.raw, to: &output)
            output.append(contentsOf: ",\"metadata\":".utf8)
            JSONOutput.append(json: metadata.bytes.span, to: &output)
            output.append(UInt8(ascii: "}"))
        }
        output.append(UInt8(ascii: "]"))
    }

    private mutating func append(_ rows: RowColumns, to output: inout [UInt8]) {
        let shapes = rows.shapes.map { fragments(of: $0) }
        // A guess on the safe side for what most samples take, so that the output seldom has to move.
        output.reserveCapacity(output.count + rows.count * 192)
        output.append(contentsOf: ",\"added\":[".utf8)
        for row in 0..<rows.count {
            if row > 0 { output.append(UInt8(ascii: ",")) }
            append(rows, row, shapes, to: &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    private func append(_ rows: RowColumns, _ row: Int, _ shapes: [Fragments], to output: inout [UInt8]) {
        let shape = shapes[Int(rows.shapeIDs[row])]
        let start = rows.starts[row]
        output.append(contentsOf: "{\"uuid\":".utf8)
        JSONOutput.append(rows.uuids[row], to: &output)
        output.append(contentsOf: shape.type)
        output.append(contentsOf: ",\"start\":".utf8)
        JSONOutput.append(Timestamp(microseconds: start), to: &output)
        if rows.flags[row] & RowFlags.hasEnd != 0 {
            output.append(contentsOf: ",\"end\":".utf8)
            JSONOutput.append(Timestamp(microseconds: start &+ rows.durations[row]), to: &output)
        }
        switch shape.valueKind {
        case .none:
            break
        case .double:
            output.append(contentsOf: ",\"value\":".utf8)
            JSONOutput.append(Double(bitPattern: rows.values[row]), to: &output)
        case .integer:
            output.append(contentsOf: ",\"value\":".utf8)
            JSONOutput.append(Int64(bitPattern: rows.values[row]), to: &output)
        }
        output.append(contentsOf: shape.others)
        if !rows.extraIDs.isEmpty, rows.extraIDs[row] != 0 {
            append(rows.extras[Int(rows.extraIDs[row]) - 1], rows.extraBytes.span, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private func append(_ extra: RowExtra, _ texts: Span<UInt8>, to output: inout [UInt8]) {
        let payloadOffset = extra.byteOffset + extra.metadataByteCount
        if extra.metadataByteCount > 0 {
            output.append(contentsOf: ",\"metadata\":".utf8)
            JSONOutput.append(json: texts.extracting(extra.byteOffset..<payloadOffset), to: &output)
        }
        if extra.count > 0 {
            output.append(contentsOf: ",\"count\":".utf8)
            JSONOutput.append(digits: extra.count, to: &output)
        }
        if extra.payloadByteCount > 0 {
            output.append(contentsOf: ",\"payload\":".utf8)
            JSONOutput.append(
                json: texts.extracting(payloadOffset..<payloadOffset + extra.payloadByteCount), to: &output)
        }
    }

    // MARK: - Samples

    /// Appends a sample as one line, its line break included; `stream` comes last.
    public mutating func append(_ sample: Sample, stream: String? = nil, to output: inout [UInt8]) {
        output.append(contentsOf: "{\"uuid\":".utf8)
        JSONOutput.append(sample.uuid.raw, to: &output)
        append("type", sample.type, to: &output)
        output.append(contentsOf: ",\"start\":".utf8)
        JSONOutput.append(sample.start, to: &output)
        if let end = sample.end {
            output.append(contentsOf: ",\"end\":".utf8)
            JSONOutput.append(end, to: &output)
        }
        switch sample.value {
        case nil:
            break
        case .quantity(let value):
            output.append(contentsOf: ",\"value\":".utf8)
            JSONOutput.append(value, to: &output)
        case .category(let value):
            output.append(contentsOf: ",\"value\":".utf8)
            JSONOutput.append(value, to: &output)
        }
        appendOthers(unit: sample.unit, source: sample.source, device: sample.device, to: &output)
        if let metadata = sample.metadata {
            output.append(contentsOf: ",\"metadata\":".utf8)
            JSONOutput.append(json: metadata.bytes.span, to: &output)
        }
        if let count = sample.count {
            output.append(contentsOf: ",\"count\":".utf8)
            JSONOutput.append(digits: count, to: &output)
        }
        if let payload = sample.payload {
            output.append(contentsOf: ",\"payload\":".utf8)
            JSONOutput.append(json: payload.bytes.span, to: &output)
        }
        append("stream", stream, to: &output)
        output.append(UInt8(ascii: "}"))
        output.append(UInt8(ascii: "\n"))
    }

    // MARK: - Parts

    private mutating func fragments(of shape: RowShape) -> Fragments {
        if let known = fragments[shape.label] { return known }
        var made = Fragments(valueKind: shape.valueKind, type: [], others: [])
        if let texts = SampleShape(label: shape.label) {
            append("type", texts.type, to: &made.type)
            appendOthers(unit: texts.unit, source: texts.source, device: texts.device, to: &made.others)
        }
        if fragments.count >= 4096 { fragments.removeAll() }
        fragments[shape.label] = made
        return made
    }

    private func appendOthers(unit: String?, source: Source?, device: Device?, to output: inout [UInt8]) {
        append("unit", unit, to: &output)
        if let source {
            appendObject(
                "source",
                [
                    ("name", source.name), ("bundleIdentifier", source.bundleIdentifier),
                    ("version", source.version), ("productType", source.productType),
                    ("operatingSystemVersion", source.operatingSystemVersion),
                ], to: &output)
        }
        if let device {
            appendObject(
                "device",
                [
                    ("name", device.name), ("manufacturer", device.manufacturer), ("model", device.model),
                    ("hardwareVersion", device.hardwareVersion), ("firmwareVersion", device.firmwareVersion),
                    ("softwareVersion", device.softwareVersion), ("localIdentifier", device.localIdentifier),
                    ("udiDeviceIdentifier", device.udiDeviceIdentifier),
                ], to: &output)
        }
    }

    private func appendObject(_ key: String, _ texts: [(String, String?)], to output: inout [UInt8]) {
        output.append(contentsOf: ",\"".utf8)
        output.append(contentsOf: key.utf8)
        output.append(contentsOf: "\":{".utf8)
        let start = output.count
        for (key, text) in texts { append(key, text, to: &output) }
        // Every member brought a comma along, the first one as well.
        if output.count > start { output.remove(at: start) }
        output.append(UInt8(ascii: "}"))
    }

    private func append(_ key: String, _ text: String?, to output: inout [UInt8]) {
        guard let text else { return }
        output.append(contentsOf: ",\"".utf8)
        output.append(contentsOf: key.utf8)
        output.append(contentsOf: "\":".utf8)
        JSONOutput.append(text, to: &output)
    }
}
