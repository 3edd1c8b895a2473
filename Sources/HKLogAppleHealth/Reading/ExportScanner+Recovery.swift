#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

// Tags that are too much for memory, or have no end because a quote is missing.
//
// Whatever is decided here depends on the tag's bytes alone, never on how many of them the window happens to hold.
extension ExportScanner {
    /// An element that is known to stand on a line of its own.
    private struct KnownElement {
        var name: StaticString
        /// Whether other elements may stand in it.
        var isParent = false
        var isTopLevel = false
    }

    private static let knownElements: [KnownElement] = [
        KnownElement(name: "Record", isParent: true, isTopLevel: true),
        KnownElement(name: "MetadataEntry"),
        KnownElement(name: "Correlation", isParent: true, isTopLevel: true),
        KnownElement(name: "Workout", isParent: true, isTopLevel: true),
        KnownElement(name: "WorkoutEvent", isParent: true),
        KnownElement(name: "WorkoutActivity", isParent: true),
        KnownElement(name: "WorkoutStatistics"),
        KnownElement(name: "WorkoutRoute", isParent: true),
        KnownElement(name: "FileReference"), KnownElement(name: "Location"),
        KnownElement(name: "HeartRateVariabilityMetadataList", isParent: true),
        KnownElement(name: "InstantaneousBeatsPerMinute"),
        KnownElement(name: "ActivitySummary", isTopLevel: true),
        KnownElement(name: "ClinicalRecord", isTopLevel: true),
        KnownElement(name: "Audiogram", isParent: true, isTopLevel: true),
        KnownElement(name: "SensitivityPoint"),
        KnownElement(name: "VisionPrescription", isParent: true, isTopLevel: true),
        KnownElement(name: "RightEye"), KnownElement(name: "LeftEye"), KnownElement(name: "Attachment"),
        KnownElement(name: "Me", isTopLevel: true), KnownElement(name: "ExportDate", isTopLevel: true),
        KnownElement(name: "HealthData", isParent: true, isTopLevel: true),
    ]

    /// A line inside of a quoted text that begins a known element: the quote has no end.
    private struct NextElement {
        /// Where its `<` stands in the window.
        var position: Int
        var element: KnownElement
        var isEndTag: Bool
    }

    /// How many blanks before the `<` are looked past.
    private static let indentationLimit = 64
    /// No line that begins a known element has more bytes up to the end of the element's name.
    private static let headByteCountLimit = 128

    // MARK: - A quote without its end

    /// Gives the tag in hand up where a quote in it is never closed; `false` when there is nothing of the kind.
    ///
    /// XML allows no `<` in a value, and exports escape it; a value in which a line begins with a known element has
    /// swallowed that element. `end` is where the tag seems to end, or how far the window goes. The tag is then
    /// `isBroken`: it has its name, and no attributes.
    mutating func giveUpOpenQuote(upTo end: Int, isRecord: Bool) -> Bool {
        var from = position + 1
        while from < end, let found = unsafe memchr(window + from, 0x3C, end - from) {
            let index = unsafe UnsafeRawPointer(found) - UnsafeRawPointer(window)
            if let next = nextElement(at: index, upTo: end) {
                giveUp(before: next, isRecord: isRecord)
                return true
            }
            from = index + 1
        }
        return false
    }

    private func nextElement(at index: Int, upTo end: Int) -> NextElement? {
        var before = index - 1
        while before > position, index - before <= ExportScanner.indentationLimit,
            unsafe window[before] == UInt8(ascii: " ") || window[before] == UInt8(ascii: "\t")
        {
            before -= 1
        }
        guard before > position, unsafe window[before] == 0x0A || window[before] == 0x0D else { return nil }
        let isEndTag = index + 1 < end && slice(index + 1, end)[0] == UInt8(ascii: "/")
        let rest = slice(isEndTag ? index + 2 : index + 1, end)
        for element in ExportScanner.knownElements where rest.hasPrefix(element.name) {
            let count = element.name.utf8CodeUnitCount
            guard count < rest.count else { continue }
            let delimiter = rest[count]
            if isWhiteSpace(delimiter) || delimiter == UInt8(ascii: ">") || delimiter == UInt8(ascii: "/") {
                return NextElement(position: index, element: element, isEndTag: isEndTag)
            }
        }
        return nil
    }

    private mutating func giveUp(before next: NextElement, isRecord: Bool) {
        problems.note("quote that is not closed, its element skipped", at: tagOffset)
        isBroken = true
        isSelfClosing = !isOpen(before: next, isRecord: isRecord)
        clearAttributes()
        tagPosition = position
        position = next.position
    }

    /// Whether the broken tag in hand has an end tag of its own, judged by what stands before the next element.
    private func isOpen(before next: NextElement, isRecord: Bool) -> Bool {
        let known = ExportScanner.knownElements.first {
            isRecord ? $0.name.isSame(as: "Record") : name.equals($0.name)
        }
        guard let known, known.isParent else { return false }
        let isSame = next.element.name.isSame(as: known.name)
        var last = next.position - 1
        while last > position, unsafe isWhiteSpace(window[last]) { last -= 1 }
        if last > position, unsafe window[last] == UInt8(ascii: ">") {
            return unsafe window[last - 1] != UInt8(ascii: "/") && (next.isEndTag || !isSame)
        }
        return next.isEndTag ? isSame : !next.element.isTopLevel
    }

    // MARK: - Values that are too long

    /// A value that is not kept: where it began, in bytes from the tag's beginning, and what was taken out of the
    /// window there.
    struct Excision {
        var place: Int
        var byteCount: Int
    }

    /// Ends the tag in hand: what is read next stands behind what was taken out.
    mutating func settleExcisions() {
        guard !excisions.isEmpty else { return }
        windowOffset += excisedByteCount
        excisions.removeAll()
    }

    /// How many bytes of the tag in hand were taken out of the window.
    var excisedByteCount: Int { excisions.reduce(0) { $0 + $1.byteCount } }

    /// Takes values that are longer than the limit out of the window; `false` when there are none.
    ///
    /// The tag has to be read again then. Of a value that goes on behind the window, the end is kept, so that a line
    /// that begins an element is found across the cut.
    mutating func exciseLongValues() -> Bool {
        longValues.removeAll()
        openValue = nil
        let end = scanAnyTag()
        var ranges = longValues
        if end == nil, let openValue, limit - openValue > attributeByteCountLimit {
            ranges.append(openValue..<limit - ExportScanner.headByteCountLimit)
        }
        for range in ranges.reversed() {
            // Sound: the range is inside the window.
            unsafe memmove(window + range.lowerBound, window + range.upperBound, limit - range.upperBound)
            limit -= range.count
            let place = range.lowerBound - position
            for index in excisions.indices where excisions[index].place > place {
                excisions[index].place -= range.count
            }
            if let known = excisions.firstIndex(where: { $0.place == place }) {
                excisions[known].byteCount += range.count
            } else {
                excisions.append(Excision(place: place, byteCount: range.count))
            }
        }
        return !ranges.isEmpty
    }

    /// Takes the attributes away whose values were taken out of the window.
    mutating func dropExcisedAttributes() {
        func isExcised(_ value: ByteSlice) -> Bool {
            guard value.isPresent else { return false }
            let place = unsafe value.distance(from: UnsafePointer(window)) - tagPosition
            return excisions.contains { $0.place == place }
        }
        for excision in excisions {
            problems.note(
                "attribute longer than the limit dropped",
                at: documentOffset(ofPosition: tagPosition + excision.place))
        }
        attributes.removeAll { isExcised($0.value) }
        for field in RecordFields.Field.allCases where isExcised(fields[field]) { fields[field] = .absent }
        // What is left is not what the head says.
        fields.head = 0
    }

    /// Where a byte of the window stands in the document.
    func documentOffset(ofPosition position: Int) -> Int {
        var offset = windowOffset + position
        for excision in excisions where tagPosition + excision.place < position {
            offset += excision.byteCount
        }
        return offset
    }
}

extension StaticString {
    fileprivate func isSame(as other: StaticString) -> Bool {
        guard utf8CodeUnitCount == other.utf8CodeUnitCount else { return false }
        // Sound: both literals have that many bytes.
        return unsafe memcmp(utf8Start, other.utf8Start, utf8CodeUnitCount) == 0
    }
}
