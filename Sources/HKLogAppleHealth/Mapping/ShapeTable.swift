internal import HKLog

/// What many records share, found by comparing raw bytes with those seen before.
struct ShapeTable {
    /// Something about a shape that is to be reported for each record.
    enum UnitFault: UInt8 {
        case none, missing, unreadable, unfit
    }

    /// What the reader wants to know of a shape.
    struct Info {
        var type: UInt32
        var kind: SampleKind
        var unitFault: UnitFault = .none
        var isPercent = false
        /// For telling twins.
        var twinScale: TwinContent.Scale
        /// Whether something was mended in its texts: see `repairs`.
        var hasRepairs = false
    }

    /// The raw numbers that make a shape.
    struct Key: Hashable {
        var type: UInt32
        var source: UInt32
        var version: UInt32
        var device: UInt32
        var unit: UInt32
        var valueKind: UInt8
    }

    private(set) var shapes: [ImportedShape] = []
    /// What was mended in the texts of a shape, of each text.
    private(set) var repairs: [UInt32: [TextRepairs]] = [:]
    private(set) var infos: [Info] = []
    private(set) var types: [[UInt8]] = []
    private(set) var typeKinds: [SampleKind] = []
    /// The beginning of every name of a type: stream and type are in it.
    private(set) var hashers: [NameHasher] = []
    private var typeNumbers: [[UInt8]: UInt32] = [:]
    private var keys: [Key] = []
    private var numbers: [Key: UInt32] = [:]
    private var recent = [UInt32](repeating: .max, count: 256)
    private var labels: [SampleShapeKey: UInt32] = [:]
    private let hasher: NameHasher

    /// Shapes that were not made from raw bytes, by their texts.
    private struct SampleShapeKey: Hashable {
        var type: UInt32
        var source: [[UInt8]?]
        var device: Device?
        var unit: [UInt8]?
        var valueKind: UInt8
    }

    init(hasher: NameHasher) {
        self.hasher = hasher
    }

    /// The number of a type by its decoded identifier.
    mutating func typeNumber(_ type: [UInt8]) -> UInt32 {
        if let number = typeNumbers[type] { return number }
        let number = UInt32(types.count)
        types.append(type)
        typeKinds.append(SampleKind.of(utf8: type.span))
        var named = hasher
        named.add(type)
        hashers.append(named)
        typeNumbers[type] = number
        return number
    }

    /// The shape of raw numbers; `nil` where it has to be made.
    @inline(__always)
    mutating func known(_ key: Key) -> UInt32? {
        let place = Int(
            (key.type &* 131 &+ key.source &* 57 &+ key.version &* 31 &+ key.device &* 0x9E37 &+ key.unit &* 7)
                & 0xFF)
        let candidate = recent[place]
        if candidate != .max, keys[Int(candidate)] == key { return candidate }
        guard let number = numbers[key] else { return nil }
        recent[place] = number
        return number
    }

    /// Adds a shape for raw numbers.
    mutating func add(_ key: Key, shape: SampleShape, info: Info, repairs: [TextRepairs]) -> UInt32 {
        var info = info
        info.hasRepairs = !repairs.isEmpty
        let number = append(shape, info, key: key)
        if !repairs.isEmpty { self.repairs[number] = repairs }
        numbers[key] = number
        return number
    }

    private mutating func append(_ shape: SampleShape, _ info: Info, key: Key) -> UInt32 {
        shapes.append(ImportedShape(shape))
        infos.append(info)
        keys.append(key)
        return UInt32(shapes.count - 1)
    }

    /// The shape of a sample that is no record: no unit, no value.
    mutating func number(type: UInt32, source: Source?, device: Device?) -> UInt32 {
        let wanted = SampleShapeKey(
            type: type, source: [source?.name, source?.version].map { $0.map { Array($0.utf8) } },
            device: device,
            unit: nil, valueKind: 0)
        if let number = labels[wanted] { return number }
        let shape = SampleShape(
            value: .none, type: String(decoding: types[Int(type)], as: UTF8.self), unit: nil, source: source,
            device: device)
        let info = Info(
            type: type, kind: typeKinds[Int(type)],
            twinScale: TwinContent.Scale(source: nil, unit: nil, canonical: nil))
        let none = Key(type: .max, source: .max, version: .max, device: .max, unit: .max, valueKind: .max)
        let number = append(shape, info, key: none)
        labels[wanted] = number
        return number
    }
}
