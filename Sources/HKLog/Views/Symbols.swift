internal import HKLogFormat

/// What the statistics of a type are.
enum StatisticKind: Equatable {
    case none
    case cumulative
    case discrete(AggregationStyle)
    case category
}

/// One type that the store has seen.
struct TypeEntry {
    let identifier: String
    let kind: SampleKind
    var statistic: StatisticKind
    /// How a quantity type is aggregated under the store's settings.
    var style: AggregationStyle?
    var canonicalUnit: Unit?
    /// The canonical unit's text: made once, since every row of statistics bears it.
    var unitText: String?
    /// Sleep analysis has a layer of its own for `InBed`.
    let isSleep: Bool
    /// A hash of the identifier, for digests.
    let digest: RawDigest
    /// The shapes of this type.
    var shapeIDs: [UInt32] = []
    /// Rows that last too long to be linked from each day they touch; looked at for every day in their range.
    var longRows: [UInt32] = []
    /// Sources with shown samples in order of priority, as last computed.
    var ranking: [UInt32] = []
    /// Each source's place in `ranking`.
    var rankOfSource: [UInt32: Int32] = [:]
    /// Set when a shown sample came or went in a way that may change the order.
    var rankingIsStale = true
}

/// One shape in one stream: everything that many rows share.
struct ShapeEntry {
    let labelID: UInt32
    let streamID: UInt32
    /// Rows of this entry were entered by hand (`HKWasUserEntered`).
    let isManual: Bool
    let typeID: UInt32
    /// The source that ranking knows: `manual` for manual entries.
    let sourceID: UInt32
    /// The source that the sample names.
    let ownSourceID: UInt32
    let sourceClass: SourceClass
    let valueKind: RowValueKind
    /// Values to the canonical unit; `nil` when there is none or the unit does not fit.
    let conversion: UnitConversion?
    /// The hash of its samples, with the label already in.
    let hash: SampleHash
    /// Shown rows.
    var shownCount = 0
    /// The least start of a shown row, when there is one.
    var firstStart = Int64.max
    /// The greatest start of a shown row, when there is one.
    var lastStart = Int64.min
    /// A row at one of the two ends went away: look again before they are used.
    var extremesAreStale = false
}

/// Numbers for streams, types, sources and shapes, the same for the whole life of a set of views.
struct Symbols: ~Copyable {
    private(set) var streams = ByteInterner()
    /// For each stream the hash of its dead uuids.
    private(set) var deadHashes: [SampleHash] = []
    private var labels = ByteInterner()
    private var typeNames = ByteInterner()
    private var sourceKeys = ByteInterner()
    private(set) var types: [TypeEntry] = []
    /// Types whose ranking is stale, each at least once: a store may have seen thousands of types.
    var typesToRank: [UInt32] = []
    private(set) var shapes: [ShapeEntry] = []
    private(set) var sources: [Source?] = []
    /// For each label its shape entries by stream and manual bit: a short list, nearly always of one.
    private var shapesOfLabel: [[UInt32]] = []
    private var labelShapes: [SampleShape?] = []
    private var units: [(text: String, canonical: String, conversion: UnitConversion?)] = []
    let settings: StoreSettings

    /// The source number of all manual entries.
    static let manualSource: UInt32 = 0
    /// The source number of samples without a source.
    static let noSource: UInt32 = 1
    /// The label of cells that have no payload: dead ones.
    private static let deadLabel: [UInt8] = []

    init(settings: StoreSettings) {
        self.settings = settings
        for key: [UInt8] in [[2], [0]] {
            _ = sourceKeys.intern(key.span)
            sources.append(nil)
        }
    }

    // MARK: Access

    mutating func withType(_ id: UInt32, _ body: (inout TypeEntry) -> Void) {
        let wasStale = types[Int(id)].rankingIsStale
        body(&types[Int(id)])
        if !wasStale && types[Int(id)].rankingIsStale { typesToRank.append(id) }
    }

    mutating func withShape(_ id: UInt32, _ body: (inout ShapeEntry) -> Void) { body(&shapes[Int(id)]) }

    func typeID(_ identifier: String) -> UInt32? { typeNames.find(identifier).map { UInt32($0) } }

    func streamID(_ name: String) -> UInt32? { streams.find(name).map { UInt32($0) } }

    func streamName(_ id: UInt32) -> String { String(decoding: streams.bytes(Int(id)), as: UTF8.self) }

    func label(of shape: UInt32) -> ArraySlice<UInt8> { labels.bytes(Int(shapes[Int(shape)].labelID)) }

    /// The texts of a shape; `nil` for the shape of dead cells.
    func sampleShape(_ shape: UInt32) -> SampleShape? { labelShapes[Int(shapes[Int(shape)].labelID)] }

    // MARK: Interning

    mutating func internStream(_ name: Span<UInt8>) -> UInt32 {
        let id = streams.intern(name)
        if id == deadHashes.count { deadHashes.append(SampleHash(domain: DigestDomain.deadCell, name)) }
        return UInt32(id)
    }

    /// The number of a type, made known if need be.
    mutating func internType(_ identifier: String) -> UInt32 {
        let known = typeNames.count
        let id = typeNames.intern(identifier)
        guard id == known else { return UInt32(id) }
        var hasher = ContentHasher(domain: DigestDomain.text)
        let bytes = Array(identifier.utf8)
        hasher.add(bytes.span)
        let kind = SampleKind.of(identifier)
        var statistic = StatisticKind.none
        var unit: Unit?
        var style: AggregationStyle?
        if kind == .category {
            statistic = .category
        } else if let quantity = Catalog.quantityType(identifier) {
            let chosen = settings.styles[identifier] ?? quantity.style
            style = chosen
            unit = quantity.canonicalUnit
            statistic = chosen == .cumulative ? .cumulative : .discrete(chosen)
        }
        types.append(
            TypeEntry(
                identifier: identifier, kind: kind, statistic: statistic, style: style, canonicalUnit: unit,
                unitText: unit?.description,
                isSleep: identifier == "HKCategoryTypeIdentifierSleepAnalysis", digest: hasher.finish()))
        typesToRank.append(UInt32(id))
        return UInt32(id)
    }

    /// The number of dead cells' shape in a stream.
    mutating func deadShape(stream: UInt32) -> UInt32 {
        let label = Symbols.deadLabel
        return internShape(label.span, stream: stream, isManual: false) ?? 0
    }

    /// The number of a shape in a stream; `nil` when the label is not one.
    mutating func internShape(_ label: Span<UInt8>, stream: UInt32, isManual: Bool) -> UInt32? {
        let known = labels.count
        let labelID = labels.intern(label)
        if labelID == known {
            labelShapes.append(label.count == 0 ? nil : SampleShape(label: Array(labels.bytes(labelID))))
            shapesOfLabel.append([])
        }
        for id in shapesOfLabel[labelID]
        where shapes[Int(id)].streamID == stream && shapes[Int(id)].isManual == isManual {
            return id
        }
        guard label.count == 0 || labelShapes[labelID] != nil else { return nil }
        let shape = labelShapes[labelID] ?? SampleShape(valueKind: .none, type: "")
        let typeID = internType(shape.type)
        let own = internSource(shape.source)
        let type = types[Int(typeID)]
        let id = UInt32(shapes.count)
        shapes.append(
            ShapeEntry(
                labelID: UInt32(labelID), streamID: stream, isManual: isManual, typeID: typeID,
                sourceID: isManual ? Symbols.manualSource : own, ownSourceID: own,
                sourceClass: isManual ? .manual : SourceClass(source: shape.source, device: shape.device),
                valueKind: shape.valueKind, conversion: conversion(of: shape, type: type),
                hash: SampleHash(domain: DigestDomain.sample, label)))
        shapesOfLabel[labelID].append(id)
        types[Int(typeID)].shapeIDs.append(id)
        return id
    }

    private mutating func internSource(_ source: Source?) -> UInt32 {
        guard let source, source.name != nil || source.bundleIdentifier != nil else {
            return Symbols.noSource
        }
        var key: [UInt8] = [1]
        for text in [source.name, source.bundleIdentifier] {
            if let text {
                let length = UInt64(text.utf8.count)
                key.append(1)
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    key.append(UInt8(truncatingIfNeeded: length >> shift))
                }
                key.append(contentsOf: text.utf8)
            } else {
                key.append(0)
            }
        }
        let known = sourceKeys.count
        let id = sourceKeys.intern(key.span)
        if id == known {
            sources.append(Source(name: source.name, bundleIdentifier: source.bundleIdentifier))
        }
        return UInt32(id)
    }

    private mutating func conversion(of shape: SampleShape, type: TypeEntry) -> UnitConversion? {
        guard shape.valueKind == .double, let canonical = type.canonicalUnit, let text = shape.unit else {
            return nil
        }
        let canonicalText = canonical.description
        for unit in units
        where unit.canonical == canonicalText && unit.text.utf8.elementsEqual(text.utf8) {
            return unit.conversion
        }
        let unit = try? Unit(text)
        let conversion = unit.flatMap { UnitConversion(from: $0, to: canonical) }
        if units.count < 1024 { units.append((text, canonicalText, conversion)) }
        return conversion
    }
}

/// What a hash is of: items of different kinds never share a digest.
enum DigestDomain {
    static let text: UInt64 = 1
    static let sample: UInt64 = 2
    static let deadCell: UInt64 = 3
    static let bucket: UInt64 = 4
    static let stream: UInt64 = 5
    static let settings: UInt64 = 6
    static let syncGroup: UInt64 = 7
}
