/// Why a line is refused, as the decoder throws it: the reader adds the line number and makes a `BatchError`.
///
/// `path` grows from the inside out: whoever reads an array or object puts its own part in front.
struct LineFault: Error {
    /// The byte of the line at which the fault was met.
    var byteOffset: Int
    /// Where, relative to the value that was being read.
    var path = ""
    /// What was expected there; never what was found.
    var expected: String
    /// The fault may be lifted by a `type` or `kept` that stands behind `added`.
    var mayBeLifted = false

    init(at byteOffset: Int, _ expected: String, mayBeLifted: Bool = false) {
        self.byteOffset = byteOffset
        self.expected = expected
        self.mayBeLifted = mayBeLifted
    }

    init(at byteOffset: Int, in field: String, _ expected: String, mayBeLifted: Bool = false) {
        self.init(at: byteOffset, expected, mayBeLifted: mayBeLifted)
        self.path = field
    }

    /// The same fault seen from the object or array around: `outer` and `path` are joined by a dot where needed.
    func inside(_ outer: String) -> LineFault {
        var fault = self
        if path.isEmpty {
            fault.path = outer
        } else if path.utf8.first == UInt8(ascii: "[") {
            fault.path = outer + path
        } else {
            fault.path = outer + "." + path
        }
        return fault
    }
}

/// The bounds on what a line may hold; see `docs/json-lines.md`.
package enum JSONLimits {
    /// The longest string, in bytes of UTF-8 after unescaping.
    package static let stringByteCount = 1 << 20
    /// The longest source anchor, likewise.
    package static let anchorByteCount = 64 << 10
    /// The longest line unless told otherwise.
    package static let lineByteCount = 256 << 20
}
