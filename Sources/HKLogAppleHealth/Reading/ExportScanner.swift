internal import HKLog

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Cuts the one document format that exports have into tags.
///
/// A tolerant tokenizer and no XML parser: real exports are not well-formed, and a conforming parser has to stop
/// at the first fault. It expands nothing, opens nothing, and knows no names but `Record`, whose attributes have
/// a fast path. The window holds a whole tag at a time: a tag that the window cuts is read again once more bytes
/// are there, so the result does not depend on where buffers end.
@safe
struct ExportScanner: ~Copyable {
    /// What `next` has found.
    enum Event {
        /// The start tag of a `Record`: see `fields` and `attributes` (those that are no fields).
        case record
        /// Any other start tag: see `name` and `attributes`.
        case start
        /// An end tag: see `name`.
        case end
        /// The end of the bytes.
        case endOfInput
    }

    /// An attribute, its value as it stands in the file.
    struct Attribute {
        var name: ByteSlice
        var value: ByteSlice
    }

    /// The most bytes that one tag may have; a longer one is skipped and reported.
    static let tagByteCountLimit = 32 << 20
    /// The most bytes that the value of an attribute may have; a longer one is dropped and reported.
    static let attributeByteCountLimit = 16 << 20
    /// The most attributes, faults among them counted, that a tag may have; one that has more is too long.
    static let attributeCountLimit = 1 << 18
    /// The most bytes that an end tag may have; beyond it is text.
    private static let endTagByteCountLimit = 4096
    /// The most bytes of text between tags that are kept.
    static let textByteCountLimit = 16 << 20

    private(set) var name = ByteSlice.absent
    // What is set below without `private` is set by `ExportScanner+Recovery.swift`, too.
    var attributes: [Attribute] = []
    var isSelfClosing = false
    /// Whether a quote in the tag is not closed: it has no attributes then, and is only to be skipped.
    var isBroken = false
    /// Where the last tag begins, in bytes from the start of the document.
    private(set) var tagOffset = 0
    /// The same in the window.
    var tagPosition = 0
    var fields = RecordFields()
    /// What was taken out of the window of the tag in hand.
    var excisions: [Excision] = []
    /// How many tags were skipped for their length.
    private(set) var skippedTagCount = 0
    /// Text between tags since it was last taken, as it stands in the file.
    private(set) var text: [UInt8] = []
    private(set) var textOffset = 0
    /// Whether some of that text was left out, which is reported once.
    private var isTextCut = false

    let problems: ProblemLog
    let source: any ByteSource
    var window: UnsafeMutablePointer<UInt8>
    var capacity: Int
    /// The part of the window that holds bytes not yet read.
    var position = 0
    var limit = 0
    /// The document offset of the window's first byte.
    var windowOffset = 0
    var isAtEnd = false
    let attributeByteCountLimit: Int
    private let textByteCountLimit: Int
    /// Values that were found to be too long, and where the value begins that the window cuts; see
    /// `exciseLongValues`.
    var longValues: [Range<Int>] = []
    var openValue: Int?
    /// Where a tag was given up for the number of its attributes.
    private var crowdedEnd: Int?
    private var dates = ExportDate()
    private var heads = RecordHeads()
    /// The attributes of a record in their usual order, to be compared without looking them up.
    private let patterns: UnsafePointer<AttributePattern>
    private let patternCount: Int

    /// How far a word may be read beyond the bytes of the window.
    private static let slackByteCount = 64

    init(
        source: any ByteSource, problems: ProblemLog, windowByteCount: Int = 1 << 20,
        attributeByteCountLimit: Int = ExportScanner.attributeByteCountLimit,
        textByteCountLimit: Int = ExportScanner.textByteCountLimit
    ) {
        self.source = source
        self.problems = problems
        // A line that begins an element has to fit.
        self.attributeByteCountLimit = max(attributeByteCountLimit, 256)
        self.textByteCountLimit = textByteCountLimit
        capacity = max(windowByteCount, 1)
        unsafe window = .allocate(capacity: capacity + ExportScanner.slackByteCount)
        unsafe window.initialize(repeating: 0, count: capacity + ExportScanner.slackByteCount)
        attributes.reserveCapacity(32)
        let order = AttributePattern.usualOrder
        let patterns = UnsafeMutablePointer<AttributePattern>.allocate(capacity: order.count)
        unsafe patterns.initialize(from: order, count: order.count)
        unsafe self.patterns = UnsafePointer(patterns)
        patternCount = order.count
    }

    deinit {
        unsafe window.deallocate()
        unsafe patterns.deallocate()
    }

    /// How many bytes of the document were read so far.
    var byteOffset: Int { windowOffset + position + excisedByteCount }

    /// How many bytes the document had in all; meaningful after `endOfInput`.
    var endOffset: Int { windowOffset + limit + excisedByteCount }

    /// Where a slice of the present tag stands in the document.
    func offset(of slice: ByteSlice) -> Int {
        documentOffset(ofPosition: unsafe slice.distance(from: UnsafePointer(window)))
    }

    /// Gives the text since the last call away.
    mutating func takeText() -> [UInt8] {
        defer {
            text = []
            isTextCut = false
        }
        return text
    }

    // MARK: - The window

    /// Reads more bytes and keeps those from `position` on; `false` when there are no more.
    mutating func refill() throws(HKLogError) -> Bool {
        if isAtEnd { return false }
        let kept = limit - position
        if position > 0 {
            // Sound: both ranges are inside the window.
            unsafe memmove(window, window + position, kept)
            windowOffset += position
            position = 0
            limit = kept
        } else if limit == capacity {
            let larger = capacity * 2
            let bytes = UnsafeMutablePointer<UInt8>.allocate(
                capacity: larger + ExportScanner.slackByteCount)
            unsafe bytes.initialize(repeating: 0, count: larger + ExportScanner.slackByteCount)
            unsafe memcpy(bytes, window, limit)
            unsafe window.deallocate()
            unsafe window = bytes
            capacity = larger
        }
        let before = limit
        while limit < capacity {
            let space = unsafe UnsafeMutableRawBufferPointer(start: window + limit, count: capacity - limit)
            let count = try unsafe source.read(into: space)
            if count == 0 {
                isAtEnd = true
                break
            }
            limit += count
        }
        return limit > before
    }

    func slice(_ start: Int, _ end: Int) -> ByteSlice {
        // Sound: callers pass positions inside the window, `start` not after `end`.
        unsafe ByteSlice(start: UnsafePointer(window) + start, count: end - start)
    }

    /// Where `byte` stands at or after `from`, below `limit`; `limit` when it does not.
    @inline(__always)
    func find(_ byte: UInt8, from: Int) -> Int {
        guard from < limit, let found = unsafe memchr(window + from, Int32(byte), limit - from) else {
            return limit
        }
        return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(window)
    }

    // MARK: - The next tag

    /// Moves to the next tag.
    mutating func next() throws(HKLogError) -> Event {
        settleExcisions()
        isBroken = false
        // Once a text has begun, white space is part of it: else its end would depend on where the window ends.
        var isInText = false
        while true {
            // White space, nearly always a line feed and a few blanks.
            while !isInText, position < limit, unsafe isWhiteSpace(window[position]) { position += 1 }
            if position == limit {
                if try refill() { continue }
                return .endOfInput
            }
            if unsafe window[position] != UInt8(ascii: "<") {
                isInText = true
                takeInText(upTo: find(UInt8(ascii: "<"), from: position))
                continue
            }
            if limit - position < 12 && !isAtEnd {
                if try refill() { continue }
            }
            let first = position + 1 < limit ? unsafe window[position + 1] : 0
            if first == UInt8(ascii: "R") || isNameStart(first) {
                guard let event = try startTag() else { continue }
                return event
            }
            if first == UInt8(ascii: "/") {
                guard let event = try endTag() else { continue }
                return event
            }
            if try !skipOther(first) { return .endOfInput }
        }
    }

    private func isNameStart(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z") || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: ":") || byte >= 0x80
    }

    private mutating func takeInText(upTo end: Int) {
        if text.isEmpty { textOffset = windowOffset + position }
        let space = textByteCountLimit - text.count
        if end - position > space && !isTextCut {
            isTextCut = true
            problems.note("text longer than 16 MiB cut", at: textOffset)
        }
        slice(position, min(end, position + space)).append(to: &text)
        position = end
    }

    /// Skips a comment, a CDATA section, a processing instruction, a declaration or a stray `<`; `false` at the
    /// end of the bytes.
    private mutating func skipOther(_ first: UInt8) throws(HKLogError) -> Bool {
        tagOffset = windowOffset + position
        if first == UInt8(ascii: "?") { return try skip(past: "?>", after: 2) }
        guard first == UInt8(ascii: "!") else {
            if limit - position < 2 {
                // The document ends with a `<`.
                return false
            }
            problems.note("stray '<'", at: tagOffset)
            position += 1
            return true
        }
        let head = slice(position, limit)
        if head.hasPrefix("<!--") { return try skip(past: "-->", after: 4) }
        if head.hasPrefix("<![CDATA[") {
            problems.note("CDATA section skipped", at: tagOffset)
            return try skip(past: "]]>", after: 9)
        }
        problems.note("declaration skipped", at: tagOffset)
        return try skip(past: ">", after: 2)
    }

    /// Moves past the next `mark`; `false` when the bytes end before it.
    ///
    /// What is skipped does not stay in memory.
    mutating func skip(past mark: StaticString, after headByteCount: Int) throws(HKLogError) -> Bool {
        let count = mark.utf8CodeUnitCount
        position += min(headByteCount, limit - position)
        while true {
            // Sound: the literal has `count` bytes.
            let last = unsafe mark.utf8Start[count - 1]
            var found = position
            while true {
                found = find(last, from: found)
                if found == limit { break }
                if found - position + 1 >= count, slice(found + 1 - count, found + 1).equals(mark) {
                    position = found + 1
                    return true
                }
                found += 1
            }
            position = max(position, limit - (count - 1))
            if try !refill() {
                position = limit
                return false
            }
        }
    }

    private mutating func endTag() throws(HKLogError) -> Event? {
        var end = find(UInt8(ascii: ">"), from: position)
        while end == limit, limit - position <= ExportScanner.endTagByteCountLimit {
            if try !refill() {
                tagOffset = windowOffset + position
                return .endOfInput
            }
            end = find(UInt8(ascii: ">"), from: position)
        }
        tagOffset = windowOffset + position
        if end - position > ExportScanner.endTagByteCountLimit {
            problems.note("stray '<'", at: tagOffset)
            position += 1
            return nil
        }
        name = slice(position + 2, end).trimmed
        position = end + 1
        return .end
    }

    /// Reads a start tag; `nil` when it was given up and skipped.
    private mutating func startTag() throws(HKLogError) -> Event? {
        while true {
            var isRecord = true
            crowdedEnd = nil
            // Sound: where fewer than eight bytes are left, the slack behind them is read, and what was made of it
            // ends beyond `limit` and is read again.
            let head = unsafe UnsafeRawPointer(window + position).loadUnaligned(as: UInt64.self)
            let end: Int?
            if head == ExportScanner.recordHead {
                end = scanRecord(from: position + 7)
            } else {
                end = scanAnyTag()
                isRecord = name.equals("Record")
            }
            tagOffset = windowOffset + position
            // No more than this is looked at, however far the window goes.
            let known = min(end ?? crowdedEnd ?? limit, position + ExportScanner.tagByteCountLimit)
            if giveUpOpenQuote(upTo: known, isRecord: isRecord) { return isRecord ? .record : .start }
            if (end ?? limit) - position > attributeByteCountLimit, exciseLongValues() { continue }
            if let end, end - position <= ExportScanner.tagByteCountLimit {
                tagPosition = position
                for fault in faults {
                    problems.note(fault.what, at: documentOffset(ofPosition: fault.position))
                }
                if !excisions.isEmpty { dropExcisedAttributes() }
                position = end
                return isRecord ? .record : .start
            }
            if crowdedEnd != nil || (end ?? limit) - position > ExportScanner.tagByteCountLimit {
                problems.note("tag longer than the limit skipped", at: tagOffset)
                skippedTagCount += 1
                settleExcisions()
                position += 1
                return nil
            }
            if try !refill() { return .endOfInput }
        }
    }

    /// `<Record ` as a little-endian word.
    private static let recordHead: UInt64 = 0x2064_726F_6365_523C

    /// Reads a tag and says where it ends; `nil` when the window ends before.
    mutating func scanAnyTag() -> Int? {
        var index = position + 1
        while index < limit {
            let byte = unsafe window[index]
            if isWhiteSpace(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "<")
            {
                break
            }
            index += 1
        }
        if index == limit {
            name = .absent
            return nil
        }
        name = slice(position + 1, index)
        attributes.removeAll(keepingCapacity: true)
        faults.removeAll(keepingCapacity: true)
        if name.equals("Record") {
            // `<Record>` or a line feed after the name: the fields are filled in by the general way.
            fields = RecordFields()
            return scanAttributes(from: index, intoFields: true)
        }
        return scanAttributes(from: index, intoFields: false)
    }

    // MARK: - Attributes in general

    /// Faults of the tag in hand, reported once the whole tag is there.
    private var faults: [(what: String, position: Int)] = []

    /// Reads attributes up to the end of the tag; `nil` when the window ends before.
    private mutating func scanAttributes(from start: Int, intoFields: Bool) -> Int? {
        var index = start
        while true {
            while index < limit, unsafe isWhiteSpace(window[index]) { index += 1 }
            if index >= limit { return nil }
            if attributes.count + faults.count > ExportScanner.attributeCountLimit {
                crowdedEnd = index
                return nil
            }
            switch unsafe window[index] {
            case UInt8(ascii: ">"):
                isSelfClosing = false
                return index + 1
            case UInt8(ascii: "/"):
                if index + 1 >= limit { return nil }
                if unsafe window[index + 1] == UInt8(ascii: ">") {
                    isSelfClosing = true
                    return index + 2
                }
                faults.append(("stray character in a tag", index))
                index += 1
            case UInt8(ascii: "<"):
                faults.append(("tag without its '>'", index))
                isSelfClosing = false
                return index
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                faults.append(("text without an attribute name", index))
                guard let end = valueEnd(from: index) else { return nil }
                index = end
            default:
                guard let end = scanAttribute(from: index, intoFields: intoFields) else { return nil }
                index = end
            }
        }
    }

    /// Where the quoted text that begins at `index` is over; `nil` when the window ends before.
    private mutating func valueEnd(from index: Int) -> Int? {
        let quote = unsafe window[index]
        let end = find(quote, from: index + 1)
        if end == limit {
            openValue = index + 1
            return nil
        }
        if end - index - 1 > attributeByteCountLimit { longValues.append(index + 1..<end) }
        return end + 1
    }

    /// Forgets the attributes of the tag in hand.
    mutating func clearAttributes() {
        attributes.removeAll(keepingCapacity: true)
        faults.removeAll(keepingCapacity: true)
        fields = RecordFields()
    }

    /// Reads one attribute and says where it ends; `nil` when the window ends before.
    private mutating func scanAttribute(from start: Int, intoFields: Bool) -> Int? {
        var index = start
        scan: while index < limit {
            switch unsafe window[index] {
            case UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: "\""),
                UInt8(ascii: "'"):
                break scan
            case UInt8(ascii: "/"):
                if index + 1 >= limit { return nil }
                if unsafe window[index + 1] == UInt8(ascii: ">") { break scan }
            default:
                break
            }
            index += 1
        }
        if index >= limit { return nil }
        let attributeName = slice(start, index).trimmed
        guard unsafe window[index] == UInt8(ascii: "=") else {
            faults.append(("attribute without a value", start))
            attributes.append(Attribute(name: attributeName, value: slice(index, index)))
            return index
        }
        index += 1
        while index < limit, unsafe isWhiteSpace(window[index]) { index += 1 }
        if index >= limit { return nil }
        let first = unsafe window[index]
        var value = slice(index, index)
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") {
            guard let end = valueEnd(from: index) else { return nil }
            value = slice(index + 1, end - 1)
            index = end
        } else {
            faults.append(("attribute value without quotes", index))
            let valueStart = index
            while index < limit {
                let byte = unsafe window[index]
                if isWhiteSpace(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "<") { break }
                if byte == UInt8(ascii: "/"),
                    unsafe index + 1 >= limit || window[index + 1] == UInt8(ascii: ">")
                {
                    break
                }
                index += 1
            }
            if index + 1 >= limit { return nil }
            value = slice(valueStart, index)
        }
        if intoFields, let field = RecordFields.field(named: attributeName) {
            if fields[field].isPresent {
                faults.append(("attribute given twice, the first one taken", start))
            } else {
                fields[field] = value
                // Not all that a head says, or in another order.
                fields.head = 0
            }
        } else {
            attributes.append(Attribute(name: attributeName, value: value))
        }
        return index
    }

    // MARK: - A record's attributes

    /// Reads the attributes of a `Record`, most of them by guessing that they stand in the usual order; `nil` when
    /// the window ends before the tag does.
    private mutating func scanRecord(from start: Int) -> Int? {
        if !attributes.isEmpty { attributes.removeAll(keepingCapacity: true) }
        if !faults.isEmpty { faults.removeAll(keepingCapacity: true) }
        fields.clear()
        let bytes = unsafe UnsafePointer(window)
        var index = unsafe position + heads.find(bytes + position, limit - position, into: &fields)
        let isKnown = index > position
        if !isKnown {
            guard
                let end = unsafe ExportScanner.scanUsual(
                    bytes, from: start, limit: limit, patterns, 0..<RecordHeads.fieldCount, &fields,
                    &dates)
            else { return nil }
            index = end
        }
        let headEnd = index
        guard
            let end = unsafe ExportScanner.scanUsual(
                bytes, from: headEnd, limit: limit, patterns, RecordHeads.fieldCount..<patternCount, &fields,
                &dates)
        else { return nil }
        index = end
        // What stands behind it shows that the head is whole.
        if !isKnown, index > headEnd { unsafe heads.keep(bytes + position, headEnd - position, &fields) }
        if index < limit - 1 {
            if unsafe window[index] == UInt8(ascii: "/"), unsafe window[index + 1] == UInt8(ascii: ">") {
                isSelfClosing = true
                return index + 2
            }
            if unsafe window[index] == UInt8(ascii: ">") {
                isSelfClosing = false
                return index + 1
            }
        }
        return scanAttributes(from: index, intoFields: true)
    }

    /// Reads the attributes of some of the patterns as long as they stand in that order and in the usual form; says
    /// where the first other byte stands, `nil` when the window ends in a value.
    @inline(__always)
    private static func scanUsual(
        _ bytes: UnsafePointer<UInt8>, from start: Int, limit: Int,
        _ patterns: UnsafePointer<AttributePattern>,
        _ candidates: Range<Int>, _ fields: inout RecordFields, _ dates: inout ExportDate
    ) -> Int? {
        // A pattern and a date are read as whole words: the last bytes of the window are left to the general way.
        let fastLimit = limit - 48
        var index = start
        var candidate = candidates.lowerBound
        while index < fastLimit, candidate < candidates.upperBound {
            let here = unsafe UnsafeRawPointer(bytes + index)
            let low = unsafe here.loadUnaligned(as: UInt64.self)
            let high = unsafe here.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            if low & 0xFF != 0x20 { break }
            let pattern = unsafe patterns + candidate
            candidate += 1
            guard unsafe low & pattern.pointee.lowMask == pattern.pointee.low,
                unsafe high & pattern.pointee.highMask == pattern.pointee.high
            else {
                continue
            }
            let valueStart = unsafe index + pattern.pointee.byteCount
            let field = unsafe pattern.pointee.field
            var end = -1
            switch field {
            case .creationDate, .startDate, .endDate:
                if valueStart + 26 <= limit, unsafe bytes[valueStart + 25] == UInt8(ascii: "\""),
                    let instant = unsafe dates.fast(bytes + valueStart)
                {
                    fields.setInstant(instant, of: field)
                    end = valueStart + 25
                }
            case .value:
                if let number = unsafe plainNumber(bytes, from: valueStart, limit: limit) {
                    fields.number = number.value
                    fields.hasNumber = true
                    end = number.end
                }
            default:
                break
            }
            if end < 0 {
                guard let found = unsafe memchr(bytes + valueStart, 0x22, limit - valueStart) else {
                    return nil
                }
                end = unsafe UnsafeRawPointer(found) - UnsafeRawPointer(bytes)
            }
            fields[field] = unsafe ByteSlice(start: bytes + valueStart, count: end - valueStart)
            index = end + 1
        }
        return index
    }
}

/// A number of at most fifteen digits, perhaps with a point, up to its quote; `nil` for any other text.
///
/// The quotient of two numbers that a double holds exactly is the double nearest to it.
@inline(__always)
private func plainNumber(
    _ bytes: UnsafePointer<UInt8>, from start: Int, limit: Int
) -> (value: Double, end: Int)? {
    var index = start
    var mantissa: UInt64 = 0
    var pointIndex = 0
    let numberLimit = min(limit, start + 17)
    while index < numberLimit {
        let byte = unsafe bytes[index]
        let digit = byte &- 0x30
        if digit < 10 {
            mantissa = mantissa &* 10 &+ UInt64(digit)
        } else if byte == UInt8(ascii: "."), pointIndex == 0, index > start {
            pointIndex = index
        } else {
            break
        }
        index += 1
    }
    guard index < numberLimit, index > start, unsafe bytes[index] == UInt8(ascii: "\""),
        index - start <= (pointIndex == 0 ? 15 : 16), pointIndex == 0 || pointIndex + 1 < index
    else { return nil }
    let fractionByteCount = pointIndex == 0 ? 0 : index - pointIndex - 1
    return (Double(mantissa) / powersOfTen[fractionByteCount], index)
}

/// The powers of ten that a double holds exactly.
private let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
]
