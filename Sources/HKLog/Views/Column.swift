private import CHKLogShims

/// A growable array of plain values in memory of its own, zero-filled, that grows without copying.
///
/// `Array` would copy on growth (twice the memory at the peak of a replay) and check uniqueness at each access.
/// An index out of range traps in every build: callers bound what comes from outside.
@safe
struct Column<Element: BitwiseCopyable>: ~Copyable {
    private(set) var count = 0
    private(set) var capacity = 0
    /// The first element; dangling while the capacity is 0.
    private(set) var base: UnsafeMutablePointer<Element>

    init() {
        unsafe base = UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment).unsafelyUnwrapped
    }

    deinit {
        if capacity > 0 { unsafe hklog_memory_free(base, capacity * MemoryLayout<Element>.stride) }
    }

    /// Makes room for at least `wanted` elements.
    ///
    /// Running out of memory ends the process, as it does for `Array`.
    mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        let stride = MemoryLayout<Element>.stride
        let bytes = wanted.multipliedReportingOverflow(by: stride)
        precondition(!bytes.overflow, "column too large")
        let grown = unsafe hklog_memory_grow(
            capacity > 0 ? UnsafeMutableRawPointer(base) : nil, capacity * stride, bytes.partialValue)
        guard let grown = unsafe grown else { preconditionFailure("out of memory") }
        unsafe base = grown.assumingMemoryBound(to: Element.self)
        capacity = wanted
    }

    /// The memory behind the column, used or not.
    var extent: MemoryExtent {
        unsafe MemoryExtent(
            address: UInt(bitPattern: base), byteCount: capacity * MemoryLayout<Element>.stride)
    }

    /// Makes room for `more` elements beyond the present ones, growing by a quarter at least.
    mutating func reserveMore(_ more: Int) {
        let wanted = count + more
        if wanted > capacity { reserve(Swift.max(wanted, capacity + capacity / 4, 64)) }
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { reserveMore(1) }
        unsafe base[count] = element
        count += 1
    }

    /// Appends a part of an array.
    ///
    /// Cost: one copy.
    mutating func append(contentsOf elements: [Element], _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= elements.count)
        guard !range.isEmpty else { return }
        reserveMore(range.count)
        unsafe elements.withUnsafeBufferPointer { buffer in
            // Sound: the range lies within the buffer (above), and there is room for it.
            guard let source = buffer.baseAddress else { return }
            unsafe (base + count).update(from: source + range.lowerBound, count: range.count)
        }
        count += range.count
    }

    /// Whether a part of an array stands at a place.
    func equals(_ elements: [Element], _ range: Range<Int>, at start: Int) -> Bool where Element: Equatable {
        precondition(range.lowerBound >= 0 && range.upperBound <= elements.count)
        precondition(start >= 0 && start <= count && range.count <= count - start)
        for offset in 0..<range.count {
            // Sound: the lines above have checked both ranges.
            if unsafe base[start + offset] != elements[range.lowerBound + offset] { return false }
        }
        return true
    }

    /// Sets the count; elements beyond the old one are zero bytes or what stood there before.
    mutating func setCount(_ newCount: Int) {
        if newCount > capacity { reserve(newCount) }
        count = newCount
    }

    mutating func removeAll() {
        count = 0
    }

    subscript(index: Int) -> Element {
        @inline(__always) get {
            precondition(index >= 0 && index < count)
            // Sound: the line above has checked the range.
            return unsafe base[index]
        }
        @inline(__always) set {
            precondition(index >= 0 && index < count)
            // Sound: the line above has checked the range.
            unsafe base[index] = newValue
        }
    }

    /// A copy of a part.
    func array(_ range: Range<Int>) -> [Element] {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        // Sound: the line above has checked the range.
        return unsafe Array(UnsafeBufferPointer(start: base + range.lowerBound, count: range.count))
    }

    /// The bytes of all elements.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let span = unsafe Span<UInt8>(
                _unsafeStart: UnsafeRawPointer(base).assumingMemoryBound(to: UInt8.self),
                count: count * MemoryLayout<Element>.stride)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }
}
